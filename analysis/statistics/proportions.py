"""Exact intervals of probabilities from counts."""

from __future__ import annotations

import math


def clopper_pearson(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of a probability from `count` of `n`; NaN for n = 0."""
    from scipy import special

    if n == 0:
        return math.nan, math.nan
    tail = (1.0 - level) / 2.0
    low = float(special.betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(special.betainccinv(count + 1, n - count, tail)) if count < n else 1.0
    return low, high
