"""Bootstrap intervals of means over replicates."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 400
"""Bootstrap draws behind every interval."""

BLOCK = 2**18
"""Picks in memory at a time; they are the same whatever their blocks."""


def resampled_means(values: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Bootstrap means of `values`.

    Deviations from the mean are scaled by √(n/(n-1)), because resampling n values has a variance
    that is too small by (n-1)/n.

    Args:
        values: shape (n,) or (n, m).
        draws: number of resamples.
        rng: generator of the resamples.

    Returns:
        Means, shape (draws,) or (draws, m).
    """
    n = values.shape[0]
    centre = values.mean(axis=0)
    means = np.empty((draws, *values.shape[1:]))
    block = max(1, BLOCK // n)
    for start in range(0, draws, block):
        count = min(block, draws - start)
        picks = rng.integers(0, n, size=(count, n))
        if values.ndim == 1:
            means[start : start + count] = values.take(picks).mean(axis=1)
        else:
            picks += np.arange(count)[:, None] * n
            weights = np.bincount(picks.ravel(), minlength=count * n)
            means[start : start + count] = weights.reshape(count, n) / n @ values
    return centre + (means - centre) * math.sqrt(n / max(n - 1, 1))


@lru_cache(maxsize=256)
def small_sample(n: int) -> float:
    """The ratio t/z at 97.5 %: what a percentile interval of a mean of n values is too short by.

    Hesterberg 2015, "What teachers should know about the bootstrap", section 5.3.
    """
    from scipy import special

    if n < 2:
        return math.nan
    return float(special.stdtrit(n - 1, 0.975) / special.ndtri(0.975))


def interval(values: Floats, rng: np.random.Generator, draws: int = DRAWS) -> tuple[Any, Any]:
    """The 95 % bootstrap interval of the mean of `values` over their first axis.

    NaN for fewer than two values. Equal values give an interval of width exactly 0.
    """
    if values.shape[0] < 2:
        return interval_of(values, values)
    return interval_of(values, resampled_means(values, draws, rng))


def interval_of(values: Floats, means: Floats) -> tuple[Any, Any]:
    """The interval of `interval` from `resampled_means` of the values."""
    n = values.shape[0]
    if n < 2:
        nothing = np.full(values.shape[1:], math.nan)
        return (math.nan, math.nan) if values.ndim == 1 else (nothing, nothing)
    centre = values.mean(axis=0)
    low, high = np.percentile(means, [2.5, 97.5], axis=0)
    wider = small_sample(n)
    fixed = np.ptp(values, axis=0) <= 1e-12 * np.abs(centre)
    low = np.where(fixed, centre, centre + (low - centre) * wider)
    high = np.where(fixed, centre, centre + (high - centre) * wider)
    return (float(low), float(high)) if values.ndim == 1 else (low, high)
