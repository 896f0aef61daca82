"""The findings of a report on a terminal: one table per instance, at its largest horizon."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.report import Report
from analysis.stopping import overview
from analysis.tables import bracket, largest_horizon, number, range_text

MAX_PLACES = 12
"""Tables shown; the report has all."""


def show(report: Report, console: Console) -> None:
    """Print a report's findings, then the path of its page."""
    places: list[tuple[Callable[[pd.DataFrame, Console], None], pd.DataFrame]] = []
    hidden = False
    for name, shown, view in (
        ("summary", _show_place, largest_horizon),
        ("stopping", _show_rules, overview),
    ):
        if name in report.tables:
            table = view(report.tables[name])
            hidden |= name == "summary" and len(table) < len(report.tables[name])
            places += [(shown, frame) for _, frame in table.groupby(["place", "T"], sort=False)]
    for show_place, frame in places[:MAX_PLACES]:
        show_place(frame, console)
    if len(places) > MAX_PLACES:
        console.print(f"… and {len(places) - MAX_PLACES} more instances in the report")
    if hidden:
        console.print("shorter horizons are in the report")
    if report.headlines and report.headlines[0].startswith("Not complete"):
        console.print(report.headlines[0])
    # soft_wrap keeps the path on one line, so that it can be copied or piped.
    console.print(Text(str(report.html)), soft_wrap=True)
    if report.url:
        console.print(Text(f"{report.url}/report.html"), soft_wrap=True)


def _show_place(frame: pd.DataFrame, console: Console) -> None:
    """Print the table of one instance and horizon, a row per series."""
    first = frame.iloc[0]
    spread = frame[frame["cells"] > 1]
    horizon = "" if "T = " in first["place"] else f", T = {number(first['T'])}"
    title = f"{first['place']}{horizon}, n = {range_text(frame['n'].min(), frame['n'].max())}"
    predicted = frame["predicted_pooled"].dropna()
    if len(predicted):
        title += f", predicted ε* {number(predicted.iloc[0])}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    bounds = frame["bound_at_high"].dropna().unique()
    if len(bounds) == 1:
        where = f" at ε={number(spread['epsilon_high'].iloc[0])}" if len(spread) else ""
        console.print(f"lower bound on the slope{where}: {number(bounds[0])}", highlight=False)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    has_transition = bool((frame["resolved"] != "").any())
    if len(spread):
        low, high = (number(spread[f"epsilon_{end}"].iloc[0]) for end in ("low", "high"))
        table.add_column(f"R(T) at\nε={low}", justify="right", no_wrap=True)
        table.add_column(f"R(T) at\nε={high}", justify="right", no_wrap=True)
        table.add_column(f"slope at ε={high}\n[95 %]", min_width=18, overflow="fold")
        table.add_column(
            "ε* [95 %]" if has_transition else "R(t)/ln t", min_width=17, overflow="fold"
        )
    else:
        table.add_column("R(T)", justify="right", no_wrap=True)
        table.add_column("slope on ln t [95 %]", overflow="fold")
        table.add_column("R(t)/ln t", overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*map(Text, _cells(row, bool(len(spread)), has_transition)))
    console.print(table)
    console.print()


def _show_rules(frame: pd.DataFrame, console: Console) -> None:
    """Print the table of one stream's stopping rules, a row per series."""
    horizon = "" if "T = " in frame["place"].iloc[0] else f", T = {number(frame['T'].iloc[0])}"
    title = f"{frame['place'].iloc[0]}{horizon}"
    title += f", n = {range_text(frame['n'].min(), frame['n'].max())}"
    title += f", β = {range_text(frame['beta'].min(), frame['beta'].max())}"
    complete = bool((frame["halted"] == 1).all())
    title += ", all halted" if complete else ""
    console.print(Text(title, style="bold"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    ends: list[str] = []
    spread = frame[frame["epsilon_low"] < frame["epsilon_high"]]
    if len(spread):
        ends = [number(spread[f"epsilon_{end}"].iloc[0]) for end in ("low", "high")]
    for title in [f"samples\nat ε={end}" for end in ends] or ["samples"]:
        table.add_column(title, justify="right", overflow="fold")
    table.add_column("misses\n[95 %]", justify="right", overflow="fold")
    if not complete:
        table.add_column("halted", justify="right", overflow="fold")
    for row in frame.itertuples(index=False):
        samples = [row.at_low if row.epsilon_low < row.epsilon_high else "", row.at_high]
        texts = [*samples[-max(len(ends), 1) :], row.misses]
        # An interval below its value: three of them side by side are too wide for a terminal.
        texts = [text.replace(" [", "\n[") for text in texts]
        texts += [] if complete else [number(row.halted)]
        table.add_row(*map(Text, ["\n".join(textwrap.wrap(row.label, 22)), *texts]))
    console.print(table)
    console.print()


def _cells(row: Any, several: bool, has_transition: bool) -> list[str]:
    """Return the texts of one series' row."""
    label = "\n".join(textwrap.wrap(row.label, 22))
    slope, envelope = row.slope_at_high, row.envelope_at_high
    if "deterministic" in slope:
        slope = slope.split(", R/ln t")[0]
        slope += f",\nR/ln t {envelope}" if has_transition else ""
    regret = number(row.regret_at_high)
    if not several:
        return [label, regret, slope, envelope]
    first = number(row.regret_at_low) if row.cells > 1 else ""
    return [label, first, regret, slope, _transition(row) if has_transition else envelope]


def _transition(row: Any) -> str:
    """Return ε* with its interval, or why there is none."""
    if row.resolved == "yes":
        span = bracket(row.epsilon_star_low, row.epsilon_star_high)
        return f"{number(row.epsilon_star)} {span}"
    return str(row.resolved)
