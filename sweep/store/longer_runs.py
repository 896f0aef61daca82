"""Rows that a sweep lacks, cut from longer runs.

For an anytime algorithm the curve to T begins every longer curve of the same stream, seed and
replicate. What is cut carries the curve alone: outcomes were noted at the end of the longer run.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sweep.store.checkpoints import checkpoints_of, standard
from sweep.store.columns import CURVES
from sweep.store.places import Place
from sweep.store.scanning import Found, codes, scan

COLUMNS = ("stream", "seed", "T")


class LongerRuns(NamedTuple):
    """Spans of longer runs, each under the number of the cell that may be cut from it.

    Attributes:
        found: the spans; `longer` is one more than the run's place in `T`.
        T: rounds of the runs.
    """

    found: Found
    T: list[int]


def find(
    place: Place, names: Sequence[str], short: np.ndarray, cells: pa.Table, target: np.ndarray
) -> LongerRuns:
    """The longer runs of anytime cells that lack replicates.

    Args:
        place: the store's.
        names: the segments to look in.
        short: int64 (n,), the numbers of the cells that lack replicates.
        cells: columns stream, seed and T of all cells, by number.
        target: int64 (cells,), the replicates that are wanted of each.

    Raises:
        InputError, VanishedError: as `scanning.scan` does.
    """
    wanted = cells.take(short)
    streams: dict[str, int] = {}
    of_stream = [streams.setdefault(one, len(streams)) for one in wanted["stream"].to_pylist()]
    rounds, seeds = (wanted[name].to_numpy() for name in ("T", "seed"))
    least = np.full(len(streams), np.iinfo(np.int64).max)
    np.minimum.at(least, of_stream, rounds)
    known: dict[tuple[int, int, int], int] = {}
    fresh = itertools.count()

    def number(table: pa.Table) -> np.ndarray:
        stream = codes(table["stream"], streams)
        seed, T = table["seed"].to_numpy(), table["T"].to_numpy()
        new = (np.diff(stream) != 0) | (np.diff(seed) != 0) | (np.diff(T) != 0)
        heads = np.flatnonzero(np.concatenate([[len(T) > 0], new]))
        inside = (stream[heads] >= 0) & (T[heads] > least[stream[heads]])
        numbers = [
            known.setdefault((int(stream[at]), int(seed[at]), int(T[at])), next(fresh))
            if good
            else -1
            for at, good in zip(heads, inside, strict=True)
        ]
        return np.repeat(np.array(numbers, np.int64), np.diff(heads, append=len(T)))

    found = scan(place, names, COLUMNS, number, int(target[short].max()))
    runs = {number: run for run, number in known.items()}
    spans = found.spans[np.argsort(found.spans["cell"], kind="stable")]
    bounds = [*np.flatnonzero(np.diff(spans["cell"], prepend=-1)).tolist(), len(spans)]
    by_source: dict[tuple[int, int], list[tuple[int, np.ndarray]]] = defaultdict(list)
    for start, end in itertools.pairwise(bounds):
        stream, seed, T = runs[int(spans["cell"][start])]
        by_source[stream, seed].append((T, spans[start:end]))
    lengths: dict[int, int] = {}
    parts = [spans[:0]]
    for cell, stream, seed, T in zip(short, of_stream, seeds, rounds, strict=True):
        for longer, source in by_source[stream, int(seed)]:
            if longer > T:
                one = source[source["first"] < target[cell]].copy()
                one["cell"], one["longer"] = cell, 1 + lengths.setdefault(longer, len(lengths))
                one["count"] = np.minimum(one["count"], target[cell] - one["first"])
                parts.append(one)
    return LongerRuns(found._replace(spans=np.concatenate(parts)), list(lengths))


def cut(rows: pa.Table, T: int, longer: int) -> pa.Table:
    """The rows of a run to `longer` rounds as rows of a run to T; without those that don't fit.

    A run fits where it has regret, and T among its checkpoints.
    """
    regret = rows["regret"].combine_chunks()
    known = rows["checkpoints"].combine_chunks()
    if pc.all(known.is_null()).as_py():
        size = len(standard(T))
        if not np.isin(T, standard(longer)):
            return rows.slice(0, 0)
        ends = np.full(len(rows), size)
    else:
        grids = checkpoints_of(known, longer)
        places = [int(np.searchsorted(grid, T)) for grid in grids]
        ends = np.array(
            [at + 1 if at < len(grid) and grid[at] == T else 0
             for at, grid in zip(places, grids, strict=True)], np.int64,
        )  # fmt: skip
    ends = np.where(np.asarray(regret.is_null()), 0, ends)
    fits = pa.array(ends > 0)
    rows, ends = rows.filter(fits), ends[ends > 0]
    schema = rows.schema
    columns = {name: pa.nulls(len(rows), schema.field(name).type) for name in schema.names}
    columns["replicate"] = rows["replicate"]
    for name, _ in CURVES:
        columns[name] = _beginnings(rows[name].combine_chunks(), ends)
    return pa.table(columns, schema=schema)


def _beginnings(lists: pa.ListArray, ends: np.ndarray) -> pa.ListArray:
    """The first `ends` entries of each list; null where it is null."""
    null = lists.is_null().to_numpy(zero_copy_only=False)
    ends = np.where(null, 0, ends)
    starts = lists.offsets.to_numpy()[:-1]
    offsets = np.concatenate([[0], np.cumsum(ends)])
    picks = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends)
    values = lists.values.take(pa.array(picks))
    return pa.ListArray.from_arrays(
        pa.array(offsets.astype(np.int32)), values, type=lists.type, mask=pa.array(null)
    )
