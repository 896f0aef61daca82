"""The slope of one cell's regret on ln t, and what a fit over several horizons needs of it.

The slope is the least-squares coefficient of the mean curve on ln t over a window of
checkpoints. It is linear in the curve, so the bootstrap over replicates resamples n numbers.
The points of one curve are not independent, which is why the interval comes from replicates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis import bounds
from analysis.curves import Curves, Floats, Key, bootstrap_generator
from analysis.statistics.bootstrap import DRAWS, interval, interval_of

MIN_POINTS = 3
"""Rounds a fit needs."""

Window = tuple[float, float]


class Slope(NamedTuple):
    """A fit of regret on ln t, or why there is none; `analysis.slopes` says what they are."""

    window_low: float
    window_high: float
    points: int
    slope: float = math.nan
    slope_low: float = math.nan
    slope_high: float = math.nan
    envelope_low: float = math.nan
    envelope_high: float = math.nan
    deterministic: bool = False
    note: str = ""


class Measured(NamedTuple):
    """What is measured of a cell.

    Attributes:
        n: replicates.
        regret_T: mean final regret, with its interval.
        lower_bound: on the slope, NaN where none is known.
        fit: along the cell's own curve; None for an algorithm that is told T.
        spread: largest minus smallest final regret.
        means: bootstrap means of the final regret, shape (draws,), for a fit over horizons; None
            for a cell that is in none.
    """

    n: int
    regret_T: float
    regret_T_low: float
    regret_T_high: float
    lower_bound: float
    fit: Slope | None
    spread: float
    means: Floats | None


@dataclass(frozen=True)
class MeasureSlope:
    """The final regret of a cell and its slope on ln t; None for a cell without regret.

    Attributes:
        window: [T0, T1] to fit over, in rounds; None for the default.
        default: the sweep's own window.
        draws, seed: the bootstrap's.
        horizons: the cells, by `Curves.key`, that a fit over several horizons needs.
    """

    window: Window | None = None
    default: Window | None = None
    draws: int = DRAWS
    seed: int = 0
    horizons: frozenset[Key] = frozenset()

    def __call__(self, cell: Curves) -> Measured | None:
        if not len(cell.checkpoints):
            return None
        low, high = math.nan, math.nan
        if cell.n > 1:
            low, high = interval_of(cell.final, cell.final_means(self.draws, self.seed))
        across = cell.key in self.horizons
        return Measured(
            n=cell.n,
            regret_T=float(cell.final.mean()),
            regret_T_low=low,
            regret_T_high=high,
            lower_bound=lower_bound(cell.info),
            fit=self._along_curve(cell) if cell.info["anytime"] else None,
            spread=float(np.ptp(cell.final)),
            means=cell.final_means(self.draws, self.seed + 1) if across else None,
        )

    def _along_curve(self, cell: Curves) -> Slope:
        """The fit to the cell's curve."""
        low, high = choose_window(cell.info["T"], self.window, self.default)
        # A hair of slack, so that √T computed in floating point does not lose its own checkpoint.
        inside = (cell.checkpoints >= low * (1 - 1e-12)) & (cell.checkpoints <= high * (1 + 1e-12))
        used = cell.checkpoints[inside]
        if len(used) < MIN_POINTS:
            note = f"window [{low:.3g}, {high:.3g}] holds {len(used)} checkpoints"
            return Slope(low, high, len(used), note=f"{note}, {MIN_POINTS} needed")
        x, weights = regressor(used)
        first = int(np.argmax(inside))
        curves = cell.regret[:, first : first + len(used)]
        each = (curves - curves[:, :1]) @ weights
        rng = bootstrap_generator(cell.info["cell"], self.seed + 1)
        slope_low, slope_high = interval(each, rng, self.draws)
        # Steps come when ln t doubles: a shorter window may hold none, or one and no tread.
        short = cell.info["doubling"] and x[-1] < 1.9 * x[0]
        return Slope(
            float(used[0]),
            float(used[-1]),
            len(used),
            float(each.mean()),
            slope_low,
            slope_high,
            *envelope(cell, used[0], used[-1]),
            deterministic=slope_low == slope_high,
            note="window shorter than [T0, T0²]: the slope depends on where steps fall"
            if short
            else "",
        )


def choose_window(T: float, window: Window | None, default: Window | None) -> Window:
    """Return the [T0, T1] to fit over for a cell of horizon T (see `analysis.slopes`)."""
    if window is not None:
        return window[0], min(window[1], T)
    if default is not None and default[0] < T:
        return default[0], min(default[1], T)
    return math.sqrt(T), T


def lower_bound(info: dict[str, Any]) -> float:
    """Return the proven lower bound on a cell's slope, NaN where none is known.

    A cell without ε gets the bound without privacy.
    """
    means = info["means"]
    if info["family"] != "bandit" or info["distribution"] != "bernoulli":
        return math.nan
    if means is None or len(means) == 0:
        return math.nan
    epsilon = info["epsilon"]
    if not info["uses_epsilon"] or not epsilon > 0:
        epsilon = math.inf
    return bounds.lower_bound_slope(means, epsilon)


def envelope(cell: Curves, low: float, high: float) -> tuple[float, float]:
    """Return min and max of mean regret / ln t over the checkpoints t >= 2 in [low, high]."""
    inside = (cell.checkpoints >= max(low, 2)) & (cell.checkpoints <= high)
    if not inside.any():
        return math.nan, math.nan
    scaled = cell.mean[inside] / np.log(cell.checkpoints[inside])
    return float(scaled.min()), float(scaled.max())


def regressor(rounds: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return ln t and the weights w for which w·y is the least-squares slope of y on it."""
    x = np.log(rounds)
    return x, (x - x.mean()) / ((x - x.mean()) ** 2).sum()
