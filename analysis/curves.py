"""The cells of a loaded sweep: their regret curves as matrices, and the bootstrap's generators."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sweep.store.columns import MANIFEST

Floats = NDArray[np.float64]

SERIES_KEYS = [
    "family", "algorithm", "version", "parameters", "instance", "instance_definition", "K", "N",
    "T", "seed",
]  # fmt: skip
"""The columns that are equal within a series of cells that differ in ε only."""

CELL_KEYS = ["cell", "instance"]
"""What tells the points of a grid apart: one cell may stand there under two labels."""


@dataclass(frozen=True, repr=False)
class Curves:
    """One point of the grid.

    Attributes:
        info: the manifest's columns of this cell.
        checkpoints: rounds, shape (m,), ascending.
        regret: cumulative, shape (n replicates, m).
    """

    info: dict[str, Any]
    checkpoints: NDArray[np.int64]
    regret: Floats

    def __repr__(self) -> str:
        n, m = self.regret.shape
        return f"Curves({self.info['cell']!r}, {n} replicates, {m} checkpoints)"

    @property
    def key(self) -> tuple[str, str]:
        """The values of CELL_KEYS."""
        return self.info["cell"], self.info["instance"]

    @property
    def n(self) -> int:
        """Number of replicates."""
        return self.regret.shape[0]

    @property
    def final(self) -> Floats:
        """Regret at the last checkpoint, shape (n,)."""
        return self.regret[:, -1]

    @property
    def mean(self) -> Floats:
        """Mean curve, shape (m,)."""
        return self.regret.mean(axis=0)


def series_key(row: Any) -> tuple[str, ...]:
    """What names the series of a row, given as a named tuple; missing values compare."""
    return tuple(str(getattr(row, name)) for name in SERIES_KEYS)


def cells(df: pd.DataFrame) -> Iterator[Curves]:
    """The cells of a loaded sweep that have regret, in order of appearance."""
    info_columns = [name for name in df.columns if name in MANIFEST.names]
    without = df["checkpoints"].map(len).to_numpy(int) == 0
    df = df[~without] if without.any() else df
    groups = df.groupby(CELL_KEYS, sort=False).indices
    first = df.drop_duplicates(CELL_KEYS)
    infos = first[info_columns].to_dict("records")
    grids, curves = df["checkpoints"].to_numpy(), df["regret"].to_numpy()
    for key, info in zip(zip(first["cell"], first["instance"], strict=True), infos, strict=True):
        yield Curves(info, *_stack(grids[groups[key]], curves[groups[key]]))


def _stack(grids: NDArray[Any], curves: NDArray[Any]) -> tuple[NDArray[np.int64], Floats]:
    """The checkpoints all replicates share and the matrix of their regrets."""
    first = grids[0]
    if all(len(g) == len(first) for g in grids):
        stacked = np.stack(list(grids))
        if (stacked == first).all():
            return first, np.stack(list(curves))
    common = first
    for g in grids[1:]:
        common = np.intersect1d(common, g)
    rows = [c[np.searchsorted(g, common)] for g, c in zip(grids, curves, strict=True)]
    return common, np.stack(rows)


def bootstrap_generator(cell: str, seed: int) -> np.random.Generator:
    """The bootstrap's generator of a cell: it does not depend on the other cells."""
    return np.random.default_rng([seed, zlib.crc32(cell.encode())])
