"""Figures from series: one table of points, a few layers over it, and a legend that toggles.

Every layer reads the same records; a field `part` says which layer draws a record. All expressions
in a figure are texts of this package: what comes from a store (labels, instances) is data.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from altair.utils.schemapi import debug_mode
from numpy.typing import ArrayLike

from analysis.drawing.axes import Axis, number_expression
from analysis.drawing.styles import CONFIG, Look
from analysis.rendering import HOVER
from analysis.words import lines

SINGLE = (560, 380)
PANEL = (280, 200)
LEGEND_WIDTH = 40
"""Characters in a line of the legend."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """A line with its interval, and its place in the legend.

    Attributes:
        name: what the tooltip calls it. label: its text in the legend, lines split by newlines.
        x, y, low, high: the points and their 95 % intervals, shape (m,); NaN where there is none.
        n: replicates behind each point, shape (m,) or one number; None for what is not measured.
        look: colour, dash, marker.
        panel: the panel it stands in. bars: intervals as bars, not as a band.
        marked: which points have a marker, shape (m,); none by default.
        apart: x of points that no line joins, such as ε = ∞; they have markers and bars.
    """

    name: str
    label: str
    x: ArrayLike
    y: ArrayLike
    look: Look
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    n: ArrayLike | None = None
    panel: str = ""
    bars: bool = False
    marked: ArrayLike | None = None
    apart: float = math.inf

    def records(self) -> list[Record]:
        """One record per point; points without a value are left out."""
        x, y = np.broadcast_arrays(np.asarray(self.x, float), np.asarray(self.y, float))
        low, high, n = (
            np.broadcast_to(np.nan if v is None else np.asarray(v, float), x.shape)
            for v in (self.low, self.high, self.n)
        )
        marked = np.broadcast_to(False if self.marked is None else np.asarray(self.marked), x.shape)
        common = {"series": wrapped(self.label), "name": self.name, "panel": self.panel}
        found = []
        for i in np.flatnonzero(np.isfinite(x) & np.isfinite(y)):
            alone = x[i] >= self.apart or x.size == 1
            record = common | {"part": "apart" if alone else "line", "x": rounded(x[i])}
            record["y"] = rounded(y[i])
            if np.isfinite(low[i]) and np.isfinite(high[i]):
                record |= {"low": rounded(low[i]), "high": rounded(high[i])}
                record |= {"bar": True} if self.bars or alone else {}
            if np.isfinite(n[i]):
                record["n"] = int(n[i])
            if self.look.marker and (alone or marked[i]):
                record["marker"] = self.look.marker
            found.append(record)
        return found


@dataclass(frozen=True)
class Envelope:
    """A pale band from `low` to `high` at `x`, shape (m,), of the series with the same label."""

    label: str
    x: ArrayLike
    low: ArrayLike
    high: ArrayLike

    def records(self) -> list[Record]:
        """One record per point."""
        points = np.transpose([np.asarray(v, float) for v in (self.x, self.low, self.high)])
        return [
            {"part": "envelope", "series": wrapped(self.label), "x": rounded(x),
             "low": rounded(low), "high": rounded(high)}
            for x, low, high in points
        ]  # fmt: skip


@dataclass(frozen=True)
class Knee:
    """A hollow marker at (x, y) with an interval along x, of the series with the same label."""

    name: str
    label: str
    x: float
    low: float
    high: float
    y: float
    marker: str

    def records(self) -> list[Record]:
        """The one record."""
        return [
            {"part": "knee", "name": self.name, "series": wrapped(self.label),
             "marker": self.marker, "x": rounded(self.x), "y": rounded(self.y),
             "low": rounded(min(self.low, self.x)), "high": rounded(max(self.high, self.x))}
        ]  # fmt: skip


@dataclass(frozen=True)
class Stripe:
    """A shade from `low` to `high` along x over all of y, with a line at `x` where that is given.

    A stripe with a label stands in the legend, as its `look`.
    """

    low: float
    high: float
    label: str = ""
    x: float = math.nan
    look: Look | None = None

    def records(self) -> list[Record]:
        """The record of the shade and that of the line."""
        common = {"series": wrapped(self.label)} if self.label else {}
        found: list[Record] = []
        if self.low < self.high * (1 - 1e-9):
            ends = {"low": rounded(self.low), "high": rounded(self.high)}
            found.append(common | {"part": "stripe" if self.label else "window"} | ends)
        if math.isfinite(self.x):
            found.append(common | {"part": "vertical", "x": rounded(self.x)})
        return found


def chart(
    items: Sequence[Series | Envelope | Knee | Stripe],
    x: Axis,
    y: Axis,
    title: str,
    note: str,
    panels: Sequence[str] = (),
) -> alt.LayerChart | alt.FacetChart:
    """The figure of these items: bands under lines under markers, a legend, tooltips.

    A click on a series in the legend hides it or shows it again. With more than one panel, items
    stand in the panel they name, and those that name none in every panel.
    """
    named = (item for item in items if isinstance(item, Series | Stripe))
    looks = {wrapped(item.label): item.look for item in named if item.look}
    records = [record for item in items for record in item.records()]
    several = len(panels) > 1
    columns = min(len(panels), 3 if len(panels) > 4 else 2) if several else 1
    shown = alt.selection_point(
        name="shown",
        fields=["series"],
        bind="legend",
        toggle="true",
        value=[{"series": label} for label in looks],
    )
    width, height = PANEL if several else SINGLE
    # Altair checks every part of a chart as it is put together: the parts here are the same for
    # every figure, and a test has the whole checked.
    with debug_mode(False):
        layers = [_legend(looks).add_params(shown), *_layers(shown, x, y)]
        drawn: Any = alt.layer(*layers, width=width, height=height)
    if several:
        records = list(_in_panels(records, panels))
        header = alt.Header(labelExpr="split(datum.label, '\\n')")
        order = [wrapped(panel) for panel in panels]
        facet = alt.Facet("panel:N", sort=order, header=header, title=None)
        drawn = drawn.facet(facet, columns=columns, spacing=14, data=_data(records))
    else:
        drawn.data = _data(records)
    room = columns * width + 250  # the legend's width, about
    heading = alt.TitleParams(text=lines(title, room // 8), subtitle=lines(note, room // 6))
    drawn.title, drawn.config = heading, alt.Config(**CONFIG)
    return drawn


def wrapped(text: str) -> str:
    """A text for the legend or a panel's head, in lines that fit; separated by newlines."""
    return "\n".join(part for line in text.split("\n") for part in lines(line, LEGEND_WIDTH, "  "))


