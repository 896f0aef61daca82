"""The figures of a report: regret and slope against ε, regret against t.

Each title states the finding, and a line below the axes says n and what the bands are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from analysis import looks
from analysis.curves import SERIES_KEYS, Cell, series_key
from analysis.tables import (
    PLACE_KEYS,
    bracket,
    estimate,
    largest_horizon,
    number,
    range_text,
    spread,
)

MAX_PANELS = 6
MAX_BASELINES = 3
MAX_FIGURES_PER_KIND = 12
"""A sweep over many instances and horizons would otherwise fill the report with figures."""


def draw(
    slopes: pd.DataFrame, transitions: pd.DataFrame, cells: dict[str, Cell]
) -> Iterator[tuple[str, str, Figure]]:
    """Yield (kind, place, figure) for every figure the data allow.

    `slopes` and `transitions` carry the columns `label` and `place`
    (`analysis.tables.with_labels`); `cells` maps a cell's key to its curves. Of several horizons
    the largest is drawn. At most
    MAX_FIGURES_PER_KIND places are drawn, in the order of the grid. The caller draws and saves
    within `matplotlib.rc_context(looks.STYLE)`.
    """
    places = largest_horizon(slopes).groupby(PLACE_KEYS, sort=False, dropna=False)
    for drawn, (_, rows) in enumerate(places):
        if drawn == MAX_FIGURES_PER_KIND:
            return
        place = rows["place"].iloc[0]
        fits = _same_place(transitions, rows.iloc[0])
        if _has_epsilon_axis(rows):
            yield "regret_vs_epsilon", place, regret_against_epsilon(rows, fits)
            if rows["slope"].notna().any():
                yield "slope_vs_epsilon", place, slope_against_epsilon(rows)
        yield "regret_vs_t", place, regret_against_t(rows, cells)


def regret_against_epsilon(rows: pd.DataFrame, fits: pd.DataFrame) -> Figure:
    """Draw mean regret at T against ε for the series of one place, with ε* and its prediction."""
    figure, ax = looks.single()
    T = int(rows["T"].iloc[0])
    end = looks.infinite_end(ax, rows)
    for style, series in _series(rows):
        fit = _fit_of(fits, series)
        label = series["label"].iloc[0]
        if fit is not None and fit.resolved == "yes":
            label += f"\n  ε* {number(fit.epsilon_star)} " + bracket(
                fit.epsilon_star_low, fit.epsilon_star_high
            )
        looks.band(ax, series, "regret_T", style, end, label)
        if fit is not None and fit.resolved == "yes":
            reach = [[fit.epsilon_star - fit.epsilon_star_low],
                     [fit.epsilon_star_high - fit.epsilon_star]]  # fmt: skip
            ax.errorbar(
                fit.epsilon_star, fit.plateau, xerr=np.maximum(reach, 0), fmt=style["marker"],
                color=style["color"], mfc="white", mew=1.8, ms=9, capsize=5, lw=2, zorder=5,
            )  # fmt: skip
    looks.baselines(ax, rows, "regret_T")
    looks.lower_bound(ax, rows, math.log(T), "lower bound · ln T (Theorem 3)")
    looks.predictions(ax, fits)
    looks.log_axes(ax, "privacy budget ε (dimensionless)",
          f"mean regret at T = {number(T)} (units of reward)")  # fmt: skip
    note = f"{_count(rows)}; bands: 95 % bootstrap interval."
    if (fits["resolved"] == "yes").any():
        note += " Hollow markers: ε* and its 95 % interval, at the height of the fitted plateau."
    return looks.finish(figure, ax, _transition_title(rows, fits), note)


def slope_against_epsilon(rows: pd.DataFrame) -> Figure:
    """Draw the fitted slope and the envelope of R(t)/ln t against ε, with the lower bound."""
    figure, ax = looks.single()
    end = looks.infinite_end(ax, rows)
    without = []
    for style, series in _series(rows):
        if series["slope"].isna().all():
            without.append(str(series["label"].iloc[0]))
            continue
        looks.band(ax, series, "slope", style, end, series["label"].iloc[0])
        known = series[np.isfinite(series["epsilon"]) & (series["envelope_low"] > 0)]
        ax.fill_between(known["epsilon"], known["envelope_low"], known["envelope_high"],
                        color=style["color"], alpha=0.10, lw=0)  # fmt: skip
    looks.baselines(ax, rows, "slope")
    looks.lower_bound(ax, rows, 1.0, "lower bound (Theorem 3)")
    looks.log_axes(ax, "privacy budget ε (dimensionless)",
          "slope of mean regret on ln t (units of reward)")  # fmt: skip
    windows = rows.dropna(subset="slope")
    span = range_text(windows["window_low"].min(), windows["window_high"].max())
    ratio = rows["ratio"].replace([np.inf, -np.inf], np.nan).dropna()
    title = f"Slope of regret on ln t, {rows['place'].iloc[0]}"
    if len(ratio):
        title += f": {range_text(ratio.min(), ratio.max())} times the lower bound"
    note = (
        f"{_count(rows)}; dark bands: 95 % bootstrap interval of the slope; pale bands: "
        f"smallest to largest R(t)/ln t; window: t from {span}."
    )
    if without:
        note += f" No slope for {', '.join(without)}."
    return looks.finish(figure, ax, title, note)


def regret_against_t(rows: pd.DataFrame, cells: dict[str, Cell]) -> Figure:
    """Draw mean regret against t, one panel per algorithm, at up to five ε of the grid."""
    private = [series for _, series in _series(rows)]
    plain = rows[~rows["uses_epsilon"].astype(bool)]
    shown = private[:MAX_PANELS]
    panels = max(len(shown), 1)
    columns = 1 if panels == 1 else (2 if panels <= 4 else 3)
    lines = math.ceil(panels / columns)
    width, height = (9.0, 5.4) if panels == 1 else (4.4 * columns + 0.9, 3.2 * lines + 1.7)
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.85 / width, right=1 - 0.2 / width, bottom=1.15 / height,
                           top=1 - 0.8 / height, wspace=0.06, hspace=0.2)  # fmt: skip
    logarithmic = _wide(rows)
    baselines = list(plain.itertuples(index=False))[:MAX_BASELINES]
    for i, ax in enumerate(axes.flat):
        if i >= panels:
            ax.set_visible(False)
            continue
        if shown:
            ax.set_title(looks.wrap(shown[i]["label"].iloc[0], 45), fontsize=10)
            chosen = spread(list(shown[i].itertuples(index=False)), looks.CURVES_PER_PANEL)
            for j, row in enumerate(chosen):
                looks.curve(ax, cells[row.cell], f"ε = {number(row.epsilon)}", j)
            ax.legend(loc="upper left", handlelength=3.2)
        for j, row in enumerate(baselines):
            looks.curve(ax, cells[row.cell], row.label, j, plain=bool(shown))
        looks.shade_window(ax, rows)
        looks.log_axes(ax, "", "", y="log" if logarithmic else "linear")
    # The baselines are the same in every panel; their names are too long to stand among curves.
    handles, labels = axes.flat[0].get_legend_handles_labels()
    if count := len(baselines):
        figure.legend(handles[-count:], labels[-count:], loc="lower center", ncols=count,
                      handlelength=3.2, bbox_to_anchor=(0.5, 0.36 / height))  # fmt: skip
    figure.text(0.5, 0.72 / height, "round t", ha="center")
    figure.text(0.12 / width, 0.5, "mean regret (units of reward)", va="center", rotation=90)
    left_out = len(private) - len(shown)
    note = f"{_count(rows)}; bands: 95 % bootstrap interval; shaded: window of the slope fits."
    note += f" {left_out} further algorithms not drawn." if left_out else ""
    hidden = len(plain) - MAX_BASELINES
    note += f" {hidden} further baselines not drawn." if hidden > 0 else ""
    figure.text(0.5, 0.12 / height, looks.wrap(note, int(width * 13)), ha="center", fontsize=8.5)
    figure.suptitle(looks.wrap(_growth_title(rows), int(width * 11)), y=1 - 0.12 / height, va="top")
    return figure


def _has_epsilon_axis(rows: pd.DataFrame) -> bool:
    used = rows[rows["uses_epsilon"].astype(bool)]
    return bool(np.isfinite(used["epsilon"]).any() and used["epsilon"].nunique() > 1)


def _series(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield (style, cells in order of ε) for every series that uses ε."""
    used = rows[rows["uses_epsilon"].astype(bool)]
    groups = used.groupby(SERIES_KEYS, sort=False, dropna=False)
    for i, (_, series) in enumerate(groups):
        yield looks.style(i), series.sort_values("epsilon")


