"""The figures of stopping rules: samples used against ε and against |μ|, both axes logarithmic."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis import looks
from analysis.curves import SERIES_KEYS
from analysis.tables import PLACE_KEYS, number, range_text, spread

MAX_FIGURES = 12
"""Places with a figure against ε; the tables have all."""

MAX_EPSILONS = 3
"""Values of ε, from the smallest to the largest, with a figure against |μ|."""


def draw(table: pd.DataFrame) -> Iterator[tuple[str, str, Figure]]:
    """Yield (kind, place, figure); `table` is `analysis.stopping` with columns label and place.

    The caller draws and saves within `matplotlib.rc_context(looks.STYLE)`.
    """
    places = table.groupby(PLACE_KEYS, sort=False, dropna=False)
    for drawn, (_, rows) in enumerate(places):
        if drawn == MAX_FIGURES:
            break
        if rows["stop_time"].nunique() == 1:  # nothing halted, mostly
            continue
        used = rows[rows["uses_epsilon"].astype(bool)]
        if np.isfinite(used["epsilon"]).any() and used["epsilon"].nunique() > 1:
            yield "samples_vs_epsilon", rows["place"].iloc[0], against_epsilon(rows)
    streams = table.assign(stream=[_without_mean(text) for text in table["instance_definition"]])
    for _, rows in streams.groupby(["stream", "T", "seed"], sort=False, dropna=False):
        if rows.loc[rows["mu"] != 0, "mu"].abs().nunique() > 1:
            private = sorted(rows.loc[rows["uses_epsilon"].astype(bool), "epsilon"].unique())
            for epsilon in spread(private, MAX_EPSILONS) or [None]:
                same = rows[(rows["epsilon"] == epsilon) | ~rows["uses_epsilon"].astype(bool)]
                if same["stop_time"].nunique() == 1:
                    continue
                word = "" if epsilon is None else f"epsilon-{number(epsilon)}-"
                yield "samples_vs_mu", f"{word}T-{number(rows['T'].iloc[0])}", against_mu(same)


def _without_mean(definition: str) -> str:
    """Return what streams share that differ in their mean only."""
    parsed = json.loads(definition)
    return json.dumps({key: value for key, value in parsed.items() if key != "mu"})


def against_epsilon(rows: pd.DataFrame) -> Figure:
    """Draw the mean samples against ε for the series of one place."""
    figure, ax = looks.single()
    end = looks.infinite_end(ax, rows)
    private = rows[rows["uses_epsilon"].astype(bool)]
    ratios = []
    for i, (_, series) in enumerate(private.groupby(SERIES_KEYS, sort=False, dropna=False)):
        series = series.sort_values("epsilon")
        ratios.append(series["stop_time"].iloc[0] / series["stop_time"].iloc[-1])
        looks.band(ax, series, "stop_time", looks.style(i), end, series["label"].iloc[0])
    looks.baselines(ax, rows, "stop_time")
    looks.log_axes(ax, "privacy budget ε (dimensionless)", "mean samples until the halt")
    low, high = (number(end) for end in (private["epsilon"].min(), private["epsilon"].max()))
    title = f"{rows['place'].iloc[0]}: ε = {low} takes {range_text(min(ratios), max(ratios))} times"
    title += f" the samples of ε = {high}"
    return looks.finish(figure, ax, title, _note(rows))


def against_mu(rows: pd.DataFrame) -> Figure:
    """Draw the mean samples against |μ| at one ε, with the fitted power of each series."""
    figure, ax = looks.single()
    powers = []
    keys = ["algorithm", "parameters", "version"]
    for i, (_, series) in enumerate(rows[rows["mu"] != 0].groupby(keys, sort=False)):
        series = series.assign(size=series["mu"].abs()).sort_values("size")
        label = str(series["label"].iloc[0])
        if series["size"].nunique() > 1:
            power = np.polyfit(np.log(series["size"]), np.log(series["stop_time"]), 1)[0]
            powers.append(float(power))
            label += f": |μ|^{power:.2f}"
        style = looks.style(i)
        ax.plot(series["size"], series["stop_time"], lw=1.6, ms=5, label=label,
                color=style["color"], marker=style["marker"], ls=style["ls"])  # fmt: skip
        ax.vlines(series["size"], series["stop_time_low"], series["stop_time_high"],
                  color=style["color"])  # fmt: skip
    looks.log_axes(ax, "|μ| (units of the samples)", "mean samples until the halt")
    epsilon = rows["epsilon"].dropna()
    at = f" at ε = {number(epsilon.iloc[0])}" if len(epsilon) else ""
    title = f"Samples{at} against |μ|"
    if powers:
        title += f": powers from {min(powers):.2f} to {max(powers):.2f}"
    return looks.finish(figure, ax, title, _note(rows))


def _note(rows: pd.DataFrame) -> str:
    """Return the line below the axes: n, what the marks are, who did not halt."""
    note = f"Means over n = {range_text(rows['n'].min(), rows['n'].max())} replicates"
    note += "; bands and bars: 95 % bootstrap interval."
    cut = int((rows["halted"] < 1).sum())
    return note + (f" In {cut} of {len(rows)} points some did not halt by T." if cut else "")