def rounded(value: Any) -> float:
    """A coordinate to six significant digits, which is finer than any screen."""
    return float(f"{float(value):.6g}")


def every(count: int, wanted: int, offset: int = 0) -> np.ndarray:
    """Which of `count` points have a marker, about `wanted` of them, from `offset` on."""
    step = max(1, count // wanted)
    return np.arange(count) % step == offset % step


def _data(records: Iterable[Record]) -> alt.Data:
    """Records as one JSON text, which Altair passes on as it is."""
    text = json.dumps(list(records), ensure_ascii=False, allow_nan=False)
    return alt.Data(values=text, format=alt.DataFormat(type="json"))


def _in_panels(records: Iterable[Record], panels: Sequence[str]) -> Iterable[Record]:
    """The records with the panels they stand in, one each."""
    for record in records:
        own = record.get("panel")
        for panel in panels:
            if not own or own == panel:
                yield record | {"panel": wrapped(panel)}


def _legend(looks: dict[str, Look]) -> alt.Chart:
    """A layer without marks, for the legend and its clicks.

    It is the first layer, so that the legend of all layers is the one described here.
    """

    def scale(attribute: str) -> alt.Scale:
        return alt.Scale(domain=list(looks), range=[getattr(v, attribute) for v in looks.values()])

    legend = alt.Legend(
        labelExpr="split(datum.label, '\\n')",
        labelLimit=0,
        labelOffset=14,
        rowPadding=6,
        symbolOpacity=1,
        symbolSize=420,
        symbolStrokeWidth=1.6,
        title=None,
    )
    return (
        alt.Chart()
        .transform_filter("datum.part == 'legend'")
        .mark_point(opacity=0)
        .encode(
            color=alt.Color("series:N", scale=scale("colour"), legend=legend),
            fill=alt.Fill("series:N", scale=scale("colour")),
            shape=alt.Shape("series:N", scale=scale("sample")),
            strokeDash=alt.StrokeDash("series:N", scale=scale("dash")),
        )
    )


def _layers(shown: alt.Parameter, x: Axis, y: Axis) -> list[alt.Chart]:
    """The layers that draw records, from the lowest up."""
    at_x = alt.X("x:Q", scale=x.scale, axis=x.axis, title=x.title)
    from_x, to_x = alt.X("low:Q", scale=x.scale), alt.X2("high:Q")
    at_y = alt.Y("y:Q", scale=y.scale, axis=y.axis, title=y.title)
    from_y, to_y = alt.Y("low:Q", scale=y.scale), alt.Y2("high:Q")
    colour, shape = alt.Color("series:N"), alt.Shape("marker:N", scale=None)
    interval = alt.Tooltip("interval:N", title="95 % interval")

    def part(condition: str, filtered: bool = True) -> alt.Chart:
        base = alt.Chart().transform_filter(condition)
        return base.transform_filter(shown) if filtered else base

    lines_ = part("datum.part == 'line'")
    points = part("datum.part == 'line' || datum.part == 'apart'")
    knees = part("datum.part == 'knee'")
    bounded = "'[' + {} + ', ' + {} + ']'"
    y_interval = bounded.format(number_expression("datum.low"), number_expression("datum.high"))
    return [
        part("datum.part == 'window'", filtered=False)
        .mark_rect(color="black", opacity=0.06)
        .encode(x=from_x, x2=to_x),
        part("datum.part == 'stripe'").mark_rect(color="black", opacity=0.08).encode(
            x=from_x, x2=to_x
        ),
        part("datum.part == 'envelope'").mark_area(opacity=0.1, strokeWidth=0).encode(
            x=at_x, y=from_y, y2=to_y, color=colour, fill=alt.Fill("series:N")
        ),
        lines_.transform_filter("isValid(datum.low) && !datum.bar")
        .mark_area(opacity=0.25, strokeWidth=0)
        .encode(x=at_x, y=from_y, y2=to_y, color=colour, fill=alt.Fill("series:N")),
        points.transform_filter("datum.bar").mark_rule(strokeWidth=1.4).encode(
            x=at_x, y=from_y, y2=to_y, color=colour
        ),
        part("datum.part == 'vertical'").mark_rule(strokeWidth=1.3).encode(
            x=at_x, color=colour, strokeDash=alt.StrokeDash("series:N")
        ),
        lines_.mark_line(strokeWidth=1.7).encode(
            x=at_x, y=at_y, color=colour, strokeDash=alt.StrokeDash("series:N")
        ),
        points.transform_filter("isValid(datum.marker)")
        .mark_point(filled=True, opacity=1, size=150)
        .encode(x=at_x, y=at_y, color=colour, shape=shape),
        knees.mark_rule(strokeWidth=2.4).encode(x=from_x, x2=to_x, y=at_y, color=colour),
        knees.transform_calculate(
            knee=number_expression("datum.x"),
            interval=bounded.format(number_expression("datum.low"), number_expression("datum.high")),
        )
        .mark_point(opacity=1, size=300, fill="white", strokeWidth=2)
        .encode(x=at_x, y=at_y, color=colour, shape=shape, tooltip=[
            alt.Tooltip("name:N", title="knee of"), alt.Tooltip("knee:N", title=x.title), interval,
        ]),
        points.transform_calculate(
            at=x.text("datum.x"),
            value=number_expression("datum.y"),
            interval=f"isValid(datum.low) ? {y_interval} : 'none'",
            runs="isValid(datum.n) ? datum.n : 'none'",
        )
        .mark_point(filled=True, opacity=0, size=90)
        .encode(x=at_x, y=at_y, tooltip=[
            alt.Tooltip("name:N", title="series"),
            alt.Tooltip("at:N", title=x.title),
            alt.Tooltip("value:N", title=y.title),
            interval,
            alt.Tooltip("runs:N", title="n"),
        ])
        .properties(name=HOVER),
    ]  # fmt: skip