def _wide(rows: pd.DataFrame) -> bool:
    """Tell whether final regrets differ too much for a linear axis."""
    values = rows.loc[rows["regret_T"] > 0, "regret_T"]
    return bool(len(values) > 0 and values.max() > 15 * values.min())


def _count(rows: pd.DataFrame) -> str:
    low, high = rows["n"].min(), rows["n"].max()
    return f"Means over n = {low if low == high else f'{low} to {high}'} replicates"


def _same_place(fits: pd.DataFrame, row: pd.Series[Any]) -> pd.DataFrame:
    """Return the fits whose place is that of `row`."""
    keep = np.ones(len(fits), dtype=bool)
    for name in PLACE_KEYS:
        keep &= np.array([str(value) == str(row[name]) for value in fits[name]], dtype=bool)
    return fits[keep]


def _fit_of(fits: pd.DataFrame, series: pd.DataFrame) -> Any:
    """Return the fit of one series as a named tuple, or None."""
    key = series_key(next(series.itertuples(index=False)))
    return next((fit for fit in fits.itertuples(index=False) if series_key(fit) == key), None)


def _growth_title(rows: pd.DataFrame) -> str:
    """Return the range of final regrets and who has them, as a sentence."""
    start = f"Regret on {rows['place'].iloc[0]} at T = {number(rows['T'].iloc[0])}"
    ends = [rows.loc[rows["regret_T"].idxmin()], rows.loc[rows["regret_T"].idxmax()]]
    words = []
    for row in ends:
        at = f", ε = {number(row['epsilon'])}" if row["uses_epsilon"] else ""
        words.append(f"{number(row['regret_T'])} ({row['label']}{at})")
    return f"{start}: {words[0]}" + (f" to {words[1]}" if len(rows) > 1 else "")


