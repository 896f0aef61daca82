"""The knee of regret against ε: where the asymptotes of a smooth hinge, fitted per series, cross.

Regret at the knee is well above its plateau: of a hinge with sharpness s it is 2^(1/s) times as
large, and most algorithms bend softly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis import bounds
from analysis.curves import SERIES_KEYS, Curves, bootstrap_generator, cells
from analysis.statistics import hinge, staircase
from analysis.statistics.bootstrap import DRAWS, resampled_means

Floats = NDArray[np.float64]

COLUMNS = [
    *SERIES_KEYS, "n", "epsilon_star", "epsilon_star_low", "epsilon_star_high", "p", "p_low",
    "p_high", "plateau", "plateau_low", "plateau_high", "s",
    "knee_ratio", "points", "saturated", "epsilon_low", "epsilon_high", "bound_knee_low",
    "bound_knee_high", "bound_knee_pooled",
    "minimax_threshold", "resolved", "note",
]  # fmt: skip


def transitions(df: pd.DataFrame, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """Return one row per series (everything equal but ε) with at least 8 finite ε.

    Points are the mean regrets at T. Saturated ones (above half of T·max Δ, where the algorithm
    has hardly learnt) and ε = inf are left out. On a grid with a common spacing in log ε and at
    least 8 points per octave, the staircase of doubling algorithms is averaged over a sliding
    octave; otherwise the points are fitted as they are and `note` says so.

    Intervals (95 %) are percentiles of a bootstrap with three sources: replicates, drawn anew in
    every cell; the phases of the octave, drawn with replacement, since where the grid's points
    fall on the steps is an accident; and for doubling algorithms the staircase itself, laid over
    the fitted hinge at a random phase, because the plateau stands on one step that no average
    over ε can level. On synthetic series the intervals of ε* covered it in
    99 % of 300 series without steps; with the steps of one arm in 97 to 100 %, and with those of
    four arms in 93 to 95 % (40 series for each sharpness of the knee), but in 83 % where four
    arms step and the knee is so soft (s = 1) that it spans the grid.

    Columns beside the series' own: n (fewest replicates of a point); epsilon_star, p, plateau
    with _low and _high, s (the hinge's, analysis.statistics.hinge); points (fitted, averaged);
    saturated (points left out for it); epsilon_low, epsilon_high (range of the fitted points);
    knee_ratio (fitted regret at epsilon_star over the plateau, 2^(1/s)); bound_knee_low,
    bound_knee_high, bound_knee_pooled (the knee of the lower bound, which is another quantity:
    analysis.bounds.lower_bound_knee, NaN where rewards are not Bernoulli); minimax_threshold;
    resolved ("yes" or "not resolved: why"); note.
    """
    return transitions_of(list(cells(df)), draws, seed)


def transitions_of(points: Iterable[Curves], draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """The table of `transitions` from cells."""
    rows = [
        _row(series, draws, seed)
        for series in series_of(points)
        if len(finite_points(series)) >= hinge.MIN_POINTS
    ]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"K": "Int64", "N": "Int64"})


def series_of(points: Iterable[Curves]) -> list[list[Curves]]:
    """Return the series of algorithms that use ε, each a list of cells in order of ε."""
    groups: dict[tuple[Any, ...], list[Curves]] = {}
    for cell in points:
        if cell.info["uses_epsilon"]:
            key = tuple(str(cell.info[name]) for name in SERIES_KEYS)
            groups.setdefault(key, []).append(cell)
    return [sorted(group, key=lambda cell: cell.info["epsilon"]) for group in groups.values()]


def finite_points(series: list[Curves]) -> list[Curves]:
    """Return the cells with a finite ε."""
    return [cell for cell in series if math.isfinite(cell.info["epsilon"])]


def is_saturated(cell: Curves) -> bool:
    """Tell whether the mean regret exceeds half of T·max Δ (never, where means are unknown)."""
    means = cell.info["means"]
    if means is None or len(means) == 0:
        return False
    return float(cell.final.mean()) > cell.info["T"] * float(np.ptp(means)) / 2


def _row(series: list[Curves], draws: int, seed: int) -> dict[str, Any]:
    """Return the row of one series."""
    info = series[0].info
    finite = finite_points(series)
    unsaturated = [cell for cell in finite if not is_saturated(cell)]
    points = [cell for cell in unsaturated if cell.final.mean() > 0]
    row: dict[str, Any] = {name: info[name] for name in SERIES_KEYS} | {
        "n": min(cell.n for cell in finite),
        "saturated": len(finite) - len(unsaturated),
        "points": len(points),
    }
    row |= _knee_of_bound(info)
    x = np.log([cell.info["epsilon"] for cell in points])
    per_octave = staircase.points_per_octave(x)
    averaged = per_octave > staircase.POINTS_PER_OCTAVE - 0.5 and len(points) > per_octave + 1
    notes = [] if averaged else ["staircase not averaged: " + _why_raw(per_octave, len(points))]
    if len(points) < len(unsaturated):
        notes.append(f"{len(unsaturated) - len(points)} points without regret left out")
    weights = staircase.octave_weights(len(points), per_octave) if averaged else np.eye(len(points))
    if len(weights) < 5:
        reason = f"not resolved: {len(weights)} points left of {len(finite)}, 5 needed"
        return row | {"points": len(weights), "resolved": reason, "note": "; ".join(notes)}

    y = np.log([cell.final.mean() for cell in points])
    xs, ys = staircase.smooth(x, y, weights)
    best = hinge.fit(xs, ys)
    step = _step_height(points, x, y, best) if info["doubling"] else 0.0
    if step > 0:
        notes.append(f"steps of a factor {math.exp(step):.2g}: their phase is in the interval")
    if min(cell.n for cell in points) < 2:
        notes.append("one replicate: its spread is not in the interval")
    samples = _bootstrap(
        points, x, weights, per_octave if averaged else None, best, step, draws, seed
    )
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


def _knee_of_bound(info: dict[str, Any]) -> dict[str, float]:
    """Return the knee of the lower bound (bandits, Bernoulli rewards) and the minimax threshold."""
    names = COLUMNS[COLUMNS.index("bound_knee_low") : COLUMNS.index("resolved")]
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


def _step_height(points: list[Curves], x: Floats, y: Floats, best: hinge.Hinge) -> float:
    """Return the height of the staircase in ln R, from 0 to ln 2.

    A staircase of height h is uniform within ±h/2 of its average, of variance h²/12. Arms that
    step at different ε make a lower one. It is measured on the slope part, an octave and more
    below ε*, since a plateau stands on one step; with less than an octave there, it is ln 2. The
    variance that the replicates explain is taken off.
    """
    sloped = x < best.u - staircase.OCTAVE
    if not sloped.any() or np.ptp(x[sloped]) < staircase.OCTAVE:
        return staircase.OCTAVE
    residual = (y - hinge.log_hinge(np.array(best[:4]), x))[sloped]
    noise = [cell.final.var() / max(cell.n - 1, 1) / cell.final.mean() ** 2 for cell in points]
    variance = float(np.mean(residual**2)) - float(np.mean(np.array(noise)[sloped]))
    return min(staircase.OCTAVE, math.sqrt(12 * max(variance, 0.0)))


def _bootstrap(
    points: list[Curves],
    x: Floats,
    weights: Floats,
    per_octave: float | None,
    best: hinge.Hinge,
    step: float,
    draws: int,
    seed: int,
) -> Floats:
    """Return draws of (ln plateau, ln ε*, ln p), shape (draws, 3)."""
    observed = np.array([cell.final.mean() for cell in points])
    means = np.stack(
        [
            resampled_means(c.final, draws, bootstrap_generator(c.info["cell"], seed))
            for c in points
        ],
        axis=1,
    )
    logs = np.log(np.maximum(means, 1e-3 * observed))
    rng = bootstrap_generator(points[0].info["cell"], seed + 1)
    if step > 0:
        # The staircase at another phase: ln 2^⌈v⌉ lies between 0 and ln 2 above v·ln 2.
        level = hinge.log_hinge(np.array(best[:4]), x)
        v = level / staircase.OCTAVE + rng.uniform(size=(draws, 1))
        logs += level - np.log(observed) + step * (np.ceil(v) - v - 0.5)
    out = np.empty((draws, 3))
    for b in range(draws):
        drawn = weights
        if per_octave is not None:
            phase = staircase.phases(len(points), per_octave)
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
