"""The smooth hinge A·(1 + (ε*/ε)^(p·s))^(1/s), fitted in log space.

With x = ln ε it reads ln R = a + softplus(s·p·(u - x))/s, where a = ln A is the plateau, u = ln ε*
the place where the two asymptotes cross, p > 0 the power of the slope part and s in [0.5, 16] the
sharpness of the knee. The fit moves (a, u, ln p, z) with s = 0.5·32^logistic(z), so that every
parameter is free and stays in its range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

SHARPNESS = (0.5, 16.0)
MIN_POINTS = 8
"""Finite ε a series needs before four parameters are fitted to it."""

_LOG_RANGE = math.log(SHARPNESS[1] / SHARPNESS[0])


class Hinge(NamedTuple):
    """A fitted hinge: ln A, ln ε*, ln p, the transform of s, and the sum of squares."""

    a: float
    u: float
    log_p: float
    z: float
    cost: float

    @property
    def plateau(self) -> float:
        """A, the asymptote for large ε."""
        return _exp(self.a)

    @property
    def epsilon_star(self) -> float:
        """ε*, where the asymptotes cross."""
        return _exp(self.u)

    @property
    def knee_ratio(self) -> float:
        """The hinge at ε* over its plateau, 2^(1/s): the knee is not where the plateau begins."""
        return float(2 ** (1 / self.s))

    @property
    def p(self) -> float:
        """The power of ε on the slope part."""
        return _exp(self.log_p)

    @property
    def s(self) -> float:
        """The sharpness of the knee."""
        return SHARPNESS[0] * math.exp(_LOG_RANGE * float(expit(self.z)))


def _exp(value: float) -> float:
    """Return e^value; a parameter the data do not hold may run off to infinity."""
    return math.exp(value) if value < 700 else math.inf


def log_hinge(theta: Floats, x: Floats) -> Floats:
    """Return ln R at x = ln ε for theta = (a, u, ln p, z)."""
    s = SHARPNESS[0] * np.exp(_LOG_RANGE * expit(theta[3]))
    return theta[0] + np.logaddexp(0.0, s * np.exp(theta[2]) * (theta[1] - x)) / s


def jacobian(theta: Floats, x: Floats) -> Floats:
    """Return the derivatives of `log_hinge` by theta, shape (4, len(x))."""
    logistic = expit(theta[3])
    s = SHARPNESS[0] * np.exp(_LOG_RANGE * logistic)
    p = np.exp(theta[2])
    v = s * p * (theta[1] - x)
    slope = expit(v)
    out = np.empty((4, x.size))
    out[0] = 1.0
    out[1] = slope * p
    out[2] = slope * v / s
    out[3] = (slope * v - np.logaddexp(0.0, v)) / s * (_LOG_RANGE * logistic * (1 - logistic))
    return out


def fit(x: Floats, y: Floats, start: Hinge | None = None) -> Hinge:
    """Return the least-squares hinge through y = ln R at x = ln ε (at least 4 points).

    Without `start` the fit tries several and keeps the best; with it, that one alone, which is
    what a bootstrap needs.
    """
    from scipy.optimize import leastsq

    starts = [start[:4]] if start is not None else _starts(x, y)
    # The stretches of theta where nothing changes any more (s at an end, ε* off the grid) make
    # MINPACK walk far for nothing: the tolerance is far below the data's own spread.
    best: Hinge | None = None
    for theta in starts:
        found, _, info, _, _ = leastsq(
            lambda t: log_hinge(t, x) - y,
            theta,
            Dfun=lambda t: jacobian(t, x),
            col_deriv=True,
            full_output=True,
            ftol=1e-7 if start is not None else 1e-10,
            xtol=1e-6 if start is not None else 1e-10,
            maxfev=40 if start is not None else 400,
        )
        cost = float(np.dot(info["fvec"], info["fvec"]))
        if best is None or cost < best.cost:
            a, u, log_p, z = map(float, found)
            best = Hinge(a, u, log_p, z, cost)
    assert best is not None
    return best


def _starts(x: Floats, y: Floats) -> list[tuple[float, float, float, float]]:
    """Return starting points spread over the places of the knee, its power and sharpness."""
    plateau = float(np.min(y))
    return [
        (plateau, float(u), math.log(p), z)
        for u in np.quantile(x, [0.2, 0.5, 0.8])
        for p in (0.5, 1.0, 2.0)
        for z in (-1.0, 1.0)
    ]
