"""Regret against the number of arms K, where a sweep has one shape of instance for several K.

An instance is stored as its means, so its shape is read off them: equal gaps, doubling gaps or
equal steps. Cells that agree in all but K (and the algorithm) make a figure, a panel for each ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from analysis import looks
from analysis.curves import Cell
from analysis.figures import MAX_FIGURES_PER_KIND
from analysis.tables import number, range_text, spread

Floats = NDArray[np.float64]

MIN_SIZES = 4
"""Different K that a series needs before it is drawn."""

MAX_PANELS = 4
MAX_TICKS = 9

GUIDES: dict[str, tuple[tuple[str, Callable[[Floats], Floats]], ...]] = {
    "bandit": (("K", lambda K: K),),
    "full_information": (("ln K", np.log), ("K ln K", lambda K: K * np.log(K))),
}
"""How the bounds of a family grow with K: hu2024 Theorems 3 and 9 and section 5."""

SERIES = ["label", "algorithm", "version", "parameters", "uses_epsilon"]


def shapes(means: Sequence[float] | None) -> list[str]:
    """Return the shapes that means have, in words without K; two or three arms may have several."""
    if means is None or len(means) < 2:
        return []
    ordered = np.sort(np.asarray(means, dtype=float))[::-1]
    best, gaps = f"{ordered[0]:.10g}", ordered[0] - ordered[1:]
    gap, last, count = gaps[0], ordered[-1], len(gaps)
    if gap <= 0:
        return []
    steps = np.arange(count)
    words = {
        f"gaps of {gap:.10g} below {best}": np.full(count, gap),
        f"gaps doubling from {gap:.10g} below {best}": gap * 2.0 ** np.minimum(steps, 60),
        f"means in equal steps from {best} to {last:.10g}": gaps[-1] * (steps + 1) / len(steps),
    }
    # stored means are rounded to twelve digits
    return [text for text, ideal in words.items() if np.allclose(gaps, ideal, 1e-9, 3e-12)]


def draw(slopes: pd.DataFrame, cells: dict[str, Cell]) -> Iterator[tuple[str, str, Figure]]:
    """Yield (kind, place, figure) for every shape that some series has at MIN_SIZES or more K.

    Arguments and limits as in `analysis.figures.draw`.
    """
    shaped = [
        row | {"shape": shape}
        for row in slopes.to_dict("records")
        for shape in shapes(cells[row["cell"]].info["means"])
    ]
    if not shaped:
        return
    keys = ["family", "distribution", "shape", "T", "N", "seed"]
    drawn = 0
    for _, rows in pd.DataFrame(shaped).groupby(keys, sort=False, dropna=False):
        wide = rows.groupby([*SERIES, "epsilon"], sort=False, dropna=False)["K"]
        rows = rows[wide.transform("nunique") >= MIN_SIZES]
        if rows.empty:
            continue
        if drawn == MAX_FIGURES_PER_KIND:
            return
        drawn += 1
        yield "regret_vs_K", rows["shape"].iloc[0], regret_against_size(rows)


def regret_against_size(rows: pd.DataFrame) -> Figure:
    """Draw mean regret at T against K, a line per algorithm, a panel per ε (at most MAX_PANELS)."""
    used = rows["uses_epsilon"].astype(bool)
    plain = rows[~used]
    budgets: list[float] = spread(sorted(rows.loc[used, "epsilon"].unique()), MAX_PANELS)
    panels = max(len(budgets), 1)
    columns = min(panels, 2)
    lines = math.ceil(panels / columns)
    width, height = 4.2 * columns + 3.4, 3.3 * lines + 1.7
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(lines, columns, squeeze=False, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.85 / width, right=1 - 2.6 / width, bottom=0.95 / height,
                           top=1 - 0.95 / height, wspace=0.06, hspace=0.2)  # fmt: skip
    styles = {label: looks.style(i) for i, label in enumerate(rows["label"].unique())}
    # guides must not stretch the axes
    positive = rows.loc[rows["regret_T"] > 0, "regret_T"]
    for i, ax in enumerate(axes.flat):
        if i >= panels:
            ax.set_visible(False)
            continue
        shown = plain
        if budgets:
            ax.set_title(f"ε = {number(budgets[i])}", fontsize=10)
            shown = pd.concat([rows[used & (rows["epsilon"] == budgets[i])], plain])
        for label, series in shown.groupby("label", sort=False):
            _line(ax, series.sort_values("K"), styles[label])
        _guides(ax, shown)
        if len(positive):
            ax.set_ylim(positive.min() / 2, positive.max() * 2)
        looks.log_axes(ax, "", "")
        ax.xaxis.set_major_locator(FixedLocator(spread(sorted(rows["K"].unique()), MAX_TICKS)))
        ax.xaxis.set_minor_locator(NullLocator())
    marks = {
        label: handle
        for ax in axes.flat
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    names = sorted(marks, key=lambda label: label.startswith("∝"))
    figure.legend([marks[name] for name in names], [looks.wrap(name, 30) for name in names],
                  loc="upper left", bbox_to_anchor=(1 - 2.5 / width, 1 - 0.85 / height),
                  handlelength=3.2)  # fmt: skip
    figure.text((width - 1.75) / 2 / width, 0.5 / height, "number of arms K", ha="center")
    figure.text(0.12 / width, 0.5, f"mean regret at T = {number(rows['T'].iloc[0])} "
                "(units of reward)", va="center", rotation=90)  # fmt: skip
    note = (
        f"Means over n = {range_text(rows['n'].min(), rows['n'].max())} replicates; bars: 95 % "
        "bootstrap interval; dotted: how the bounds grow with K, from one point."
    )
    figure.text(0.5, 0.12 / height, looks.wrap(note, int(width * 13)), ha="center", fontsize=8.5)
    figure.suptitle(looks.wrap(_title(rows), int(width * 11)), y=1 - 0.12 / height, va="top")
    return figure


def _line(ax: Axes, series: pd.DataFrame, style: dict[str, Any]) -> None:
    """Draw one algorithm's mean regrets with their intervals."""
    known = series[series["regret_T"] > 0]
    mean = known["regret_T"].to_numpy(float)
    low, high = (known[f"regret_T_{end}"].fillna(known["regret_T"]) for end in ("low", "high"))
    # an interval that reaches 0 ends below the axis
    reach = [mean - np.maximum(low.to_numpy(float), 1e-3 * mean), high.to_numpy(float) - mean]
    ax.errorbar(
        known["K"].to_numpy(float), mean, yerr=np.maximum(reach, 0.0), color=style["color"],
        marker=style["marker"], ls=style["ls"], lw=1.6, ms=5, capsize=3, elinewidth=1.2,
        label=series["label"].iloc[0],
    )  # fmt: skip


