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

_HALF_ERRORS = np.array(
    [
        math.lgamma(z + 1.0) - (z + 0.5) * (math.log(z + 0.5) - 1.0) - LOG_ROOT_2PI
        for z in range(_SMALL)
    ]
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
def half_error(z: float) -> float:
    """ln Γ(z + 1/2) - (z ln z - z + ln √(2π)), for z = 1/2, 3/2, 5/2, …"""
    if z < _SMALL:
        return _HALF_ERRORS[int(z)]
    y = 1.0 / z
    w = y * y
    return -y * (1.0 / 24.0 - w * (7.0 / 2880.0 - w * (31.0 / 40320.0 - w * (127.0 / 215040.0))))


@compiled
def deviance(x: float, mean: float, difference: float) -> float:
    """x ln(x / mean) - (x - mean), for x > 0 and `difference` = x - mean, exactly known.

    Where these are close, in powers of v = (x - mean) / (x + mean), so that nothing cancels.
    """
    v = difference / (x + mean)
    if abs(v) >= 0.1:
        return x * math.log(x / mean) - difference
    w = v * v
    powers = 1 / 7 + w * (1 / 9 + w * (1 / 11 + w * (1 / 13)))
    powers = w * (1 / 3 + w * (1 / 5 + w * powers))
    return v * (difference + 2.0 * x * powers)
