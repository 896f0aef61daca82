"""The knee of a series: where the asymptotes of a smooth hinge through its final regrets cross.

`MeasurePoint` measures a cell, `prepared` makes ready a series of them, and `knee_of` fits that.
Regret at the knee is well above its plateau: of a hinge with sharpness s it is 2^(1/s) times as
large, and most algorithms bend softly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from analysis import bounds
from analysis.curves import Curves, Floats, bootstrap_generator
from analysis.statistics import hinge, staircase
from analysis.statistics.bootstrap import DRAWS


class Point(NamedTuple):
    """The final regret of a cell with finite ε.

    Attributes:
        n: replicates.
        mean: mean final regret.
        variance: its variance over replicates, with n in the denominator.
        means: bootstrap means, shape (draws,).
    """

    n: int
    mean: float
    variance: float
    means: Floats


@dataclass(frozen=True)
class MeasurePoint:
    """The final regret of a cell that has regret and a finite ε; None for others."""

    draws: int = DRAWS
    seed: int = 0

    def __call__(self, cell: Curves) -> Point | None:
        finite = cell.info["uses_epsilon"] and math.isfinite(cell.info["epsilon"])
        if not finite or not len(cell.checkpoints):
            return None
        means = cell.final_means(self.draws, self.seed)
        return Point(cell.n, float(cell.final.mean()), float(cell.final.var()), means)


@dataclass(frozen=True)
class Series:
    """The points of a series in order of ε, and what is known of the first.

    Attributes:
        info: the manifest's columns of the first point.
        cells: identities of the points.
        epsilon: shape (points,), finite.
        points: what was measured.
        draws, seed: the bootstrap's.
    """

    info: dict[str, Any]
    cells: Sequence[str]
    epsilon: Floats
    points: Sequence[Point]
    draws: int = DRAWS
    seed: int = 0

    def mean(self, group: Sequence[int]) -> float:
        """The mean regret of some points."""
        return float(np.mean([self.points[i].mean for i in group]))


def _groups(points: int, together: int) -> list[range]:
    """Successive points in groups of equal size; a remainder is left out."""
    return [range(at, at + together) for at in range(0, points - together + 1, together)]


class Cloud(NamedTuple):
    """The points of a fit, each the average of a group of neighbours.

    Attributes:
        x, y: ln ε and ln of the mean regret, shape (p,).
        noise: variance of y that the replicates explain, shape (p,).
        logs: ln of bootstrap means, shape (draws, p).
    """

    x: Floats
    y: Floats
    noise: Floats
    logs: Floats

    @classmethod
    def of(cls, series: Series, groups: Sequence[range]) -> Cloud:
        """That of some groups of a series' points, all with regret."""
        logs = np.empty((series.draws, len(groups)))
        x, y, noise = np.empty((3, len(groups)))
        for i, group in enumerate(groups):
            near = [series.points[place] for place in group]
            drawn = [np.log(np.maximum(one.means, 1e-3 * one.mean)) for one in near]
            logs[:, i] = np.mean(drawn, axis=0)
            x[i] = np.mean(np.log(series.epsilon[group]))
            y[i] = np.mean([np.log(one.mean) for one in near])
            own = [one.variance / max(one.n - 1, 1) / one.mean**2 for one in near]
            noise[i] = np.mean(own) / len(near)
        return cls(x, y, noise, logs)


class Prepared(NamedTuple):
    """What a fit needs of a series, small however many its points are.

    Attributes:
        row: the measured columns of `analysis.transitions` that need no fit.
        cloud: the points that are fitted.
        groups: the number of points before any was left out.
        notes: what to know of them.
        doubling: whether the algorithm's regret moves in steps.
        alone: whether a point has one replicate only.
        cell: the identity of the first point; its and `seed` is the bootstrap's generator.
    """

    row: dict[str, Any]
    cloud: Cloud
    groups: int
    notes: list[str]
    doubling: bool
    alone: bool
    cell: str
    seed: int


def prepared(series: Series) -> Prepared:
    """A series with neighbours averaged where it has many points, and without what can't be fitted.

    Saturated points and those without regret are left out.
    """
    info = series.info
    together = staircase.neighbours(np.log(series.epsilon))
    groups = _groups(len(series.points), together)
    unsaturated = [group for group in groups if not is_saturated(series.mean(group), info)]
    used = [group for group in unsaturated if all(series.points[i].mean > 0 for i in group)]
    row: dict[str, Any] = {
        "n": min(one.n for one in series.points),
        "saturated": together * (len(groups) - len(unsaturated)),
        "points": len(used),
    }
    row |= _knee_of_bound(info)
    notes = [f"{together} neighbouring points averaged to one"] if together > 1 else []
    if len(used) < len(unsaturated):
        notes.append(f"{together * (len(unsaturated) - len(used))} points without regret left out")
    alone = any(series.points[i].n < 2 for group in used for i in group)
    cell = series.cells[used[0][0]] if used else ""
    cloud = Cloud.of(series, used)
    return Prepared(
        row, cloud, len(groups), notes, bool(info["doubling"]), alone, cell, series.seed
    )


