"""Rows that a sweep lacks, cut from longer runs.

For an anytime algorithm the curve to T begins every longer curve of the same stream, seed and
replicate. What is cut carries the curve alone: outcomes were noted at the end of the longer run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sweep.store.columns import CURVES, IDENTITY
from sweep.store.scanning import Segments, values

FIELDS = (
    *((name, kind) for name, kind in IDENTITY if name in ("stream", "seed", "T")),
    ("replicate", pa.int64()),
    *CURVES,
)


@dataclass(frozen=True)
class Piece:
    """What a row of the shorter cell would hold: its cell's number, its replicate, its curve."""

    cell: int
    replicate: int
    checkpoints: np.ndarray
    regret: np.ndarray


@dataclass(frozen=True)
class Runs:
    """Rows of some streams: an array (rows,) for each of these columns; `stream` is a number."""

    stream: np.ndarray
    seed: np.ndarray
    T: np.ndarray
    replicate: np.ndarray
    checkpoints: np.ndarray
    regret: np.ndarray


def cut(
    source: Segments,
    short: np.ndarray,
    cells: pa.Table,
    target: np.ndarray,
    has: Callable[[int, int], bool],
) -> list[Piece]:
    """Beginnings of longer runs for anytime cells that lack replicates.

    Args:
        source: the segments to look in.
        short: int64 (n,), the numbers of the cells that lack replicates.
        cells: columns stream, seed and T of all cells, by number.
        target: int64 (cells,), the replicates that are wanted of each.
        has: whether a cell has a replicate already.
    """
    wanted = cells.take(short)
    streams = wanted["stream"].combine_chunks().dictionary_encode()
    runs = _runs(source, streams.dictionary, pc.min(wanted["T"]).as_py(), int(target[short].max()))
    order = np.argsort(runs.stream, kind="stable")
    bounds = np.searchsorted(runs.stream[order], np.arange(len(streams.dictionary) + 1))
    found: dict[tuple[int, int], Piece] = {}
    rows = zip(
        short.tolist(), streams.indices.to_pylist(), wanted["seed"].to_pylist(),
        wanted["T"].to_pylist(), strict=True,
    )  # fmt: skip
    for cell, stream, seed, T in rows:
        of_stream = order[bounds[stream] : bounds[stream + 1]]
        fits = (runs.seed[of_stream] == seed) & (runs.T[of_stream] > T)
        for run in of_stream[fits & (runs.replicate[of_stream] < target[cell])]:
            key = (cell, int(runs.replicate[run]))
            grid, regret = runs.checkpoints[run], runs.regret[run]
            if key in found or has(*key) or grid is None or regret is None:
                continue
            end = int(np.searchsorted(grid, T))
            if end < len(grid) and grid[end] == T:
                found[key] = Piece(*key, grid[: end + 1], regret[: end + 1])
    return list(found.values())


def _runs(source: Segments, streams: pa.Array, least: int, replicates: int) -> Runs:
    """Runs of these streams to more than `least` rounds, of replicates below `replicates`."""
    condition = pc.field("stream").isin(streams) & (pc.field("T") > least)
    table = source.scan(condition & (pc.field("replicate") < replicates), FIELDS)
    return Runs(
        stream=pc.index_in(table["stream"], streams).to_numpy(),
        seed=table["seed"].to_numpy(),
        T=table["T"].to_numpy(),
        replicate=table["replicate"].to_numpy(),
        checkpoints=values(table["checkpoints"]),
        regret=values(table["regret"]),
    )
