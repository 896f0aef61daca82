"""Figures of slopes: the slope against ε, and regret against t, a panel per algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis import drawing
from analysis.curves import SERIES_KEYS, Key
from analysis.drawing.epsilon import (
    baseline_series,
    epsilon_axis,
    heights,
    private_groups,
    private_series,
    thinned,
)
from analysis.labels import largest_horizon, settings, with_labels
from analysis.measures.mean_curves import MeanCurve
from analysis.selection import selected
from analysis.words import number, range_text, replicates

MAX_PANELS = 6
MAX_BASELINES = 3
CURVES_PER_PANEL = 5


def slope_against_epsilon(slopes: pd.DataFrame) -> Any:
    """The slope and the envelope of R(t)/ln t against ε, with the lower bound.

    Args:
        slopes: what `analysis.slopes` returns; of several settings the first at its largest
            horizon is drawn.

    Returns:
        An Altair chart.
    """
    rows = one_setting(slopes)
    x = epsilon_axis(rows)
    known = rows[rows["slope"].notna()]
    drawn, selection = thinned(known)
    series = private_series(drawn, "slope", x)
    series += baseline_series(drawn, "slope", x)
    series += lower_bound(thinned(rows)[0], 1.0, "lower bound (Theorem 3)")
    y = drawing.axis(
        "slope of mean regret on ln t (units of reward)", heights([*series, *_envelopes(drawn, x)])
    )
    span = range_text(known["window_low"].min(), known["window_high"].max())
    note = (
        f"Means over {replicates(rows['n'])} replicates; dark bands: 95 % bootstrap interval of "
        f"the slope; pale bands: smallest to largest R(t)/ln t; window: t from {span}.{selection}"
    )
    fitted = {group["label"].iloc[0] for group in private_groups(known)}
    without = [str(group["label"].iloc[0]) for group in private_groups(rows)]
    if without := [label for label in without if label not in fitted]:
        note += f" No slope for {', '.join(without)}."
    title = f"Slope of regret on ln t, {rows['setting'].iloc[0]}"
    ratio = rows["ratio"].replace([np.inf, -np.inf], np.nan).dropna()
    if len(ratio):
        title += f": {range_text(ratio.min(), ratio.max())} times the lower bound"
    return drawing.chart([*_envelopes(drawn, x), *series], x, y, title, note)


def curves_in(rows: pd.DataFrame) -> list[Key]:
    """The cells, by `Curves.key`, whose curves `regret_against_t` draws of the rows of a setting.

    Args:
        rows: cells with labels, as the table of slopes or the manifest has them.
    """
    private, plain = _chosen(rows)
    return [(row.cell, row.instance) for row in [*(row for _, row in private), *plain]]


def regret_against_t(slopes: pd.DataFrame, curves: Mapping[Key, MeanCurve]) -> Any:
    """Mean regret against t, a panel per algorithm that uses ε, at up to five ε of the grid.

    Args:
        slopes: what `analysis.slopes` returns; of several settings the first at its largest
            horizon is drawn.
        curves: mean curves by `Curves.key`; a cell of `curves_in` that has none is not drawn.

    Returns:
        An Altair chart.
    """
    rows = one_setting(slopes)
    series = rows.loc[rows["uses_epsilon"].astype(bool)].groupby(SERIES_KEYS, dropna=False).ngroups
    plain = rows[~rows["uses_epsilon"].astype(bool)]
    chosen, baselines = _chosen(rows)
    panels = list(dict.fromkeys(label for label, _ in chosen))
    order = {e: i for i, e in enumerate(sorted({row.epsilon for _, row in chosen}))}
    items: list[drawing.Item] = [
        _curve(
            curves[row.cell, row.instance],
            f"ε = {number(row.epsilon)}",
            order[row.epsilon],
            drawing.look(order[row.epsilon]),
            panel,
        )
        for panel, row in sorted(chosen, key=lambda pair: pair[1].epsilon)
        if (row.cell, row.instance) in curves
    ]
    for i, row in enumerate(baselines):
        style = drawing.baseline_look(i) if panels else drawing.look(i)
        if (row.cell, row.instance) in curves:
            items.append(_curve(curves[row.cell, row.instance], str(row.label), i, style))
    windows = rows.dropna(subset="slope")
    if len(windows):
        ends = float(windows["window_low"].min()), float(windows["window_high"].max())
        items.append(drawing.Stripe(*ends))
    lines = [item for item in items if isinstance(item, drawing.Series)]
    rounds = [value for one in lines for value in np.asarray(one.x, float)]
    finals = rows.loc[rows["regret_T"] > 0, "regret_T"]
    wide = bool(len(finals) and finals.max() > 15 * finals.min())
    x = drawing.axis("round t", rounds)
    y = drawing.axis("mean regret (units of reward)", heights(lines), logarithmic=wide)
    note = f"Means over {replicates(rows['n'])} replicates; bands: 95 % bootstrap interval; "
    note += "shaded: window of the slope fits."
    for count, what in (
        (series - len(panels), "algorithms"),
        (len(plain) - MAX_BASELINES, "baselines"),
    ):
        note += f" {count} further {what} not drawn." if count > 0 else ""
    title = growth_title(rows)
    return drawing.chart(items, x, y, title, note, panels)


def one_setting(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the table's first setting at its largest horizon, with label and setting."""
    return settings(largest_horizon(with_labels(table)))[0]


