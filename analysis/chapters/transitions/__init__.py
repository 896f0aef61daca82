"""The knee of regret against ε, fitted per series, beside the knee of the lower bound."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.chapter import Chapter, Data, Figure
from analysis.chapters.slopes import table_of as slopes_of_sweep
from analysis.chapters.transitions.figures import ratio_text, regret_against_epsilon
from analysis.chapters.transitions.table import transitions, transitions_of
from analysis.drawing.epsilon import has_epsilon_axis
from analysis.labels import MEANINGS, first_columns, largest_horizon, settings
from analysis.measures.knees import MeasurePoint
from analysis.measuring import Measure
from analysis.selection import selected, selection_note
from analysis.words import estimate, first_of, further, number, range_text

__all__ = ["ORDER", "chapter", "regret_against_epsilon", "transitions"]

ORDER = 20

MAX_FIGURES = 12
"""Settings with a figure; the tables have all."""

WORDS = {
    "ε*": "knee of regret against ε: where the fitted asymptotes cross; 95 % interval over "
    "replicates and the phase of the staircase. Regret at the knee is still above its plateau",
    "R(ε*)/plateau": "fitted regret at the knee over the fitted plateau",
    "knee of the lower bound": "d_inf/(6·t_inf) of Theorem 3 of Azize and Basu (2022), smallest to "
    "largest over the arms, and pooled: where the bound's two sums are equal. It is another "
    "quantity than an algorithm's knee; Bernoulli rewards only",
    "p": "power of 1/ε on the slope part",
    "plateau": "fitted asymptote of regret at T for large ε",
    "s": "sharpness of the knee, 0.5 (soft) to 16 (a corner)",
    "points": "points fitted, after averaging over a sliding octave of ε",
    "saturated": "points left out because regret exceeds half of T·max Δ",
    "minimax threshold": "(27/131)·√((K-1)/T), from Theorem 2, equation 3",
    "resolved": "whether the grid covers both the plateau and the slope part",
    "note": "what to know of this row",
}

NOTE = (
    "The knee is where the fitted asymptotes of regret against ε cross. Regret at the knee is"
    " still above its plateau by the ratio given: privacy has a price on both sides of it."
)


MEASURE = MeasurePoint()


def measures(data: Data) -> list[Measure]:
    """What is measured of every cell."""
    return [MEASURE]


def chapter(data: Data) -> Chapter | None:
    """The chapter, for a sweep whose regret was measured at several ε."""
    slopes, fits = data.once(slopes_of_sweep), data.once(table_of)
    drawn = [rows for rows in settings(largest_horizon(slopes)) if has_epsilon_axis(rows)]
    if not drawn:
        return None
    return Chapter(
        name="transitions",
        title="Knees of regret against ε",
        table=fits.drop(columns=["label", "setting"]),
        view=view(selected(fits)),
        meanings=MEANINGS | WORDS,
        headlines=first_of(headlines(fits)),
        figures=[
            Figure(
                f"regret_vs_epsilon-{rows['setting'].iloc[0]}", regret_against_epsilon(rows, fits)
            )
            for rows in drawn[:MAX_FIGURES]
        ],
        notes=[
            *([NOTE] if len(fits) else []),
            *further(len(drawn) - MAX_FIGURES),
            *selection_note(fits, "transitions"),
        ],
    )


def table_of(data: Data) -> pd.DataFrame:
    """The table of `analysis.transitions` with the columns `label` and `setting`."""
    return data.labelled(transitions_of(data, MEASURE))


def view(table: pd.DataFrame) -> pd.DataFrame:
    """The labelled table as text, one row per series, in the words of WORDS."""
    rows = [
        first_columns(row)
        | {
            "ε*": star(row),
            "R(ε*)/plateau": number(row.knee_ratio),
            "knee of the lower bound": _knee_of_bound(row),
            "p": estimate(row.p, row.p_low, row.p_high),
            "plateau": estimate(row.plateau, row.plateau_low, row.plateau_high),
            "s": number(row.s, 2),
            "points": str(row.points),
            "saturated": str(row.saturated),
            "minimax threshold": number(row.minimax_threshold),
            "resolved": row.resolved,
            "note": row.note,
        }
        for row in table.itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def star(row: Any) -> str:
    """A fit's knee with its interval."""
    return estimate(row.epsilon_star, row.epsilon_star_low, row.epsilon_star_high)


def headlines(table: pd.DataFrame) -> list[str]:
    """A sentence per series at the largest horizon of each setting."""
    found = []
    for row in largest_horizon(table).itertuples(index=False):
        where = f"{row.label} on {row.setting}"
        if row.resolved != "yes":
            found.append(f"{where}: knee {row.resolved}")
            continue
        line = f"{where}: knee at ε = {star(row)}, where regret is {ratio_text(row.knee_ratio)}"
        if number(row.bound_knee_pooled) != "-":
            line += f"; knee of the lower bound {number(row.bound_knee_pooled)}"
        found.append(line)
    return found


def _knee_of_bound(row: Any) -> str:
    """The knee of the lower bound: the arms' range, and the pooled value where they differ."""
    span = range_text(row.bound_knee_low, row.bound_knee_high)
    return f"{span} (pooled {number(row.bound_knee_pooled)})" if " to " in span else span
