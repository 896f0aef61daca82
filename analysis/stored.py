"""A sweep in a store as a source of cells: read portion by portion, measured by a crew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from algos.errors import InputError, Words
from analysis.crew import Crew
from analysis.curves import CELL_KEYS, Curves, Key, curves_of, infos
from analysis.measuring import Task, evaluate
from analysis.progress import Progress, silent
from sweep.store.cells import (
    ATTEMPTS,
    PORTION,
    Cells,
    Index,
    replaced,
    replicates_below,
    stream,
)
from sweep.store.segments import VanishedError
from sweep.store.sweeps import Sweep, families, find_sweep

FEW = 30_000
"""Replicates that this process measures in the time that others take to start."""

SHARES = 6  # portions for each process, if they are large enough
LEAST = 16 * 1024**2  # decoded bytes that are worth a portion of their own


class Stored:
    """The cells of a sweep that have rows.

    Attributes:
        manifest: what is known of them, a row for each of CELL_KEYS, in the manifest's order.
        sweep: the sweep's record; `found` is known when all has been measured once.
        families: what the families say of themselves.
    """

    def __init__(self, sweep: Sweep, whole: pa.Table, crew: Crew) -> None:
        """Find where the rows are.

        Args:
            sweep: whose they are.
            whole: its manifest.
            crew: who measures.

        Raises:
            InputError: the sweep's record or a segment can't be read, or there are no rows.
        """
        self._store, self._crew = sweep.store, crew
        self._cells = Cells.of(whole)
        wanted = int(np.sum(whole["replicates"].to_numpy()))
        self.sweep: dict[str, Any] = sweep.about() | {"cells": len(whole), "wanted": wanted}
        self.families = families(whole)
        self._index: Index | None = self._indexed()
        there = np.unique(self._index.found.spans["cell"])
        kept = np.flatnonzero(np.isin(self._cells.number, there))
        if not len(kept):
            raise no_rows(sweep, wanted)
        self._table = whole.take(kept)
        self._number = self._cells.number[kept]
        self.manifest = frame(self._table)

    def measure(
        self, measures: Sequence[Callable[[Curves], Any]], progress: Progress = silent
    ) -> list[list[Any]]:
        """For each measure its results, one for each row of the manifest; None without rows.

        Raises:
            InputError: as `sweep.store.cells.stream` does.
        """
        results: list[list[Any]] = [[None] * len(self._table) for _ in measures]
        counts = np.zeros(len(self._table), np.int64)
        left = np.unique(self._number)
        wanted = len(self._table)
        measured = 0
        for _ in range(ATTEMPTS):
            index, self._index = self._index, None
            try:
                index = index or Index.of(self._store, self._cells, left)
            except VanishedError:
                continue
            missed = [left[:0]]
            for done in self._crew.map(evaluate, self._tasks(index, measures)):
                for row, n, answers in done.results:
                    counts[row] = n
                    for column, answer in zip(results, answers, strict=True):
                        column[row] = answer
                missed.append(done.left)
                measured += len(done.results)
                progress("reading and measuring cells", min(1.0, measured / wanted))
            left = np.concatenate(missed)
            if not len(left):
                self.sweep["found"] = int(counts.sum())
                return results
        raise replaced(self._store)

    def curves(self, keys: Collection[Key]) -> dict[Key, Curves]:
        """The cells of these keys, those without rows left out; raises as `measure` does."""
        wanted = pd.MultiIndex.from_frame(self.manifest[CELL_KEYS]).isin(list(keys))
        places: dict[int, list[int]] = {}
        for place in np.flatnonzero(wanted).tolist():
            places.setdefault(int(self._number[place]), []).append(place)
        found = {}
        numbers = np.array(list(places), np.int64)
        for cell, rows in stream(self._store, self._cells, numbers) if places else ():
            known = infos(self._table.take(places[cell]))
            for info in known:
                kept = replicates_below(rows, info["replicates"])
                if len(kept):
                    one = curves_of(info, kept)
                    found[one.key] = one
        return found

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """`function` of each item, by the crew."""
        return self._crew.map(function, items)

    def _indexed(self) -> Index:
        """Where the rows are now."""
        for _ in range(ATTEMPTS):
            try:
                return Index.of(self._store, self._cells)
            except VanishedError:
                continue
        raise replaced(self._store)

    def _tasks(self, index: Index, measures: Sequence[Callable[[Curves], Any]]) -> Iterator[Task]:
        """The portions of an index, with what is measured of them."""
        rows = np.argsort(self._number, kind="stable")
        number = self._number[rows]
        share = index.size / (SHARES * max(1, self._crew.size))
        for portion in index.portions(int(min(PORTION, max(LEAST, share)))):
            mine = rows[np.isin(number, portion.cells)]
            manifest = self._table.take(pa.array(mine))
            yield Task(portion, mine, self._number[mine], manifest, measures)


def cells_of(sweep: str, store: str) -> Iterator[Curves]:
    """The different cells of a sweep, each under the first of its labels, as they are stored.

    Raises:
        InputError: as `analysis.load` does, but for a sweep without rows.
    """
    found = find_sweep(sweep, store)
    whole = found.manifest()
    cells = Cells.of(whole)
    _, first = np.unique(cells.number, return_index=True)
    for cell, rows in stream(found.store, cells):
        [info] = infos(whole.slice(first[cell], 1))
        kept = replicates_below(rows, info["replicates"])
        if len(kept):
            yield curves_of(info, kept)


def crew_for(whole: pa.Table, most: int) -> Crew:
    """The crew for a manifest's cells: none for a few, whose results are the same."""
    wanted = int(np.sum(whole["replicates"].to_numpy()))
    return Crew(most if wanted > FEW and most > 1 else 0)


def no_rows(sweep: Sweep, wanted: int) -> InputError:
    """The error for a sweep of which the store has nothing yet."""
    allowed = f"a sweep with results; of the {wanted} rows of {sweep.id!r} none is in"
    return InputError(
        "sweep", Words("no rows yet"), f"{allowed} {sweep.store.root}: run it, or wait"
    )


def frame(manifest: pa.Table) -> pd.DataFrame:
    """A manifest as a frame; lists are arrays, sizes nullable integers."""
    lists = [field.name for field in manifest.schema if pa.types.is_list(field.type)]
    made = manifest.drop_columns(lists).to_pandas()
    for name in lists:
        entries = [None if one is None else np.array(one) for one in manifest[name].to_pylist()]
        made[name] = np.fromiter(entries, dtype=object, count=len(entries))
    for name in SIZES:
        made[name] = made[name].astype("Int64")
    return made[manifest.column_names]


SIZES = ("K", "N")  # null in families without; integers all the same
