"""What a figure is made of: series, envelopes, knees and stripes, as records of one table.

A field `part` of a record says which layer draws it. Texts that come from a store (labels,
instances) are data in these records, never part of an expression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.drawing.styles import Look
from analysis.words import lines

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
        common = {"series": wrapped(self.label), "name": self.name}
        common |= {"panel": self.panel} if self.panel else {}
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
            {
                "part": "envelope",
                "series": wrapped(self.label),
                "x": rounded(x),
                "low": rounded(low),
                "high": rounded(high),
            }
            for x, low, high in points
        ]


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
            {
                "part": "knee",
                "name": self.name,
                "series": wrapped(self.label),
                "marker": self.marker,
                "x": rounded(self.x),
                "y": rounded(self.y),
                "low": rounded(min(self.low, self.x)),
                "high": rounded(max(self.high, self.x)),
            }
        ]


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


Item = Series | Envelope | Knee | Stripe


def wrapped(text: str) -> str:
    """A text for the legend or a panel's head, in lines that fit; separated by newlines."""
    return "\n".join(part for line in text.split("\n") for part in lines(line, LEGEND_WIDTH, "  "))


def rounded(value: Any) -> float:
    """A coordinate to six significant digits, which is finer than any screen."""
    return float(f"{float(value):.6g}")


def every(count: int, wanted: int, offset: int = 0) -> NDArray[np.bool_]:
    """Which of `count` points have a marker, about `wanted` of them, from `offset` on."""
    step = max(1, count // wanted)
    return np.arange(count) % step == offset % step
