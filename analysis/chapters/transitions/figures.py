"""The figure of a knee: regret against ε with fitted knees, baselines and the lower bound."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis import drawing
from analysis.chapters.slopes.figures import growth_title, lower_bound, one_setting
from analysis.curves import SERIES_KEYS, series_key
from analysis.drawing.epsilon import baseline_series, epsilon_axis, heights, private_series, thinned
from analysis.labels import same_setting
from analysis.words import bracket, estimate, number, range_text, replicates


def regret_against_epsilon(slopes: pd.DataFrame, transitions: pd.DataFrame) -> Any:
    """Mean regret at T against ε, with every series' knee and that of the lower bound.

    Args:
        slopes: what `analysis.slopes` returns; of several settings the first at its largest
            horizon is drawn.
        transitions: what `analysis.transitions` returns for the same sweep.

    Returns:
        An Altair chart.
    """
    rows = one_setting(slopes)
    fits = {series_key(fit): fit for fit in _fits_of(transitions, rows).itertuples(index=False)}
    series = rows.drop_duplicates(SERIES_KEYS).itertuples(index=False)
    labels = {series_key(row): str(row.label) for row in series}
    legend = {
        key: f"{label}\n{_knee_text(fits[key])}"
        for key, label in labels.items()
        if key in fits and fits[key].resolved == "yes"
    }
    x = epsilon_axis(rows)
    points, selection = thinned(rows)
    series = private_series(points, "regret_T", x, legend)
    drawn = {one.label: one.look for one in series}
    knees = [
        drawing.Knee(
            labels[key],
            text,
            fits[key].epsilon_star,
            fits[key].epsilon_star_low,
            fits[key].epsilon_star_high,
            fits[key].plateau,
            drawn[text].marker,
        )
        for key, text in legend.items()
    ]
    T = int(rows["T"].iloc[0])
    lines = baseline_series(rows, "regret_T", x)
    lines += lower_bound(points, math.log(T), "lower bound · ln T (Theorem 3)")
    heading = f"mean regret at T = {number(T)} (units of reward)"
    y = drawing.axis(heading, [*heights([*series, *lines]), *(knee.y for knee in knees)])
    note = f"Means over {replicates(rows['n'])} replicates; bands: 95 % bootstrap interval."
    note += selection
    if knees:
        note += " Hollow markers: the knee ε* with its 95 % interval, where the fitted asymptotes"
        note += " cross, drawn at the height of the plateau; the curve is still above it there."
    items: list[drawing.Item] = [*_knee_of_bound(list(fits.values())), *series, *lines, *knees]
    title = _title(rows, list(fits.values()), labels)
    return drawing.chart(items, x, y, title, note)


def ratio_text(ratio: float) -> str:
    """The fitted regret at a knee against its plateau, in words."""
    return f"{'still ' if ratio >= 1.1 else ''}{ratio:.2f} times its fitted plateau"


def _fits_of(transitions: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The fits of one setting."""
    return same_setting(transitions, rows.iloc[0])


def _knee_text(fit: Any) -> str:
    """The knee of a fit with its interval."""
    return f"knee {number(fit.epsilon_star)} " + bracket(
        fit.epsilon_star_low, fit.epsilon_star_high
    )


def _knee_of_bound(fits: list[Any]) -> list[drawing.Stripe]:
    """The knee of the lower bound: a line at the pooled value, a stripe over the arms' range."""
    known = [fit for fit in fits if not math.isnan(fit.bound_knee_pooled)]
    if not known:
        return []
    low, high, pooled = (
        getattr(known[0], f"bound_knee_{end}") for end in ("low", "high", "pooled")
    )
    label = f"knee of the lower bound {number(pooled)}"
    if low < high * (1 - 1e-9):
        label += f"\n(arms {range_text(low, high)})"
    return [drawing.Stripe(low, high, label, pooled, drawing.LOWER_BOUND_KNEE)]


def _title(rows: pd.DataFrame, fits: list[Any], labels: dict[tuple[str, ...], str]) -> str:
    """What the figure shows, as a sentence."""
    setting = rows["setting"].iloc[0]
    if not fits:
        return growth_title(rows)
    found = sorted((f for f in fits if f.resolved == "yes"), key=lambda f: f.epsilon_star)
    if not found:
        return f"{setting}: no knee resolved on this grid of ε"
    low, high = found[0], found[-1]
    first, last = labels[series_key(low)], labels[series_key(high)]
    if len(fits) == 1:
        star = estimate(low.epsilon_star, low.epsilon_star_low, low.epsilon_star_high)
        ratio = ratio_text(low.knee_ratio)
        return f"{first} on {setting}: knee at ε = {star}, where regret is {ratio}"
    if len(found) == 1:
        return (
            f"{setting}: knee at ε = {number(low.epsilon_star)} for {first}, not resolved for the"
            f" {len(fits) - 1} others"
        )
    least, most = (end(fit.knee_ratio for fit in found) for end in (min, max))
    text = (
        f"{setting}: knees from ε = {number(low.epsilon_star)} ({first}) to"
        f" {number(high.epsilon_star)} ({last}), where regret is {least:.2f} to {most:.2f} times"
        " its fitted plateau"
    )
    return text + (f"; {len(found)} of {len(fits)} resolved" if len(found) < len(fits) else "")
