"""Numbers and intervals as short text, the same on axes, in tables and in sentences."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

Item = TypeVar("Item")


def number(value: Any, digits: int = 3) -> str:
    """A number as short text: - for none, ∞, 1,234, 0.652, 1e7."""
    if value is None or value is pd.NA or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value >= 1e4 and f"{value:.15g}".rstrip("0") == "1":
        return f"1e{round(math.log10(value))}"
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def short(value: float) -> str:
    """A number in few characters, for narrow tables: 8.28e5 where `number` has 828,000."""
    mantissa, _, exponent = f"{value:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if value >= 1e4 and exponent else number(value)


def bracket(low: Any, high: Any) -> str:
    """The interval "[low, high]", or "" where there is none."""
    return "" if number(low) == "-" else f"[{number(low)}, {number(high)}]"


def estimate(value: Any, low: Any, high: Any) -> str:
    """The text "value [low, high]"."""
    return f"{number(value)} {bracket(low, high)}".strip()


def range_text(low: Any, high: Any) -> str:
    """The text "low to high", or the one value where both read the same."""
    first, last = number(low), number(high)
    return first if first == last else f"{first} to {last}"


def replicates(counts: Iterable[int]) -> str:
    """The text "n = 20" or "n = 20 to 50" for the numbers of replicates of several cells."""
    values = list(counts)
    return f"n = {min(values)}" + (f" to {max(values)}" if min(values) < max(values) else "")


def spread(values: Sequence[Item], count: int) -> list[Item]:
    """At most `count` of the values, evenly spread over the list, both ends included."""
    if len(values) <= count:
        return list(values)
    picks = np.unique(np.linspace(0, len(values) - 1, count).round().astype(int))
    return [values[i] for i in picks]


def lines(text: str, width: int, indent: str = "") -> list[str]:
    """The text in lines of at most `width` characters; `indent` begins all but the first."""
    return textwrap.wrap(text, width, subsequent_indent=indent) or [""]


def first_of(sentences: Sequence[str], limit: int = 12) -> list[str]:
    """The first `limit` sentences, and how many more there are."""
    more = len(sentences) - limit
    return [*sentences[:limit], *([f"… and {more} more in the tables"] if more > 0 else [])]


def further(count: int) -> list[str]:
    """The note that `count` instances or horizons have no figure; none where all have one."""
    return [f"{count} further instances or horizons are in the table only."] if count > 0 else []
