"""How figures look: styles, axes, legends, and the marks they are made of.

Series differ by colour, marker and line style together, so a figure reads without colour.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.curves import Cell, generator, interval
from analysis.tables import estimate, number, range_text

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
LINES: list[Any] = ["-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 1)), (0, (1, 1))]

BASELINE_LINES: list[Any] = ["-", (0, (12, 2)), (0, (7, 2, 1, 2))]

STYLE: Any = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "svg.hashsalt": "analysis",
}

CURVES_PER_PANEL = 5


def single() -> tuple[Figure, Axes]:
    """Return a figure with one axes and room for a legend beside it."""
    figure = Figure(figsize=(10.4, 5.6))
    return figure, figure.add_axes((0.08, 0.17, 0.60, 0.72))


def finish(figure: Figure, ax: Axes, title: str, note: str) -> Figure:
    """Add title, legend beside the axes and the line that says n and what the bands are."""
    handles, labels = ax.get_legend_handles_labels()
    wrapped = ["\n".join(wrap(line, 42) for line in label.split("\n")) for label in labels]
    lines = sum(label.count("\n") + 1 for label in wrapped)
    # A legend longer than the axes gets smaller print rather than running off the figure.
    size = min(8.5, 8.5 * 27 / max(lines, 1))
    ax.legend(handles, wrapped, loc="upper left", bbox_to_anchor=(1.01, 1.02), handlelength=3.5,
              fontsize=size)  # fmt: skip
    figure.suptitle(wrap(title, 105), y=0.975, va="top", fontsize=11.5)
    figure.text(0.5, 0.02, wrap(note, 140), ha="center", fontsize=8.5)
    return figure


def log_axes(ax: Axes, x_label: str, y_label: str, y: str = "log") -> None:
    """Set scales and labels; ticks are plain text, which draws far faster than mathematics.

    Where nothing drawn is positive (an instance without gaps, say), an axis is linear.
    """
    x = "log" if _any_positive(line.get_xdata() for line in ax.lines) else "linear"
    if not _any_positive(line.get_ydata() for line in ax.lines):
        y = "linear"
    ax.set(xscale=x, yscale=y, xlabel=x_label, ylabel=y_label)
    plain = FuncFormatter(lambda value, _: number(value))
    for axis in [axis for axis, scale in ((ax.xaxis, x), (ax.yaxis, y)) if scale == "log"]:
        axis.set_major_locator(LogLocator(numticks=9))
        axis.set_major_formatter(plain)
        axis.set_minor_locator(LogLocator(subs=(2.0, 5.0), numticks=9))
        low, high = sorted(axis.get_view_interval())
        axis.set_minor_formatter(plain if high < 150 * low else NullFormatter())


def _any_positive(data: Iterable[Any]) -> bool:
    """Tell whether anything finite and positive is among the data of lines."""
    arrays = (np.asarray(values, float) for values in data)
    return any((values[np.isfinite(values)] > 0).any() for values in arrays)


def wrap(text: str, width: int) -> str:
    """Return text in lines of at most `width` characters, its first indent kept."""
    return textwrap.fill(text, width, subsequent_indent="  ", drop_whitespace=True)


def style(index: int) -> dict[str, Any]:
    """Return colour, marker and line style of the series number `index`."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
        "ls": LINES[index % len(LINES)],
        "index": index,
    }


