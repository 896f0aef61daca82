"""Pieces of log factorials and of log densities that lose no digits, however large the counts.

Source: Loader 2000, "Fast and accurate computation of binomial probabilities": the log of a
binomial probability is a sum of errors of Stirling's formula and of two deviances.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import compiled

LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_SMALL = 16
_ERRORS = np.array(
    [0.0] + [math.lgamma(z) - (z - 0.5) * math.log(z) + z - LOG_ROOT_2PI for z in range(1, _SMALL)]
)


@compiled
def stirling_error(z: float) -> float:
    """ln Γ(z) - ((z - 1/2) ln z - z + ln √(2π)), for z ≥ 1."""
    if z < _SMALL:
        if z == np.floor(z):
            return _ERRORS[int(z)]
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + LOG_ROOT_2PI)
    w = 1.0 / (z * z)
    return (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w / 1680.0))) / z


@compiled
def deviance(x: float, mean: float, difference: float) -> float:
    """x ln(x / mean) - (x - mean), for x > 0 and `difference` = x - mean, exactly known.

    In powers of (x - mean) / (x + mean) where these are close, so that nothing cancels.
    """
    total = x + mean
    if abs(difference) >= 0.1 * total:
        return x * math.log(x / mean) - difference
    v = difference / total
    result = difference * v
    term, square = 2.0 * x * v, v * v
    odd = 3.0
    while True:
        term *= square
        more = result + term / odd
        if more == result:
            return result
        result = more
        odd += 2.0
