"""The figures of stopping rules: samples used against ε and against |μ|."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis import drawing
from analysis.curves import parameters_of
from analysis.drawing.epsilon import (
    baseline_series,
    epsilon_axis,
    has_epsilon_axis,
    heights,
    private_groups,
    private_series,
    thinned,
)
from analysis.labels import differences, settings, shape_of, with_labels
from analysis.words import number, range_text, replicates, spread

MAX_FIGURES = 12
"""Settings with a figure against ε; the tables have all."""

MAX_EPSILONS = 3
"""Values of ε, from the smallest to the largest, with a figure against |μ|."""


def draw(table: pd.DataFrame, generators: Sequence[str | None]) -> Iterator[tuple[str, Any]]:
    """The figures of a sweep, with names.

    Args:
        table: what `analysis.stopping` returns, with the columns label and setting.
        generators: what generated the instance of each row (JSON texts; None: not known).
    """
    moving = (rows for rows in settings(table) if rows["stop_time"].nunique() > 1)
    for drawn, rows in enumerate(moving):
        if drawn == MAX_FIGURES:
            break
        if has_epsilon_axis(rows):
            setting = rows["setting"].iloc[0]
            yield f"samples_vs_epsilon-{setting}", samples_against_epsilon(rows)
    pairs = zip(generators, table["instance_definition"], strict=True)
    texts = [text if isinstance(text, str) else other for text, other in pairs]
    streams = table.assign(
        alike=[_without_mean(text) for text in texts],
        stream=[shape_of(parameters_of(text), "mu") for text in texts],
    )
    groups = [
        rows
        for _, rows in streams.groupby(["alike", "T", "seed"], sort=False, dropna=False)
        if rows.loc[rows["mu"] != 0, "mu"].abs().nunique() > 1
    ]
    for rows, end in zip(groups, differences(groups, ["stream", "seed"]), strict=True):
        used = rows["uses_epsilon"].astype(bool)
        for epsilon in spread(sorted(rows.loc[used, "epsilon"].unique()), MAX_EPSILONS) or [None]:
            same = rows[(rows["epsilon"] == epsilon) | ~used]
            if same["stop_time"].nunique() > 1:
                word = "" if epsilon is None else f"epsilon-{number(epsilon)}-"
                name = f"samples_vs_mu-{word}T-{number(rows['T'].iloc[0])}{end}"
                yield name, samples_against_mu(same)


def samples_against_epsilon(stopping: pd.DataFrame) -> Any:
    """Mean samples against ε.

    Args:
        stopping: what `analysis.stopping` returns; of several settings the first is drawn.

    Returns:
        An Altair chart.
    """
    rows = settings(with_labels(stopping))[0]
    x = epsilon_axis(rows)
    drawn, selection = thinned(rows)
    series = private_series(drawn, "stop_time", x) + baseline_series(drawn, "stop_time", x)
    y = drawing.axis("mean samples until the halt", heights(series))
    groups = private_groups(rows)
    ratios = [group["stop_time"].iloc[0] / group["stop_time"].iloc[-1] for group in groups]
    epsilon = rows.loc[rows["uses_epsilon"].astype(bool), "epsilon"]
    low, high = number(epsilon.min()), number(epsilon.max())
    title = (
        f"{rows['setting'].iloc[0]}: ε = {low} takes {range_text(min(ratios), max(ratios))} times"
    )
    title += f" the samples of ε = {high}"
    return drawing.chart(series, x, y, title, _note(rows) + selection)


def samples_against_mu(stopping: pd.DataFrame) -> Any:
    """Mean samples against |μ| at one ε, with the fitted power of each series.

    Args:
        stopping: rows of what `analysis.stopping` returns: one ε, one T, streams that differ in
            their mean only.

    Returns:
        An Altair chart.
    """
    rows = with_labels(stopping)
    items: list[drawing.Series] = []
    powers = []
    keys = ["algorithm", "parameters", "version"]
    for i, (_, series) in enumerate(rows[rows["mu"] != 0].groupby(keys, sort=False)):
        series = series.assign(size=series["mu"].abs()).sort_values("size")
        name = label = str(series["label"].iloc[0])
        if series["size"].nunique() > 1:
            power = np.polyfit(np.log(series["size"]), np.log(series["stop_time"]), 1)[0]
            powers.append(float(power))
            label += f": power {power:.2f}"
        names = ("stop_time_low", "stop_time_high", "n")
        low, high, n = (series[name].to_numpy(float) for name in names)
        marked = np.full(len(series), True)
        items.append(
            drawing.Series(
                name,
                label,
                series["size"].to_numpy(float),
                series["stop_time"].to_numpy(float),
                drawing.look(i),
                low,
                high,
                n,
                bars=True,
                marked=marked,
            )
        )
    sizes = rows["mu"].abs()
    x = drawing.axis(
        "|μ| (units of the samples)", sizes, ticks=spread(sorted(set(sizes[sizes > 0])), 9)
    )
    y = drawing.axis("mean samples until the halt", heights(items))
    epsilon = rows["epsilon"].dropna()
    title = f"Samples{f' at ε = {number(epsilon.iloc[0])}' if len(epsilon) else ''} against |μ|"
    if powers:
        title += f": powers from {min(powers):.2f} to {max(powers):.2f}"
    return drawing.chart(items, x, y, title, _note(rows))


def _without_mean(text: str) -> str:
    """What streams share that differ in their mean only, from their generator or definition."""
    parsed = parameters_of(text)
    if not parsed:
        return text
    return json.dumps({key: value for key, value in parsed.items() if key != "mu"})


def _note(rows: pd.DataFrame) -> str:
    """The line on n, on what the marks are, and on who did not halt."""
    note = f"Means over {replicates(rows['n'])} replicates"
    note += "; bands and bars: 95 % bootstrap interval."
    cut = int((rows["halted"] < 1).sum())
    return note + (f" In {cut} of {len(rows)} points some did not halt by T." if cut else "")