def _transition_title(rows: pd.DataFrame, fits: pd.DataFrame) -> str:
    """Return what the figure shows, as a sentence."""
    place = rows["place"].iloc[0]
    found = fits[fits["resolved"] == "yes"]
    if fits.empty:
        return _growth_title(rows)
    if found.empty:
        return f"{place}: no transition resolved on this grid of ε"
    if len(fits) == 1:
        row = found.iloc[0]
        star = estimate(row["epsilon_star"], row["epsilon_star_low"], row["epsilon_star_high"])
        return f"{row['label']} on {place}: privacy stops costing at ε ≈ {star}"
    low, high = found.loc[[found["epsilon_star"].idxmin(), found["epsilon_star"].idxmax()]].to_dict(
        "records"
    )
    if len(found) == 1:
        return (
            f"{place}: privacy stops costing at ε ≈ {number(low['epsilon_star'])} for "
            f"{low['label']}, not resolved for the {len(fits) - 1} others"
        )
    title = (
        f"{place}: privacy stops costing between ε ≈ {number(low['epsilon_star'])} "
        f"({low['label']}) and {number(high['epsilon_star'])} ({high['label']})"
    )
    return title + (f", {len(found)} of {len(fits)} resolved" if len(found) < len(fits) else "")


__all__ = ["draw", "regret_against_epsilon", "regret_against_t", "slope_against_epsilon"]
