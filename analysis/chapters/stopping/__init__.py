"""Stopping rules: how many samples they use, how often they miss, who did not halt."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis.chapter import Chapter, Data, Figure, Overview, first_overviews
from analysis.chapters.stopping.figures import (
    draw,
    samples_against_epsilon,
    samples_against_mu,
)
from analysis.chapters.stopping.table import stopping, stopping_of
from analysis.curves import CELL_KEYS, SERIES_KEYS
from analysis.labels import MEANINGS, first_columns
from analysis.measures.stopping import MeasureStopping
from analysis.measuring import Measure
from analysis.selection import selected, selection_note
from analysis.statistics.proportions import clopper_pearson
from analysis.words import (
    bracket,
    estimate,
    first_of,
    lines,
    number,
    range_text,
    replicates,
    short,
)

__all__ = ["ORDER", "chapter", "samples_against_epsilon", "samples_against_mu", "stopping"]

ORDER = 50

WORDS = {
    "samples": "mean number of samples a rule used, 95 % bootstrap interval; T counts where it "
    "did not halt",
    "misses": "share of estimates with |estimate - μ| > α|μ| among the replicates that halted, "
    "95 % Clopper-Pearson interval",
    "β": "the share of misses that the rule promises at most",
    "halted": "share of replicates that halted within T samples",
    "note": "what to know of this row",
}


MEASURE = MeasureStopping()


def measures(data: Data) -> list[Measure]:
    """What is measured of every cell."""
    return [MEASURE]


def chapter(data: Data) -> Chapter | None:
    """The chapter, for a sweep with stopping rules."""
    table = stopping_of(data, MEASURE)
    if table.empty:
        return None
    labelled = data.labelled(table)
    first = data.manifest.set_index(CELL_KEYS)
    generated = first.get("instance_generator", pd.Series(None, first.index, dtype=object))
    given = generated.reindex(pd.MultiIndex.from_frame(table[CELL_KEYS])).to_numpy()
    return Chapter(
        name="stopping",
        title="Stopping rules",
        table=table,
        view=view(selected(labelled)),
        meanings=MEANINGS | WORDS,
        headlines=first_of(headlines(labelled)),
        figures=[Figure(name, chart) for name, chart in draw(labelled, given)],
        overviews=overviews(labelled),
        notes=selection_note(labelled, "stopping"),
    )


def view(table: pd.DataFrame) -> pd.DataFrame:
    """The labelled table as text, one row per cell, in the words of WORDS."""
    rows = [
        first_columns(row)
        | {
            "samples": estimate(row.stop_time, row.stop_time_low, row.stop_time_high),
            "misses": estimate(row.miss, row.miss_low, row.miss_high),
            "β": number(row.beta),
            "halted": number(row.halted),
            "note": row.note,
        }
        for row in table.itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def by_series(table: pd.DataFrame) -> pd.DataFrame:
    """One row per series: samples at both ends of ε, all misses, the least share halted.

    Columns: label, setting, T, n, epsilon_low, epsilon_high, at_low, at_high (samples as text),
    misses (pooled over ε, as text), beta, halted.
    """
    rows = []
    for _, group in table.groupby(SERIES_KEYS, sort=False, dropna=False):
        ordered = list(group.sort_values("epsilon").itertuples(index=False))
        first, last = ordered[0], ordered[-1]
        misses, count = int(group["misses"].sum()), int(group["estimates"].sum())
        share = misses / count if count else math.nan
        rows.append(
            {
                "label": first.label,
                "setting": first.setting,
                "T": first.T,
                "n": int(group["n"].min()),
                "epsilon_low": first.epsilon,
                "epsilon_high": last.epsilon,
                "at_low": _samples(first),
                "at_high": _samples(last),
                "misses": f"{number(share)} {bracket(*clopper_pearson(misses, count))}".strip(),
                "beta": first.beta,
                "halted": group["halted"].min(),
            }
        )
    return pd.DataFrame(rows)


def overviews(table: pd.DataFrame) -> list[Overview]:
    """A table per stream, a row per series."""
    groups = by_series(table).groupby(["setting", "T"], sort=False)
    return first_overviews((_overview(rows) for _, rows in groups), groups.ngroups)


def headlines(table: pd.DataFrame) -> list[str]:
    """The findings as sentences: broken promises, then samples."""
    found = []
    for row in view(table[table["miss_low"] > table["beta"]]).itertuples(index=False):
        found.append(f"{row.algorithm} on {row.instance}: misses {row.misses}, more than β")
    for row in by_series(table).itertuples(index=False):
        line = f"{row.label} on {row.setting}: {row.at_high} samples"
        if row.epsilon_low < row.epsilon_high:
            line += f" at ε = {number(row.epsilon_high)}, {row.at_low} at {number(row.epsilon_low)}"
        line += f"; misses {row.misses}, β = {number(row.beta)}"
        if row.halted < 1:
            line += f"; share halted down to {number(row.halted)}"
        found.append(line)
    return found


def _overview(rows: pd.DataFrame) -> Overview:
    """The table of one stream; an interval stands below its value, three of them are too wide."""
    setting, T = rows["setting"].iloc[0], rows["T"].iloc[0]
    horizon = "" if "T = " in setting else f", T = {number(T)}"
    complete = bool((rows["halted"] == 1).all())
    title = f"{setting}{horizon}, {replicates(rows['n'])}"
    title += f", β = {range_text(rows['beta'].min(), rows['beta'].max())}"
    title += ", all halted" if complete else ""
    several = rows[rows["epsilon_low"] < rows["epsilon_high"]]
    table = pd.DataFrame({"": ["\n".join(lines(label, 22)) for label in rows["label"]]})
    if len(several):
        for end in ("low", "high"):
            epsilon = number(several[f"epsilon_{end}"].iloc[0])
            shown = rows[f"at_{end}"].where(rows["epsilon_low"] < rows["epsilon_high"], "")
            shown = shown if end == "low" else rows["at_high"]
            table[f"samples\nat ε={epsilon}"] = _stacked(shown)
    else:
        table["samples"] = _stacked(rows["at_high"])
    table["misses\n[95 %]"] = _stacked(rows["misses"])
    if not complete:
        table["halted"] = [number(value) for value in rows["halted"]]
    return Overview(title, table)


def _stacked(texts: pd.Series[str]) -> list[str]:
    return [text.replace(" [", "\n[") for text in texts]


def _samples(row: Any) -> str:
    """A cell's mean samples with interval, short enough for a terminal: 8.28e5."""
    ends = [short(value) for value in (row.stop_time_low, row.stop_time_high)]
    mean = short(row.stop_time)
    return mean if ends[0] == "-" else f"{mean} [{ends[0]}, {ends[1]}]"
