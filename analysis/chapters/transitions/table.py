"""The table of knees: one row per series that differs in ε only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.chapter import Data
from analysis.curves import SERIES_KEYS
from analysis.loaded import Loaded
from analysis.measures.knees import MeasurePoint, Series, knee_of, prepared
from analysis.statistics import hinge
from analysis.statistics.bootstrap import DRAWS

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
    octave; otherwise the points are fitted as they are and `note` says so. Of a grid with 32
    points per octave or more, or 2,000 points, neighbours are averaged first (their ln ε and
    ln R), so that 16 to 32 an octave are left; `note` says so.

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
    return transitions_of(Data(Loaded(df)), MeasurePoint(draws, seed))


def transitions_of(data: Data, measure: MeasurePoint) -> pd.DataFrame:
    """The table of `transitions` of a sweep."""
    found = [one for one in series_of(data, measure) if len(one.points) >= hinge.MIN_POINTS]
    keys = [{name: one.info[name] for name in SERIES_KEYS} for one in found]
    ready = [prepared(one) for one in found]
    del found
    data.forget(measure)
    fits = data.map(knee_of, ready, "fitting knees")
    rows: list[dict[str, Any]] = [key | row for key, row in zip(keys, fits, strict=True)]
    table = pd.DataFrame(rows, columns=COLUMNS)
    return table.astype({"K": "Int64", "N": "Int64"})


def series_of(data: Data, measure: MeasurePoint) -> list[Series]:
    """The series of algorithms that use ε, of those points that have regret and a finite ε."""
    manifest = data.manifest
    measured = data.measured(measure)
    known = np.array([one is not None for one in measured], bool)
    finite = manifest.assign(place=np.arange(len(manifest)))[known]
    found = []
    for _, rows in finite.groupby(SERIES_KEYS, sort=False, dropna=False):
        rows = rows.sort_values("epsilon", kind="stable")
        info = rows.iloc[0].drop("place").to_dict()
        info |= {name: None if info[name] is pd.NA else info[name] for name in ("K", "N")}
        points = [measured[place] for place in rows["place"]]
        epsilon = rows["epsilon"].to_numpy(float)
        found.append(
            Series(info, rows["cell"].tolist(), epsilon, points, measure.draws, measure.seed)
        )
    return found
