"""How fast regret grows with ln t: one fitted slope, with its interval, per cell.

The slope is the least-squares coefficient of the mean curve on ln t over a window of
checkpoints. It is linear in the curve, so the bootstrap over replicates resamples n numbers.
The points of one curve are not independent, which is why the interval comes from replicates.

An algorithm that is told T has no curve in T within one run: its slope is fitted to the mean
regrets at the horizons of the sweep, each from runs of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis import bounds
from analysis.curves import SERIES_KEYS, Curves, Floats, bootstrap_generator, cells
from analysis.statistics.bootstrap import DRAWS, interval, resampled_means, small_sample

MIN_POINTS = 3
"""Rounds a fit needs."""

INFO = ["cell", *SERIES_KEYS, "epsilon", "uses_epsilon", "anytime", "doubling", "distribution"]

COLUMNS = [
    *INFO, "n", "regret_T", "regret_T_low", "regret_T_high", "window_low", "window_high",
    "points", "slope", "slope_low", "slope_high", "envelope_low", "envelope_high",
    "deterministic", "lower_bound", "ratio", "note",
]  # fmt: skip


def slopes(
    df: pd.DataFrame,
    window: tuple[float, float] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """Return one row per cell: the slope of the mean regret on ln t, and what it rests on.

    Anytime algorithms are fitted along their curve; those that are told T over the horizons of
    the sweep that lie in the window, three at least, else slope and envelope are NaN.

    `window` is [T0, T1] in rounds; without it, the sweep's own window where it begins before
    the cell's T, else [√T, T]. A window is cut at T. `draws` and `seed` are the bootstrap's.

    Columns beside the cell's own: n (replicates); regret_T with its interval; window_low,
    window_high (first and last round used), points (rounds used); slope with its
    95 % interval; envelope_low, envelope_high (min and max of mean regret / ln t over the
    window); deterministic (all replicates have the same slope: the interval's width is 0 and
    the envelope is the honest range); lower_bound (azize2022 Theorem 3, NaN where the rewards
    are not Bernoulli or the family is not `bandit`); ratio = slope / lower_bound; note.
    """
    default = (df.attrs.get("sweep") or {}).get("window")
    return slopes_of(list(cells(df)), default, window, draws, seed)


def slopes_of(
    points: Sequence[Curves],
    default: tuple[float, float] | None = None,
    window: tuple[float, float] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> pd.DataFrame:
    """The table of `slopes` from cells and the sweep's own window, `default`."""
    horizons: dict[tuple[str, ...], list[Curves]] = {}
    for cell in points:
        if not cell.info["anytime"]:
            horizons.setdefault(_but_T(cell), []).append(cell)
    rows = []
    for cell in points:
        row, low, high = _common(cell, window, default, draws, seed)
        if cell.info["anytime"]:
            row |= _along_curve(cell, low, high, draws, seed)
        else:
            row |= _across_horizons(horizons[_but_T(cell)], low, high, draws, seed)
        bound = row["lower_bound"]
        row["ratio"] = row["slope"] / bound if bound > 0 else math.nan
        notes = [row["note"], "one replicate: no interval" if cell.n < 2 else ""]
        if default is not None and window is None and default[0] >= cell.info["T"]:
            notes.append("the sweep's window begins after T: [√T, T] used")
        row["note"] = "; ".join(note for note in notes if note)
        rows.append(row)
    return pd.DataFrame(rows, columns=COLUMNS).astype({"K": "Int64", "N": "Int64"})