def lower_bound(rows: pd.DataFrame, factor: float, label: str) -> list[drawing.Series]:
    """The lower bound of one setting against ε, times `factor`; nothing where it is not known."""
    used = rows[rows["uses_epsilon"].astype(bool) & np.isfinite(rows["epsilon"])]
    curve = used.drop_duplicates("epsilon").sort_values("epsilon")
    curve = curve[curve["lower_bound"] > 0]
    if len(curve) < 2:
        return []
    x, y = curve["epsilon"].to_numpy(float), factor * curve["lower_bound"].to_numpy(float)
    return [drawing.Series("lower bound", label, x, y, drawing.LOWER_BOUND)]


def growth_title(rows: pd.DataFrame) -> str:
    """The range of final regrets and who has them, as a sentence."""
    start = f"Regret on {rows['setting'].iloc[0]} at T = {number(rows['T'].iloc[0])}"
    ends = [rows.loc[rows["regret_T"].idxmin()], rows.loc[rows["regret_T"].idxmax()]]
    words = []
    for row in ends:
        at = f", ε = {number(row['epsilon'])}" if row["uses_epsilon"] else ""
        words.append(f"{number(row['regret_T'])} ({row['label']}{at})")
    return f"{start}: {words[0]}" + (f" to {words[1]}" if len(rows) > 1 else "")


def _envelopes(rows: pd.DataFrame, x: drawing.Axis) -> list[drawing.Envelope]:
    """The range of R(t)/ln t of every series that uses ε."""
    found = []
    for group in private_groups(rows):
        known = group[np.isfinite(group["epsilon"]) & (group["envelope_low"] > 0)]
        ends = (known[f"envelope_{end}"].to_numpy(float) for end in ("low", "high"))
        label = str(group["label"].iloc[0])
        found.append(drawing.Envelope(label, known["epsilon"].to_numpy(float), *ends))
    return found


def _chosen(rows: pd.DataFrame) -> tuple[list[tuple[str, Any]], list[Any]]:
    """The cells of a setting that are drawn, as named tuples.

    Returns:
        Those with ε, each with the label of its panel, and those without.
    """
    private = [
        (str(group["label"].iloc[0]), row)
        for group in private_groups(rows)[:MAX_PANELS]
        for row in selected(group, CURVES_PER_PANEL).itertuples(index=False)
    ]
    plain = rows[~rows["uses_epsilon"].astype(bool)].head(MAX_BASELINES)
    return private, list(plain.itertuples(index=False))


def _curve(
    curve: MeanCurve, label: str, index: int, style: drawing.Look, panel: str = ""
) -> drawing.Series:
    """A cell's mean curve with its interval."""
    size = len(curve.t)
    step = max(1, size // 8)
    marked = drawing.every(size, 8, index * step // CURVES_PER_PANEL)
    name = f"{panel}, {label}" if panel else label
    n = np.full(size, curve.n)
    return drawing.Series(
        name, label, curve.t, curve.mean, style, curve.low, curve.high, n, panel, marked=marked
    )
