"""Axes with readable numbers: 0.001, 1,000, 1e7, and ∞ beyond the end."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import numpy as np

MAX_TICKS = 9


@dataclass(frozen=True)
class Axis:
    """A title, a scale and its ends; ticks are chosen by Vega where none are given.

    infinity: the place beyond the axis's values at which ∞ stands, None for none.
    """

    title: str
    low: float
    high: float
    logarithmic: bool = False
    ticks: tuple[float, ...] | None = None
    infinity: float | None = None

    @property
    def scale(self) -> alt.Scale:
        """The scale with both ends fixed, so that hiding a series moves nothing."""
        kind: Literal["log", "linear"] = "log" if self.logarithmic else "linear"
        return alt.Scale(
            type=kind, domain=[self.low, self.high], nice=False, zero=False, clamp=True
        )

    @property
    def axis(self) -> alt.Axis:
        """Ticks and how they read."""
        given: Any = alt.Undefined if self.ticks is None else list(self.ticks)
        text = self.text("datum.value")
        return alt.Axis(labelExpr=text, labelOverlap="greedy", values=given)

    def text(self, value: str) -> str:
        """The Vega expression for a place on this axis as text."""
        plain = number_expression(value)
        if self.infinity is None:
            return plain
        return f"{value} > {self.infinity * 0.99!r} ? '∞' : {plain}"


def axis(
    title: str,
    values: Iterable[float],
    *,
    logarithmic: bool = True,
    ticks: Iterable[float] | None = None,
    infinite: bool = False,
    margin: float = 0.03,
) -> Axis:
    """The axis that holds all finite values; linear where none is positive.

    Args:
        title: with units.
        values: what is drawn; on a logarithmic axis those that are not positive don't count.
        logarithmic: whether a logarithmic scale is wanted.
        ticks: where ticks stand, by default at powers of ten, on a short axis also between.
        infinite: whether a place for ∞ is wanted beyond the largest value.
        margin: share of the axis left free at both ends.
    """
    known = np.array([v for v in values if math.isfinite(v)], float)
    if not logarithmic or not (known > 0).any():
        low, high = (min(float(known.min()), 0.0), float(known.max())) if known.size else (0.0, 1.0)
        high = high if high > low else low + 1.0
        return Axis(title, low, high + margin * (high - low), ticks=_given(ticks))
    known = known[known > 0]
    low, high = float(known.min()), float(known.max())
    infinity = 2.5 * high if infinite else None
    marks = _given(ticks) or log_ticks(low, high)
    if infinity is not None:
        marks = (*(mark for mark in marks if mark < infinity / 1.5), infinity)
    high = infinity or high
    room = max((high / low) ** margin, 1.03)
    return Axis(title, low / room, high * room, True, marks, infinity)


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Powers of ten from `low` to `high`, at most MAX_TICKS, and multiples of these if few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if high < 150 * low else (1, 3) if high < 3000 * low else (1,)
    step = max(1, math.ceil((last - first + 1) / MAX_TICKS))
    found = [f * 10.0**e for e in range(first, last + 1) for f in factors if e % step == 0]
    slack = 10 ** (0.02 * math.log10(high / low)) if high > low else 1.0
    return tuple(tick for tick in found if low / slack <= tick <= high * slack) or (low,)


def number_expression(value: str) -> str:
    """The Vega expression that reads like `analysis.words.number`; `value` is one as well."""
    power = f"round(log({value}) / LN10)"
    is_power = f"{value} > 0 && abs(log({value}) / LN10 - {power}) < 1e-9"
    tiny = f"replace(format({value}, '.2~e'), 'e+', 'e')"
    return (
        f"{is_power} && ({value} >= 1e4 || {value} < 1e-4) ? '1e' + {power} : "
        f"abs({value}) >= 1e6 || ({value} != 0 && abs({value}) < 1e-4) ? {tiny} : "
        f"abs({value}) >= 1000 ? format({value}, ',.0f') : format({value}, '.3~g')"
    )


def _given(ticks: Iterable[float] | None) -> tuple[float, ...] | None:
    return None if ticks is None else tuple(float(tick) for tick in ticks)
