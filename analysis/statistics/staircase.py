"""Averaging out the steps of doubling algorithms along ε.

Such an algorithm pulls an arm a power of two times, so ε·R jumps with a period of one octave in
ε. A sliding mean of ln R over exactly one octave, placed at the mean ln ε of the same points, is
the geometric mean of ε·R over the octave, divided by ε; it leaves every power of ε unchanged.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

OCTAVE = math.log(2)
POINTS_PER_OCTAVE = 8
"""A sparser grid does not resolve the staircase, and is fitted as it stands."""

FINEST = 16
"""Points per octave, and up to twice as many, that a fit is given; more add nothing to it."""

MOST = 1000
"""Points, about, that a fit is given of any grid."""


def points_per_octave(x: Floats) -> float:
    """Return how many points of the grid x = ln ε lie in an octave, NaN if spacings differ."""
    steps = np.diff(x)
    if steps.size == 0 or np.ptp(steps) > 0.05 * steps.mean():
        return math.nan
    return float(OCTAVE / steps.mean())


def neighbours(x: Floats) -> int:
    """Return how many points that stand next to each other are averaged to one: 1 for most grids.

    So that a fit's work is bounded, however fine the grid x = ln ε.
    """
    per_octave = points_per_octave(x)
    finer = 1 if math.isnan(per_octave) else int(per_octave // FINEST)
    return max(1, finer, len(x) // MOST)


def octave_weights(points: int, per_octave: float) -> Floats:
    """Return W, shape (windows, points): weights of the points in each whole octave.

    Each point stands for the stretch half a spacing to both sides, and weighs what of it lies
    in the octave around the window's centre: with 8 points per octave, 1 for the seven inner
    points and ½ for both ends. Centres are the points around which a whole octave exists.
    """
    half = per_octave / 2
    reach = math.ceil(half - 0.5)
    centres = np.arange(reach, points - reach)
    distance = np.abs(np.arange(points) - centres[:, None])
    return np.clip(half + 0.5 - distance, 0.0, 1.0)


def phases(points: int, per_octave: float) -> NDArray[np.int64]:
    """Return each point's place within its octave, 0 … P - 1."""
    return np.arange(points) % round(per_octave)


def smooth(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the weighted means of x = ln ε and y = ln R in every window (rows of weights).

    A window whose weights are all 0 is left out.
    """
    total = weights.sum(axis=1)
    keep = total > 0
    share = weights[keep] / total[keep, None]
    return share @ x, share @ y
