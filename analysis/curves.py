"""Regret curves of a cell as a matrix, and the bootstrap over its replicates."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from sweep.store.columns import MANIFEST

Floats = NDArray[np.float64]

DRAWS = 400
"""Bootstrap draws behind every interval."""

SERIES_KEYS = [
    "family", "algorithm", "version", "parameters", "instance", "instance_definition", "K", "N",
    "T", "seed",
]  # fmt: skip
"""The columns that are equal within a series of cells that differ in ε only."""


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    info: the manifest's columns of this cell.
    checkpoints: rounds, shape (m,), ascending. regret: cumulative, shape (n replicates, m).
    """

    info: dict[str, Any]
    checkpoints: NDArray[np.int64]
    regret: Floats

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
    """Return what names the series of a row, given as a named tuple; missing values compare."""
    return tuple(str(getattr(row, name)) for name in SERIES_KEYS)


def cells(df: pd.DataFrame) -> Iterator[Cell]:
    """Yield the cells of a loaded sweep that have regret, in order of appearance."""
    info_columns = [name for name in df.columns if name in MANIFEST.names]
    without = df["checkpoints"].map(len).to_numpy(int) == 0
    df = df[~without] if without.any() else df
    groups = df.groupby("cell", sort=False).indices
    order = df["cell"].drop_duplicates()
    infos = df.loc[order.index, info_columns].to_dict("records")
    grids, curves = df["checkpoints"].to_numpy(), df["regret"].to_numpy()
    for name, info in zip(order, infos, strict=True):
        yield Cell(info, *_stack(grids[groups[name]], curves[groups[name]]))


def _stack(grids: NDArray[Any], curves: NDArray[Any]) -> tuple[NDArray[np.int64], Floats]:
    """Return the checkpoints all replicates share and the matrix of their regrets."""
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


def generator(cell: str, seed: int) -> np.random.Generator:
    """Return the bootstrap's generator of a cell: it does not depend on the other cells."""
    return np.random.default_rng([seed, zlib.crc32(cell.encode())])


def resampled_means(values: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return `draws` bootstrap means of `values`.

    `values` has shape (n,) or (n, m); the result (draws,) or (draws, m). Deviations from the
    mean are scaled by √(n/(n-1)), because resampling n values has a variance that is too small
    by (n-1)/n.
    """
    n = values.shape[0]
    centre = values.mean(axis=0)
    picks = rng.integers(0, n, size=(draws, n))
    if values.ndim == 1:
        means = values[picks].mean(axis=1)
    else:
        offsets = np.arange(draws)[:, None] * n
        weights = np.bincount((picks + offsets).ravel(), minlength=draws * n)
        means = weights.reshape(draws, n) / n @ values
    return centre + (means - centre) * math.sqrt(n / max(n - 1, 1))


@lru_cache(maxsize=256)
def small_sample(n: int) -> float:
    """Return t/z at 97.5 %: what a percentile interval of a mean of n values is too short by.

    Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3.
    """
    if n < 2:
        return math.nan
    return float(stats.t.ppf(0.975, n - 1) / stats.norm.ppf(0.975))


def interval(values: Floats, rng: np.random.Generator, draws: int = DRAWS) -> tuple[Any, Any]:
    """Return the 95 % bootstrap interval of the mean of `values` over their first axis.

    NaN for fewer than two values. Equal values give an interval of width exactly 0.
    """
    n = values.shape[0]
    if n < 2:
        nothing = np.full(values.shape[1:], math.nan)
        return (math.nan, math.nan) if values.ndim == 1 else (nothing, nothing)
    centre = values.mean(axis=0)
    means = resampled_means(values, draws, rng)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    spread = small_sample(n)
    fixed = np.ptp(values, axis=0) <= 1e-12 * np.abs(centre)
    low = np.where(fixed, centre, centre + (low - centre) * spread)
    high = np.where(fixed, centre, centre + (high - centre) * spread)
    return (float(low), float(high)) if values.ndim == 1 else (low, high)