def band(
    ax: Axes, series: pd.DataFrame, name: str, style: dict[str, Any], end: float, label: str
) -> None:
    """Draw a series with its interval; ε = ∞ is a point at `end`."""
    looks = {key: style[key] for key in ("color", "marker", "ls")}
    known = series[series[name] > 0]
    finite = known[np.isfinite(known["epsilon"])]
    every = max(1, len(finite) // 10)
    ax.plot(finite["epsilon"], finite[name], lw=1.6, ms=5, label=label, **looks,
            markevery=(style["index"] % every, every))  # fmt: skip
    if len(finite) == 1:
        ax.vlines(
            finite["epsilon"], finite[f"{name}_low"], finite[f"{name}_high"], color=style["color"]
        )
    low = finite[f"{name}_low"].where(finite[f"{name}_low"] > 0, finite[name])
    ax.fill_between(finite["epsilon"], low, finite[f"{name}_high"], color=style["color"],
                    alpha=0.30, lw=0)  # fmt: skip
    for row in known[np.isinf(known["epsilon"])].to_dict("records"):
        ax.plot([end], [row[name]], color=style["color"], marker=style["marker"], ms=6)
        ax.vlines(end, row[f"{name}_low"], row[f"{name}_high"], color=style["color"])


def infinite_end(ax: Axes, rows: pd.DataFrame) -> float:
    """Return where ε = ∞ is drawn: beyond the largest finite ε, named on the axis."""
    epsilon = rows["epsilon"].to_numpy(float)
    end = 2.5 * float(epsilon[np.isfinite(epsilon)].max())
    if np.isinf(epsilon).any():
        ax.annotate("∞", (end, 0), xycoords=("data", "axes fraction"), xytext=(0, -4),
                    textcoords="offset points", ha="center", va="top")  # fmt: skip
    return end


def baselines(ax: Axes, rows: pd.DataFrame, name: str) -> None:
    """Draw algorithms without ε as horizontal lines with interval and n."""
    plain = rows[~rows["uses_epsilon"].astype(bool) & (rows[name] > 0)]
    for i, row in enumerate(plain.to_dict("records")):
        grey = str(0.15 + 0.15 * (i % 4))
        ax.axhline(row[name], color=grey, lw=1.1, ls=BASELINE_LINES[i % len(BASELINE_LINES)],
                   label=f"{row['label']} (no privacy, n = {row['n']})\n  "
                   + estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]))  # fmt: skip
        if row[f"{name}_low"] < row[f"{name}_high"]:
            ax.axhspan(row[f"{name}_low"], row[f"{name}_high"], color=grey, alpha=0.15, lw=0)


def lower_bound(ax: Axes, rows: pd.DataFrame, factor: float, label: str) -> None:
    """Draw the lower bound of one place against ε, where it is known."""
    used = rows[rows["uses_epsilon"].astype(bool) & np.isfinite(rows["epsilon"])]
    curve = used.drop_duplicates("epsilon").sort_values("epsilon")
    curve = curve[curve["lower_bound"] > 0]
    if len(curve) > 1:
        ax.plot(curve["epsilon"], factor * curve["lower_bound"], color="black", lw=1.8, ls=":",
                label=label)  # fmt: skip


def predictions(ax: Axes, fits: pd.DataFrame) -> None:
    """Mark the predicted ε*: a line at the pooled value, a stripe over the range of the arms."""
    known = fits.dropna(subset="predicted_pooled")
    if known.empty:
        return
    row = known.iloc[0]
    label = f"predicted ε* {number(row['predicted_pooled'])}"
    if row["predicted_low"] < row["predicted_high"] * (1 - 1e-9):
        ax.axvspan(row["predicted_low"], row["predicted_high"], color="black", alpha=0.08, lw=0)
        label += f"\n  (arms {range_text(row['predicted_low'], row['predicted_high'])})"
    ax.axvline(row["predicted_pooled"], color="black", lw=1.2, ls=(0, (8, 3)), label=label)


def curve(ax: Axes, cell: Cell, label: str, index: int, plain: bool = False) -> None:
    """Draw a cell's mean curve with its interval; `plain` is the look of a baseline."""
    keep = cell.checkpoints >= 2
    t, curves = cell.checkpoints[keep], cell.regret[:, keep]
    colour = "black" if plain else COLOURS[index % len(COLOURS)]
    every = max(1, len(t) // 8)
    ax.plot(
        t, curves.mean(axis=0), color=colour, lw=1.0 if plain else 1.5, ms=4, label=label,
        marker=None if plain else MARKERS[index % len(MARKERS)],
        ls=BASELINE_LINES[index] if plain else LINES[index % len(LINES)],
        markevery=(index * every // CURVES_PER_PANEL, every),
    )  # fmt: skip
    low, high = interval(curves, generator(cell.info["cell"], 0))
    if np.isfinite(low).all():
        ax.fill_between(t, low, high, color=colour, alpha=0.25, lw=0)


def shade_window(ax: Axes, rows: pd.DataFrame) -> None:
    """Shade the rounds over which the slopes of `rows` were fitted."""
    windows = rows.dropna(subset="slope")
    if len(windows):
        ax.axvspan(windows["window_low"].min(), windows["window_high"].max(), color="black",
                   alpha=0.06, lw=0)  # fmt: skip
