"""How fast regret grows: its slope on ln t in every cell, regret against t."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.chapter import Chapter, Data, Figure
from analysis.chapters.slopes.figures import curves_in, regret_against_t, slope_against_epsilon
from analysis.chapters.slopes.table import measure_of, slopes, slopes_of
from analysis.curves import CELL_KEYS, SERIES_KEYS, Key
from analysis.drawing.epsilon import has_epsilon_axis
from analysis.labels import MEANINGS, first_columns, largest_horizon, settings
from analysis.measures.mean_curves import MeanCurve, MeanCurves, mean_curve
from analysis.measuring import Measure
from analysis.selection import selected, selection_note
from analysis.statistics import hinge
from analysis.words import bracket, estimate, first_of, further, number, range_text

__all__ = ["ORDER", "chapter", "regret_against_t", "slope_against_epsilon", "slopes"]

ORDER = 30

MAX_FIGURES = 12
"""Settings with a figure; the table has all."""

REGRETS = {
    "gaps": "pseudo-regret",
    "hindsight": "regret against the best fixed action in hindsight",
    "αβ·opt": "regret against α·β·opt",
}
"""What regret is, by what a family says of it."""

WORDS = {
    "slope": "least-squares slope of the mean regret on ln t over the window, 95 % bootstrap "
    "interval over replicates; “deterministic” where all replicates agree",
    "R(t)/ln t": "envelope: smallest and largest mean regret / ln t in the window; the honest "
    "range where regret moves in steps",
    "window": "first and last checkpoint of the fit, in rounds",
    "lower bound": "proven lower bound on the slope (Azize and Basu 2022, Theorem 3, equation 4), "
    "Bernoulli rewards only",
    "ratio": "slope / lower bound",
    "note": "what to know of this row",
}


def measures(data: Data) -> list[Measure]:
    """What is measured of every cell, and the curves of those that the figures show."""
    return [data.once(measure_of), data.once(_curves)]


def chapter(data: Data) -> Chapter | None:
    """The chapter, for a sweep with regret."""
    table = data.once(table_of)
    if table.empty:
        return None
    left_out = len(settings(largest_horizon(table))) - MAX_FIGURES
    return Chapter(
        name="slopes",
        title="Slopes",
        table=table.drop(columns=["label", "setting"]),
        view=view(selected(table)),
        meanings=MEANINGS | WORDS | {"R(T)": regret_meaning(data, table["family"].unique())},
        headlines=first_of(headlines(table)),
        figures=list(_figures(table, data)),
        notes=[*further(left_out), *selection_note(table, "slopes")],
    )


def table_of(data: Data) -> pd.DataFrame:
    """The table of `analysis.slopes` with the columns `label` and `setting`."""
    return data.labelled(slopes_of(data, data.once(measure_of)))


def view(table: pd.DataFrame) -> pd.DataFrame:
    """The labelled table as text, one row per cell, in the words of WORDS."""
    rows = [
        first_columns(row)
        | {
            "R(T)": estimate(row.regret_T, row.regret_T_low, row.regret_T_high),
            "slope": slope_text(row),
            "R(t)/ln t": bracket(row.envelope_low, row.envelope_high),
            "window": range_text(row.window_low, row.window_high),
            "lower bound": number(row.lower_bound),
            "ratio": number(row.ratio),
            "note": row.note,
        }
        for row in table.itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def regret_meaning(data: Data, families: Iterable[str]) -> str:
    """What R(T) is in these families, as far as the sweep's metadata says."""
    kinds = (data.families.get(name, {}).get("regret") for name in families)
    words = dict.fromkeys(REGRETS.get(str(kind), "regret") for kind in kinds)
    text = " or ".join(words) if "regret" not in words else "regret"
    return f"mean cumulative {text} at T in units of reward, 95 % bootstrap interval"


def slope_text(row: Any) -> str:
    """A cell's slope with its interval, or that all replicates agree."""
    if row.deterministic:
        return f"{number(row.slope)} deterministic"
    return estimate(row.slope, row.slope_low, row.slope_high)


def headlines(table: pd.DataFrame) -> list[str]:
    """The slope of every series at its largest ε, where no series has ε enough for a knee."""
    table = largest_horizon(table)
    series = table.groupby(SERIES_KEYS, sort=False, dropna=False)
    if (np.isfinite(table["epsilon"]).groupby(series.ngroup()).sum() >= hinge.MIN_POINTS).any():
        return []
    groups = [group for _, group in series]
    found = []
    for group in groups:
        row = next(group.sort_values("epsilon").tail(1).itertuples(index=False))
        at = "" if number(row.epsilon) == "-" else f" at ε = {number(row.epsilon)}"
        text = slope_text(row)
        if row.deterministic:
            text += f", R/ln t in {bracket(row.envelope_low, row.envelope_high)}"
        line = f"{row.label} on {row.setting}{at}: slope of regret on ln t {text}"
        if number(row.lower_bound) != "-":
            line += f"; lower bound {number(row.lower_bound)}"
        found.append(line)
    return found


def _figures(table: pd.DataFrame, data: Data) -> Iterator[Figure]:
    """The figures of the first MAX_FIGURES settings."""
    shown = settings(largest_horizon(table))[:MAX_FIGURES]
    curves = _mean_curves({key for rows in shown for key in curves_in(rows)}, data)
    for rows in shown:
        setting = rows["setting"].iloc[0]
        if has_epsilon_axis(rows) and rows["slope"].notna().any():
            yield Figure(f"slope_vs_epsilon-{setting}", slope_against_epsilon(rows))
        yield Figure(f"regret_vs_t-{setting}", regret_against_t(rows, curves))


def _curves(data: Data) -> MeanCurves:
    """The curves that figures show, if every cell has regret."""
    table = data.labelled(data.manifest)
    shown = settings(largest_horizon(table))[:MAX_FIGURES]
    return MeanCurves(frozenset(key for rows in shown for key in curves_in(rows)))


def _mean_curves(keys: set[Key], data: Data) -> dict[Key, MeanCurve]:
    """The mean curves of some cells; those that were not measured are read."""
    cells = data.manifest[CELL_KEYS].itertuples(index=False, name=None)
    pairs = zip(cells, data.measured(data.once(_curves)), strict=True)
    known = {(cell, label): curve for (cell, label), curve in pairs if curve is not None}
    lacking = data.curves(keys - set(known))
    return known | {key: mean_curve(cell) for key, cell in lacking.items()}
