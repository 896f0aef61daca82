"""One row per series: what its regret, its slope and its knee are, side by side."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis.chapter import Chapter, Data, Overview, first_overviews
from analysis.chapters.slopes import slope_text
from analysis.chapters.slopes import table_of as slopes_of_sweep
from analysis.chapters.transitions import star
from analysis.chapters.transitions import table_of as transitions_of_sweep
from analysis.curves import SERIES_KEYS, series_key
from analysis.labels import MEANINGS, SETTING_KEYS, first_columns, largest_horizon
from analysis.selection import selected, selection_note
from analysis.words import bracket, lines, number, range_text, replicates

ORDER = 10

KNEE = [
    "epsilon_star", "epsilon_star_low", "epsilon_star_high", "knee_ratio", "bound_knee_low",
    "bound_knee_high", "bound_knee_pooled",
]  # fmt: skip

WORDS = {
    "ε": "smallest and largest privacy budget of the series",
    "R(T)": "mean regret at T at the smallest and at the largest ε, in units of reward",
    "slope": "of regret on ln t at the largest ε, 95 % interval",
    "knee": "ε*, where the fitted asymptotes of regret against ε cross, 95 % interval",
    "R(ε*)/plateau": "fitted regret at the knee over the fitted plateau",
}


def chapter(data: Data) -> Chapter | None:
    """The chapter, for a sweep with regret."""
    table = data.once(table_of)
    if table.empty:
        return None
    return Chapter(
        name="summary",
        title="Summary",
        table=table,
        view=view(selected(table)),
        meanings=MEANINGS | WORDS,
        overviews=overviews(table),
        notes=selection_note(table, "summary"),
    )


def table_of(data: Data) -> pd.DataFrame:
    """One row per series, in numbers.

    Columns: label, setting, those of SETTING_KEYS, n, cells, epsilon_low, epsilon_high, regret_low,
    regret_high (least and most over ε), regret_at_low, regret_at_high (at the ends of ε); slope
    texts, envelopes and lower bounds at the ends of ε; the knee with its interval and ratio, the
    knee of the lower bound, resolved ("" where no knee was fitted).
    """
    fits = data.once(transitions_of_sweep)
    found = {series_key(row): row for row in fits.itertuples(index=False)}
    rows = []
    groups = data.once(slopes_of_sweep).groupby(SERIES_KEYS, sort=False, dropna=False)
    for _, group in groups:
        ends = group.sort_values("epsilon").iloc[[0, -1]]
        ordered = list(ends.itertuples(index=False))
        first, last = ordered[0], ordered[-1]
        row: dict[str, Any] = {"label": first.label, "setting": first.setting}
        row |= {name: getattr(first, name) for name in SETTING_KEYS}
        row |= {"n": int(group["n"].min()), "cells": len(group)}
        row |= {"regret_low": group["regret_T"].min(), "regret_high": group["regret_T"].max()}
        for end, cell in (("low", first), ("high", last)):
            row[f"epsilon_{end}"] = cell.epsilon
            row[f"regret_at_{end}"] = cell.regret_T
            row[f"slope_at_{end}"] = slope_text(cell)
            row[f"envelope_at_{end}"] = bracket(cell.envelope_low, cell.envelope_high)
            row[f"bound_at_{end}"] = cell.lower_bound
        fit = found.get(series_key(first))
        row |= {name: getattr(fit, name) if fit is not None else math.nan for name in KNEE}
        row["resolved"] = fit.resolved if fit is not None else ""
        rows.append(row)
    return pd.DataFrame(rows)


def view(table: pd.DataFrame) -> pd.DataFrame:
    """The table as text, in the words of WORDS."""
    rows = [
        first_columns(row)
        | {
            "ε": range_text(row.epsilon_low, row.epsilon_high),
            "R(T)": range_text(row.regret_at_low, row.regret_at_high),
            "slope": row.slope_at_high,
            "knee": star(row) if row.resolved == "yes" else row.resolved,
            "R(ε*)/plateau": number(row.knee_ratio) if row.resolved == "yes" else "",
        }
        for row in table.itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def overviews(table: pd.DataFrame) -> list[Overview]:
    """A table per instance at its largest horizon, a row per series."""
    largest = largest_horizon(table)
    groups = largest.groupby(["setting", "T"], sort=False)
    made = first_overviews((_overview(rows) for _, rows in groups), groups.ngroups)
    if len(largest) < len(table):
        last = made[-1]
        notes = [*last.notes, "shorter horizons are in the report"]
        made[-1] = Overview(last.title, last.table, notes)
    return made


def _overview(rows: pd.DataFrame) -> Overview:
    """The table of one instance."""
    first = rows.iloc[0]
    several = rows[rows["cells"] > 1]
    horizon = "" if "T = " in first["setting"] else f", T = {number(first['T'])}"
    low, high = ("", "")
    if len(several):
        low, high = (number(several[f"epsilon_{end}"].iloc[0]) for end in ("low", "high"))
    table = pd.DataFrame({"": ["\n".join(lines(label, 22)) for label in rows["label"]]})
    if len(several):
        starts = rows["regret_at_low"].where(rows["cells"] > 1)
        table[f"R(T) at\nε={low}"] = ["" if math.isnan(v) else number(v) for v in starts]
    name = f"R(T) at\nε={high}" if len(several) else "R(T)"
    table[name] = [number(value) for value in rows["regret_at_high"]]
    name = f"slope at ε={high}\n[95 %]" if len(several) else "slope on ln t\n[95 %]"
    knees = bool((rows["resolved"] != "").any())
    texts = zip(rows["slope_at_high"], rows["envelope_at_high"], strict=True)
    table[name] = [
        f"{slope},\nR/ln t {span}" if knees and "deterministic" in slope else slope
        for slope, span in texts
    ]
    if knees:
        table["knee ε*\n[95 %]"] = [_knee(row) for row in rows.itertuples(index=False)]
    else:
        table["R(t)/ln t"] = rows["envelope_at_high"].to_numpy()
    return Overview(
        f"{first['setting']}{horizon}, {replicates(rows['n'])}", table, _bounds(rows, high)
    )


def _bounds(rows: pd.DataFrame, epsilon: str) -> list[str]:
    """What the lower bound says of the instance, where it is known."""
    found = []
    slopes = rows["bound_at_high"].dropna().unique()
    if len(slopes) == 1:
        where = f" at ε={epsilon}" if epsilon else ""
        found.append(f"lower bound on the slope{where}: {number(slopes[0])}")
    knees = rows["bound_knee_pooled"].dropna()
    if len(knees):
        found.append(f"knee of the lower bound: {number(knees.iloc[0])}")
    return found


def _knee(row: Any) -> str:
    """The knee with its interval and what regret is there, or why there is none."""
    if row.resolved == "yes":
        return f"{star(row)}\n{row.knee_ratio:.2f} × plateau"
    return "\n".join(lines(str(row.resolved), 20))