def choose_window(
    T: float, window: tuple[float, float] | None, default: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the [T0, T1] to fit over for a cell of horizon T (see `slopes`)."""
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


def _but_T(cell: Curves) -> tuple[str, ...]:
    """Return what is equal among the horizons of one algorithm, instance and ε."""
    names = [name for name in SERIES_KEYS if name != "T"]
    return tuple(str(cell.info[name]) for name in [*names, "epsilon"])


def _common(
    cell: Curves,
    window: tuple[float, float] | None,
    default: tuple[float, float] | None,
    draws: int,
    seed: int,
) -> tuple[dict[str, Any], float, float]:
    """Return what every row has, and the window of its fit."""
    info = cell.info
    final_low, final_high = interval(cell.final, bootstrap_generator(info["cell"], seed), draws)
    row: dict[str, Any] = {name: info[name] for name in INFO} | {
        "n": cell.n,
        "regret_T": float(cell.final.mean()),
        "regret_T_low": final_low,
        "regret_T_high": final_high,
        "lower_bound": lower_bound(info),
    }
    return row, *choose_window(info["T"], window, default)


def _unfitted(low: float, high: float, points: int, note: str) -> dict[str, Any]:
    """Return the fit's columns where there is none."""
    names = COLUMNS[COLUMNS.index("slope") : COLUMNS.index("deterministic")]
    row: dict[str, Any] = dict.fromkeys(names, math.nan)
    row |= {"window_low": low, "window_high": high, "points": points}
    return row | {"deterministic": False, "note": note}


def _regressor(rounds: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return ln t and the weights w for which w·y is the least-squares slope of y on it."""
    x = np.log(rounds)
    return x, (x - x.mean()) / ((x - x.mean()) ** 2).sum()


def _along_curve(cell: Curves, low: float, high: float, draws: int, seed: int) -> dict[str, Any]:
    """Return the fit to one cell's curve within [low, high]."""
    # A hair of slack, so that √T computed in floating point does not lose its own checkpoint.
    inside = (cell.checkpoints >= low * (1 - 1e-12)) & (cell.checkpoints <= high * (1 + 1e-12))
    used = cell.checkpoints[inside]
    if len(used) < MIN_POINTS:
        note = f"window [{low:.3g}, {high:.3g}] holds {len(used)} checkpoints, {MIN_POINTS} needed"
        return _unfitted(low, high, len(used), note)
    x, weights = _regressor(used)
    each = (cell.regret[:, inside] - cell.regret[:, inside][:, :1]) @ weights
    slope_low, slope_high = interval(each, bootstrap_generator(cell.info["cell"], seed + 1), draws)
    envelope_low, envelope_high = envelope(cell, used[0], used[-1])
    # Steps come when ln t doubles: a shorter window may hold none, or one and no tread.
    short = cell.info["doubling"] and x[-1] < 1.9 * x[0]
    return {
        "window_low": float(used[0]),
        "window_high": float(used[-1]),
        "points": len(used),
        "slope": float(each.mean()),
        "slope_low": slope_low,
        "slope_high": slope_high,
        "envelope_low": envelope_low,
        "envelope_high": envelope_high,
        "deterministic": slope_low == slope_high,
        "note": "window shorter than [T0, T0²]: the slope depends on where steps fall"
        if short
        else "",
    }


def _across_horizons(
    horizons: list[Curves], low: float, high: float, draws: int, seed: int
) -> dict[str, Any]:
    """Return the fit to the mean regrets at those horizons that lie within [low, high]."""
    used = [c for c in horizons if low * (1 - 1e-12) <= c.info["T"] <= high * (1 + 1e-12)]
    used.sort(key=lambda cell: cell.info["T"])
    if len(used) < MIN_POINTS:
        note = f"it is told T: {len(used)} horizons in the window, {MIN_POINTS} needed"
        return _unfitted(low, high, len(used), note)
    rounds = np.array([cell.info["T"] for cell in used])
    x, weights = _regressor(rounds)
    means = np.array([cell.final.mean() for cell in used])
    drawn = np.stack(
        [
            resampled_means(c.final, draws, bootstrap_generator(c.info["cell"], seed + 1))
            for c in used
        ]
    )
    slope = float(means @ weights)
    same = all(
        np.ptp(cell.final) <= 1e-12 * abs(mean) for cell, mean in zip(used, means, strict=True)
    )
    slope_low, slope_high = np.percentile(weights @ drawn, [2.5, 97.5])
    wider = small_sample(min(cell.n for cell in used))
    slope_low, slope_high = (slope + (end - slope) * wider for end in (slope_low, slope_high))
    if same or min(cell.n for cell in used) < 2:
        slope_low = slope_high = slope if same else math.nan
    return {
        "window_low": float(rounds[0]),
        "window_high": float(rounds[-1]),
        "points": len(used),
        "slope": slope,
        "slope_low": float(slope_low),
        "slope_high": float(slope_high),
        "envelope_low": float((means / x).min()),
        "envelope_high": float((means / x).max()),
        "deterministic": same,
        "note": f"fitted over {len(used)} horizons",
    }
