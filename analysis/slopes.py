"""How fast regret grows with ln t: one fitted slope, with its interval, per cell.

The slope is the least-squares coefficient of the mean curve on ln t over a window of
checkpoints. It is linear in the curve, so the bootstrap over replicates resamples n numbers.
The points of one curve are not independent, which is why the interval comes from replicates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis import bounds
from analysis.curves import DRAWS, SERIES_KEYS, Cell, cells, generator, interval

INFO = ["cell", *SERIES_KEYS, "epsilon", "uses_epsilon", "doubling", "distribution"]

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

    `window` is [T0, T1] in rounds; without it, the sweep's own window where it begins before
    the cell's T, else [√T, T]. A window is cut at T. `draws` and `seed` are the bootstrap's.

    Columns beside the cell's own: n (replicates); regret_T with its interval; window_low,
    window_high (first and last checkpoint used), points (checkpoints used); slope with its
    95 % interval; envelope_low, envelope_high (min and max of mean regret / ln t over the
    window); deterministic (all replicates have the same slope: the interval's width is 0 and
    the envelope is the honest range); lower_bound (azize2022 Theorem 3, NaN where the rewards
    are not Bernoulli or the family is not `bandit`); ratio = slope / lower_bound; note.
    """
    default = (df.attrs.get("sweep") or {}).get("window")
    rows = [_row(cell, window, default, draws, seed) for cell in cells(df)]
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


def envelope(cell: Cell, low: float, high: float) -> tuple[float, float]:
    """Return min and max of mean regret / ln t over the checkpoints t >= 2 in [low, high]."""
    inside = (cell.checkpoints >= max(low, 2)) & (cell.checkpoints <= high)
    if not inside.any():
        return math.nan, math.nan
    scaled = cell.mean[inside] / np.log(cell.checkpoints[inside])
    return float(scaled.min()), float(scaled.max())


def _row(
    cell: Cell,
    window: tuple[float, float] | None,
    default: tuple[float, float] | None,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    """Return the row of one cell."""
    info = cell.info
    rng = generator(info["cell"], seed)
    low, high = choose_window(info["T"], window, default)
    # A hair of slack, so that √T computed in floating point does not lose its own checkpoint.
    inside = (cell.checkpoints >= low * (1 - 1e-12)) & (cell.checkpoints <= high * (1 + 1e-12))
    used = cell.checkpoints[inside]
    final_low, final_high = interval(cell.final, rng, draws)
    row: dict[str, Any] = {name: info[name] for name in INFO} | {
        "n": cell.n,
        "regret_T": float(cell.final.mean()),
        "regret_T_low": final_low,
        "regret_T_high": final_high,
        "points": len(used),
        "deterministic": False,
        "lower_bound": lower_bound(info),
    }
    notes = []
    if len(used) < 3:
        notes.append(f"window [{low:.3g}, {high:.3g}] holds {len(used)} checkpoints, 3 needed")
        estimates = COLUMNS[COLUMNS.index("slope") : COLUMNS.index("deterministic")]
        row |= dict.fromkeys(estimates, math.nan)
        row |= {"window_low": low, "window_high": high}
    else:
        x = np.log(used)
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        each = (cell.regret[:, inside] - cell.regret[:, inside][:, :1]) @ weights
        slope_low, slope_high = interval(each, rng, draws)
        envelope_low, envelope_high = envelope(cell, used[0], used[-1])
        row |= {
            "window_low": float(used[0]),
            "window_high": float(used[-1]),
            "slope": float(each.mean()),
            "slope_low": slope_low,
            "slope_high": slope_high,
            "envelope_low": envelope_low,
            "envelope_high": envelope_high,
            "deterministic": slope_low == slope_high,
        }
        # Steps come when ln t doubles: a shorter window may hold none, or one and no tread.
        if info["doubling"] and x[-1] < 1.9 * x[0]:
            notes.append("window shorter than [T0, T0²]: the slope depends on where steps fall")
    if cell.n < 2:
        notes.append("one replicate: no interval")
    bound = row["lower_bound"]
    row["ratio"] = row["slope"] / bound if bound > 0 else math.nan
    row["note"] = "; ".join(notes)
    return row
