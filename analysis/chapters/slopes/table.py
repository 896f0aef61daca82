"""The table of slopes: how fast regret grows with ln t, one row per cell.

An algorithm that is told T has no curve in T within one run: its slope is fitted to the mean
regrets at the horizons of the sweep, each from runs of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.chapter import Data
from analysis.curves import CELL_KEYS, SERIES_KEYS
from analysis.loaded import Loaded
from analysis.measures.slopes import (
    MIN_POINTS,
    Measured,
    MeasureSlope,
    Slope,
    Window,
    choose_window,
    regressor,
)
from analysis.statistics.bootstrap import DRAWS, small_sample

INFO = ["cell", *SERIES_KEYS, "epsilon", "uses_epsilon", "anytime", "doubling", "distribution"]

COLUMNS = [
    *INFO, "n", "regret_T", "regret_T_low", "regret_T_high", "window_low", "window_high",
    "points", "slope", "slope_low", "slope_high", "envelope_low", "envelope_high",
    "deterministic", "lower_bound", "ratio", "note",
]  # fmt: skip

BUT_T = [name for name in SERIES_KEYS if name != "T"]


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
    data = Data(Loaded(df))
    return slopes_of(data, measure_of(data, window, draws, seed))


def measure_of(
    data: Data, window: Window | None = None, draws: int = DRAWS, seed: int = 0
) -> MeasureSlope:
    """What is measured of every cell of a sweep for its table of slopes."""
    default = data.sweep.get("window")
    default = None if default is None else (float(default[0]), float(default[1]))
    rounds, keys = data.manifest["T"].to_numpy(), data.manifest[CELL_KEYS].to_numpy()
    needed = frozenset(
        (str(keys[i][0]), str(keys[i][1]))
        for horizons in _horizons(data.manifest)
        if len(horizons) >= MIN_POINTS
        for T in rounds[horizons]
        if len(used := _within(horizons, rounds, *choose_window(T, window, default))) >= MIN_POINTS
        for i in used
    )
    return MeasureSlope(window, default, draws, seed, needed)


def slopes_of(data: Data, measure: MeasureSlope) -> pd.DataFrame:
    """The table of `slopes` of a sweep."""
    measured: list[Measured | None] = data.measured(measure)
    data.forget(measure)
    places = [place for place, one in enumerate(measured) if one is not None]
    found = [one for one in measured if one is not None]
    table = data.manifest[INFO].take(places).reset_index(drop=True)
    fits = [one.fit for one in found]
    rounds = table["T"].to_numpy()
    for horizons in _horizons(table):
        for place in horizons:
            low, high = choose_window(rounds[place], measure.window, measure.default)
            used = _within(horizons, rounds, low, high)
            fits[place] = _across_horizons(rounds[used], [found[i] for i in used], low, high)
    for name in ("n", "regret_T", "regret_T_low", "regret_T_high", "lower_bound"):
        table[name] = [getattr(one, name) for one in found]
    fitted = pd.DataFrame(fits, columns=Slope._fields)
    for name in Slope._fields:
        table[name] = fitted[name].to_numpy()
    bound = table["lower_bound"].to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = table["slope"].to_numpy(float) / bound
    table["ratio"] = np.where(bound > 0, ratio, math.nan)
    late = measure.window is None and measure.default is not None
    table["note"] = [
        _note(note, n, late and measure.default is not None and measure.default[0] >= T)
        for note, n, T in zip(table["note"], table["n"], table["T"], strict=True)
    ]
    return table[COLUMNS].astype({"K": "Int64", "N": "Int64"})


def _note(note: str, n: int, late: bool) -> str:
    """What to know of a row; `late`: the sweep's window begins after its T."""
    notes = [note, "one replicate: no interval" if n < 2 else ""]
    notes.append("the sweep's window begins after T: [√T, T] used" if late else "")
    return "; ".join(note for note in notes if note)


def _horizons(table: pd.DataFrame) -> list[np.ndarray]:
    """The places of cells that are told T, by ascending T.

    Those of each algorithm, instance and ε that differ in T only stand together.
    """
    told = np.flatnonzero(~table["anytime"].to_numpy(bool))
    if not len(told):
        return []
    rows = table.iloc[told]
    group = rows.groupby([*BUT_T, "epsilon"], sort=False, dropna=False).ngroup().to_numpy()
    order = np.lexsort((rows["T"].to_numpy(), group))
    return np.split(told[order], np.flatnonzero(np.diff(group[order])) + 1)


def _within(horizons: np.ndarray, rounds: np.ndarray, low: float, high: float) -> np.ndarray:
    """The places whose horizons lie in a window."""
    T = rounds[horizons]
    return horizons[(low * (1 - 1e-12) <= T) & (high * (1 + 1e-12) >= T)]


def _across_horizons(
    rounds: np.ndarray, used: Sequence[Measured], low: float, high: float
) -> Slope:
    """Return the fit to the mean regrets at the horizons within [low, high]."""
    if len(used) < MIN_POINTS:
        note = f"it is told T: {len(used)} horizons in the window, {MIN_POINTS} needed"
        return Slope(low, high, len(used), note=note)
    x, weights = regressor(rounds)
    means = np.array([cell.regret_T for cell in used])
    drawn = np.stack([cell.means for cell in used if cell.means is not None])
    slope = float(means @ weights)
    same = all(cell.spread <= 1e-12 * abs(mean) for cell, mean in zip(used, means, strict=True))
    slope_low, slope_high = np.percentile(weights @ drawn, [2.5, 97.5])
    fewest = min(cell.n for cell in used)
    wider = small_sample(fewest)
    slope_low, slope_high = (slope + (end - slope) * wider for end in (slope_low, slope_high))
    if same or fewest < 2:
        slope_low = slope_high = slope if same else math.nan
    return Slope(
        float(rounds[0]),
        float(rounds[-1]),
        len(used),
        slope,
        float(slope_low),
        float(slope_high),
        float((means / x).min()),
        float((means / x).max()),
        same,
        f"fitted over {len(used)} horizons",
    )