def knee_of(series: Prepared) -> dict[str, Any]:
    """The measured columns of `analysis.transitions` for a series; without a fit, some of them."""
    row, cloud = series.row, series.cloud
    per_octave = staircase.points_per_octave(cloud.x)
    size = len(cloud.x)
    averaged = per_octave > staircase.POINTS_PER_OCTAVE - 0.5 and size > per_octave + 1
    notes = [] if averaged else ["staircase not averaged: " + _why_raw(per_octave, size)]
    notes += series.notes
    weights = staircase.octave_weights(size, per_octave) if averaged else np.eye(size)
    if len(weights) < 5:
        reason = f"not resolved: {len(weights)} points left of {series.groups}, 5 needed"
        return row | {"points": len(weights), "resolved": reason, "note": "; ".join(notes)}

    xs, ys = staircase.smooth(cloud.x, cloud.y, weights)
    best = hinge.fit(xs, ys)
    step = _step_height(cloud, best) if series.doubling else 0.0
    if step > 0:
        notes.append(f"steps of a factor {math.exp(step):.2g}: their phase is in the interval")
    if series.alone:
        notes.append("one replicate: its spread is not in the interval")
    rng = bootstrap_generator(series.cell, series.seed + 1)
    samples = _bootstrap(cloud, weights, per_octave if averaged else None, best, step, rng)
    with np.errstate(over="ignore"):
        low, high = np.percentile(samples, [2.5, 97.5], axis=0)
        low, high = np.exp(np.minimum(low, best[:3])), np.exp(np.maximum(high, best[:3]))
    row |= {
        "epsilon_star": best.epsilon_star,
        "epsilon_star_low": low[1],
        "epsilon_star_high": high[1],
        "p": best.p,
        "p_low": low[2],
        "p_high": high[2],
        "plateau": best.plateau,
        "plateau_low": low[0],
        "plateau_high": high[0],
        "s": best.s,
        "knee_ratio": best.knee_ratio,
        "points": len(xs),
        "epsilon_low": math.exp(xs[0]),
        "epsilon_high": math.exp(xs[-1]),
        "note": "; ".join(notes),
    }
    return row | {"resolved": _resolved(row)}


def is_saturated(regret: float, info: dict[str, Any]) -> bool:
    """Tell whether a mean regret exceeds half of T·max Δ (never, where means are unknown)."""
    means = info["means"]
    if means is None or len(means) == 0:
        return False
    return regret > info["T"] * float(np.ptp(means)) / 2


def _knee_of_bound(info: dict[str, Any]) -> dict[str, float]:
    """Return the knee of the lower bound (bandits, Bernoulli rewards) and the minimax threshold."""
    names = ("bound_knee_low", "bound_knee_high", "bound_knee_pooled", "minimax_threshold")
    out = dict.fromkeys(names, math.nan)
    means = info["means"]
    if info["family"] != "bandit" or means is None or len(means) < 2:
        return out
    out["minimax_threshold"] = bounds.minimax_threshold(len(means), info["T"])
    if info["distribution"] == "bernoulli":
        knee = bounds.lower_bound_knee(means)
        out |= {"bound_knee_low": knee.low, "bound_knee_high": knee.high}
        out["bound_knee_pooled"] = knee.pooled
    return out


def _why_raw(per_octave: float, points: int) -> str:
    """Return why a grid cannot be averaged over octaves."""
    if math.isnan(per_octave):
        return "the ε have no common log spacing"
    if per_octave <= staircase.POINTS_PER_OCTAVE - 0.5:
        return f"{per_octave:.1f} points per octave, {staircase.POINTS_PER_OCTAVE} needed"
    return f"{points} points do not span an octave"


def _step_height(cloud: Cloud, best: hinge.Hinge) -> float:
    """Return the height of the staircase in ln R, from 0 to ln 2.

    A staircase of height h is uniform within ±h/2 of its average, of variance h²/12. Arms that
    step at different ε make a lower one. It is measured on the slope part, an octave and more
    below ε*, since a plateau stands on one step; with less than an octave there, it is ln 2. The
    variance that the replicates explain is taken off.
    """
    x = cloud.x
    sloped = x < best.u - staircase.OCTAVE
    if not sloped.any() or np.ptp(x[sloped]) < staircase.OCTAVE:
        return staircase.OCTAVE
    residual = (cloud.y - hinge.log_hinge(np.array(best[:4]), x))[sloped]
    variance = float(np.mean(residual**2)) - float(np.mean(cloud.noise[sloped]))
    return min(staircase.OCTAVE, math.sqrt(12 * max(variance, 0.0)))


def _bootstrap(
    cloud: Cloud,
    weights: Floats,
    per_octave: float | None,
    best: hinge.Hinge,
    step: float,
    rng: np.random.Generator,
) -> Floats:
    """Return draws of (ln plateau, ln ε*, ln p), shape (draws, 3)."""
    x, logs = cloud.x, cloud.logs
    draws, size = logs.shape
    if step > 0:
        # The staircase at another phase: ln 2^⌈v⌉ lies between 0 and ln 2 above v·ln 2.
        level = hinge.log_hinge(np.array(best[:4]), x)
        v = level / staircase.OCTAVE + rng.uniform(size=(draws, 1))
        logs = logs + (level - cloud.y + step * (np.ceil(v) - v - 0.5))
    out = np.empty((draws, 3))
    for b in range(draws):
        drawn = weights
        if per_octave is not None:
            phase = staircase.phases(size, per_octave)
            count = np.bincount(
                rng.integers(0, phase.max() + 1, phase.max() + 1), minlength=phase.max() + 1
            )
            drawn = weights * count[phase]
        out[b] = hinge.fit(*staircase.smooth(x, logs[b], drawn), start=best)[:3]
    return out


def _resolved(row: dict[str, Any]) -> str:
    """Return "yes", or "not resolved: " and what the grid does not cover."""
    star, low, high = (row[f"epsilon_star{end}"] for end in ("", "_low", "_high"))
    if star < 2 * row["epsilon_low"]:
        return f"not resolved: the slope part below ε = {row['epsilon_low']:.3g} is not covered"
    if star > row["epsilon_high"] / 2:
        return f"not resolved: the plateau above ε = {row['epsilon_high']:.3g} is not covered"
    if not high <= 10 * low:
        return f"not resolved: the interval spans more than a decade, {low:.3g} to {high:.3g}"
    return "yes"
