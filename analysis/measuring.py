"""One pass over cells: every measure is asked about each cell while its rows are in memory.

`evaluate` measures the cells of a portion of the store; processes that measure cells run it, so
that this module loads neither frames nor figures.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from analysis.curves import Curves, curves_of, infos
from sweep.store.cells import Portion, read, replicates_below
from sweep.store.segments import VanishedError


class Measure(Hashable, Protocol):
    """What is measured of a cell, if anything: a module's function or a frozen dataclass.

    The result is small and can be pickled; None for a cell that it does not concern.
    """

    def __call__(self, cell: Curves, /) -> Any:
        """The result for a cell."""


class Failed(NamedTuple):
    """In the place of a result: the measure raised this."""

    error: Exception


@dataclass(frozen=True)
class Task:
    """Cells of the store, and what is measured of them.

    Attributes:
        portion: the cells.
        rows: which rows of the manifest are theirs, int64 (r,).
        cell: the cell of each of these, int64 (r,).
        manifest: these rows.
        measures: what is asked.
    """

    portion: Portion
    rows: np.ndarray
    cell: np.ndarray
    manifest: pa.Table
    measures: Sequence[Callable[[Curves], Any]]


class Done(NamedTuple):
    """What became of a task.

    Attributes:
        results: (row of the manifest, replicates found, a result for each measure), for every row
            whose cell has any.
        left: int64, the cells whose rows were taken away by a compaction before they were read.
    """

    results: list[tuple[int, int, list[Any]]]
    left: np.ndarray


def evaluate(task: Task) -> Done:
    """Measure the cells of a task.

    Raises:
        InputError: rows can't be read.
    """
    results = []
    gone: set[int] = set()
    done = 0
    try:
        for cell, row, n, curves in _curves(task):
            answers = [
                None if i in gone else ask(measure, curves)
                for i, measure in enumerate(task.measures)
            ]
            gone |= {i for i, answer in enumerate(answers) if isinstance(answer, Failed)}
            results.append((row, n, answers))
            done = cell
    except VanishedError:
        finished = np.flatnonzero(task.portion.cells == done)
        later = task.portion.after(int(finished[0]) + 1 if results else 0)
        return Done(results, later)
    return Done(results, task.portion.cells[:0])


def ask(measure: Callable[[Curves], Any], cell: Curves) -> Any:
    """The measure's result, or Failed."""
    try:
        return measure(cell)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return Failed(RuntimeError(f"{type(error).__name__}: {error}"))
        return Failed(error)


def _curves(task: Task) -> Iterator[tuple[int, int, int, Curves]]:
    """(cell, row of the manifest, replicates, curves) for every row whose cell has replicates."""
    known = infos(task.manifest)
    places: dict[int, list[int]] = {}
    for place, cell in enumerate(task.cell.tolist()):
        places.setdefault(cell, []).append(place)
    for cell, rows in read(task.portion):
        for place in places[cell]:
            kept = replicates_below(rows, known[place]["replicates"])
            if len(kept):
                yield cell, int(task.rows[place]), len(kept), curves_of(known[place], kept)


def begin() -> None:
    """Nothing: a process that is asked for it has loaded what it needs."""