def _guides(ax: Axes, shown: pd.DataFrame) -> None:
    """Draw the growth of the family's bounds from the private series' mean at the smallest K."""
    private = shown[shown["uses_epsilon"].astype(bool)]
    base = private if len(private) else shown
    base = base[base["regret_T"] > 0]
    if base.empty:
        return
    least = base["K"].min()
    start = float(np.exp(np.log(base.loc[base["K"] == least, "regret_T"].astype(float)).mean()))
    K = np.geomspace(float(least), float(shown["K"].max()), 60)
    for i, (name, growth) in enumerate(GUIDES.get(shown["family"].iloc[0], ())):
        ax.plot(K, start * growth(K) / growth(K)[0], color="black", lw=1.3,
                ls=[":", (0, (1, 3))][i % 2], label=f"∝ {name}", zorder=1)  # fmt: skip


def _title(rows: pd.DataFrame) -> str:
    """Return how many times regret grows from the smallest to the largest K, as a sentence."""
    start = f"Regret against K, {rows['shape'].iloc[0]}"
    used = rows["uses_epsilon"].astype(bool)
    series, at = rows, ""
    if used.any():
        epsilon = rows.loc[used, "epsilon"].min()
        series, at = rows[used & (rows["epsilon"] == epsilon)], f" at ε = {number(epsilon)}"
    grown = {}
    for label, group in series.groupby("label", sort=False):
        ends = group.sort_values("K").iloc[[0, -1]]
        low, high = ends["regret_T"].astype(float)
        if low > 0:
            grown[f"{number(high / low)}-fold ({label})"] = high / low
    if not grown:
        return start
    least, most = min(grown, key=lambda t: grown[t]), max(grown, key=lambda t: grown[t])
    words = least if least == most else f"{least} to {most}"
    sizes = f"K = {number(series['K'].min())} to {number(series['K'].max())}"
    return f"{start}:{at} it grows {words} from {sizes}"


__all__ = ["draw", "regret_against_size", "shapes"]
