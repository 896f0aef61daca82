"""The chart over records: a few layers, a legend whose clicks hide series, tooltips.

All expressions in a figure are texts of this package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from analysis.drawing.axes import Axis, number_expression
from analysis.drawing.items import Item, Record, Series, Stripe, wrapped
from analysis.drawing.styles import CONFIG, Look
from analysis.rendering import HOVER
from analysis.words import lines

SINGLE = (560, 380)
PANEL = (280, 200)


def chart(
    items: Sequence[Item],
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
    # What is drawn last lies on top: the series that stand first.
    records = [record for item in reversed(items) for record in item.records()]
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


def _data(records: Iterable[Record]) -> alt.Data:
    """Records as one JSON text, which Altair passes on as it is."""
    text = json.dumps(list(records), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
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
    at_y = alt.Y("y:Q", scale=y.scale, axis=y.axis, title=y.title)
    along_x = {"x": alt.X("low:Q", scale=x.scale), "x2": alt.X2("high:Q")}
    along_y = {"y": alt.Y("low:Q", scale=y.scale), "y2": alt.Y2("high:Q")}
    colour, dash = alt.Color("series:N"), alt.StrokeDash("series:N")
    filled = {"color": colour, "fill": alt.Fill("series:N")}
    shape = alt.Shape("marker:N", scale=None)

    def part(*names: str) -> alt.Chart:
        condition = " || ".join(f"datum.part == '{name}'" for name in names)
        return alt.Chart().transform_filter(condition)

    window, points = part("window"), part("line", "apart").transform_filter(shown)
    stripe, vertical, envelope, line, knee = (
        part(name).transform_filter(shown)
        for name in ("stripe", "vertical", "envelope", "line", "knee")
    )
    band = line.transform_filter("isValid(datum.low) && datum.bar != true")
    bars = points.transform_filter("datum.bar == true")
    marked = points.transform_filter("isValid(datum.marker)")
    return [
        window.mark_rect(color="black", opacity=0.06).encode(**along_x),
        stripe.mark_rect(color="black", opacity=0.08).encode(**along_x),
        envelope.mark_area(opacity=0.1, strokeWidth=0).encode(x=at_x, **along_y, **filled),
        band.mark_area(opacity=0.25, strokeWidth=0).encode(x=at_x, **along_y, **filled),
        bars.mark_rule(strokeWidth=1.4).encode(x=at_x, color=colour, **along_y),
        vertical.mark_rule(strokeWidth=1.3).encode(x=at_x, color=colour, strokeDash=dash),
        line.mark_line(strokeWidth=1.7).encode(x=at_x, y=at_y, color=colour, strokeDash=dash),
        marked.mark_point(filled=True, opacity=1, size=150).encode(
            x=at_x, y=at_y, color=colour, shape=shape
        ),
        knee.mark_rule(strokeWidth=2.4).encode(y=at_y, color=colour, **along_x),
        _knees(knee, x).encode(x=at_x, y=at_y, color=colour, shape=shape),
        _hover(points, x, y).encode(x=at_x, y=at_y),
    ]


def _knees(knees: alt.Chart, x: Axis) -> alt.Chart:
    """The hollow markers of knees, with their tooltips."""
    texts = knees.transform_calculate(knee=number_expression("datum.x"), interval=_interval())
    marks = texts.mark_point(opacity=1, size=300, fill="white", strokeWidth=2)
    return marks.encode(
        tooltip=[
            alt.Tooltip("name:N", title="knee of"),
            alt.Tooltip("knee:N", title=x.title),
            alt.Tooltip("interval:N", title="95 % interval"),
        ]
    )


def _hover(points: alt.Chart, x: Axis, y: Axis) -> alt.Chart:
    """Marks that are not seen, with the tooltips of all points."""
    texts = points.transform_calculate(
        at=x.text("datum.x"),
        value=number_expression("datum.y"),
        interval=f"isValid(datum.low) ? {_interval()} : 'none'",
        runs="isValid(datum.n) ? datum.n : 'none'",
    )
    marks = texts.mark_point(filled=True, opacity=0, size=90).properties(name=HOVER)
    return marks.encode(
        tooltip=[
            alt.Tooltip("name:N", title="series"),
            alt.Tooltip("at:N", title=x.title),
            alt.Tooltip("value:N", title=y.title),
            alt.Tooltip("interval:N", title="95 % interval"),
            alt.Tooltip("runs:N", title="n"),
        ]
    )


def _interval() -> str:
    """The Vega expression for a record's interval as text."""
    low, high = number_expression("datum.low"), number_expression("datum.high")
    return f"'[' + ({low}) + ', ' + ({high}) + ']'"
