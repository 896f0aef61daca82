"""What W&B is shown of a unit's runs, made where they are played: a few numbers, not the curves.

Where a W&B run is a cell, these are the moments of regret at each checkpoint; where it is a
series, the final regret of each replicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from algos.families import Outcome
from sweep.engine.rows import kept
from sweep.grid.units import Unit

View = Literal["nothing", "curves", "finals"]


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of regret at some rounds; arrays (C,)."""

    checkpoints: np.ndarray
    n: int
    mean: np.ndarray
    squares: np.ndarray

    def joined(self, other: Moments) -> Moments:
        """Those of both samples together (Chan, Golub and LeVeque 1983)."""
        n = self.n + other.n
        step = other.mean - self.mean
        mean = self.mean + step * (other.n / n)
        squares = self.squares + other.squares + step**2 * (self.n * other.n / n)
        return Moments(self.checkpoints, n, mean, squares)


# Per horizon of a unit: moments, or final regrets (n,); None of a family without regret.
Shown = list[Moments | np.ndarray | None]


def moments(checkpoints: np.ndarray, regret: np.ndarray) -> Moments:
    """The moments of regret (n, C) at rounds (C,)."""
    mean = regret.mean(axis=0)
    return Moments(checkpoints, len(regret), mean, ((regret - mean) ** 2).sum(axis=0))


def seen(unit: Unit, outcome: Outcome, view: View) -> Shown:
    """What is shown of a unit."""
    found: Shown = []
    for T in unit.horizons:
        if not unit.work.family.has_regret:
            found.append(None)
            continue
        own, at = kept(T, unit.horizons)
        if view == "curves":
            found.append(moments(own, outcome["regret"][:, at]))
        else:
            found.append(outcome["regret"][:, at][:, -1].copy())
    return found
