"""Exponential, Laplace, normal, gamma and beta variables.

Sources: exponential and Laplace by inversion; normal, Marsaglia & Tsang 2000, "The ziggurat method
for generating random variables" (256 layers, layer and 53-bit uniform from one word); gamma,
Marsaglia & Tsang 2000, "A simple method for generating gamma variables"; beta from two gammas, in
logarithms where a shape is below 1. Shapes hold up to 1e18.

The logarithm of a 53-bit uniform number ends at 53 ln 2 = 36.7: exponential and Laplace variables
beyond 36.7 scales, of chance 2^-53, do not occur, nor do sizes between 0 and 2^-53 scales. A normal
variable ends at 12.2 for the same reason.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import compiled, inlined
from algos.random.generator import UNIT, Rng, next_word, uniform, uniform_positive

_ONE, _11, _LAYER = np.uint64(1), np.uint64(11), np.uint64(255)
_R = 3.6541528853610088  # where the lowest layer's tail begins, for 256 layers of equal area


def _layers() -> tuple[np.ndarray, np.ndarray]:
    """The layers' right ends x (257,), from the lowest, and exp(-x²/2) there."""
    area = _R * math.exp(-0.5 * _R * _R) + math.sqrt(0.5 * math.pi) * math.erfc(_R / math.sqrt(2.0))
    x = [area * math.exp(0.5 * _R * _R), _R]
    while len(x) < 256:
        x.append(math.sqrt(-2.0 * math.log(area / x[-1] + math.exp(-0.5 * x[-1] ** 2))))
    ends = np.array([*x, 0.0])
    return ends, np.exp(-0.5 * ends**2)


_X, _F = _layers()


@compiled
def exponential(rng: Rng) -> float:
    """Mean 1."""
    return -math.log(uniform_positive(rng))


@compiled
def laplace(rng: Rng, scale: float) -> float:
    """Mean 0, density exp(-|x| / scale) / (2 scale), scale finite; 0 where it is 0. One word."""
    word = next_word(rng)
    size = -scale * math.log((float(word >> _11) + 1.0) * UNIT)
    return size if word & _ONE else -size


@inlined
def normal(rng: Rng) -> float:
    """Mean 0, variance 1."""
    while True:
        word = next_word(rng)
        layer = int(word & _LAYER)
        z = (2.0 * (float(word >> _11) + 0.5) * UNIT - 1.0) * _X[layer]
        if abs(z) < _X[layer + 1]:
            return z
        if layer == 0:
            while True:
                x = exponential(rng) / _R
                if 2.0 * exponential(rng) > x * x:
                    return _R + x if z > 0.0 else -_R - x
        if _F[layer] + uniform(rng) * (_F[layer + 1] - _F[layer]) < math.exp(-0.5 * z * z):
            return z


@inlined
def _gamma(rng: Rng, shape: float) -> float:
    """For shape ≥ 1."""
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(rng)
        y = c * x
        if y <= -1.0:
            continue
        u = uniform_positive(rng)
        square = x * x
        v = 1.0 + y
        v = v * v * v
        if u < 1.0 - 0.0331 * square * square:
            return d * v
        # ln u < x²/2 + d (1 - v + ln v); with v = (1 + y)³ and x = 3 √d y the large terms cancel
        if math.log(u) < 3.0 * d * (math.log1p(y) - y + 0.5 * y * y - y * y * y / 3.0):
            return d * v


@compiled
def gamma(rng: Rng, shape: float) -> float:
    """Density x^(shape - 1) exp(-x) / Γ(shape), shape > 0; 0 where it underflows."""
    if shape >= 1.0:
        return _gamma(rng, shape)
    return _gamma(rng, shape + 1.0) * math.exp(math.log(uniform_positive(rng)) / shape)


@compiled
def beta(rng: Rng, a: float, b: float) -> float:
    """Density proportional to x^(a - 1) (1 - x)^(b - 1), a, b > 0; in [0, 1] as floats round."""
    if a >= 1.0 and b >= 1.0:
        x = _gamma(rng, a)
        return x / (x + _gamma(rng, b))
    log_odds = _log_gamma_variable(rng, b) - _log_gamma_variable(rng, a)
    if log_odds > 700.0:  # exp would overflow
        return math.exp(-log_odds)
    return 1.0 / (1.0 + math.exp(log_odds))


@compiled
def _log_gamma_variable(rng: Rng, shape: float) -> float:
    """The log of a gamma variable; small shapes would underflow."""
    if shape >= 1.0:
        return math.log(_gamma(rng, shape))
    return math.log(_gamma(rng, shape + 1.0)) + math.log(uniform_positive(rng)) / shape
