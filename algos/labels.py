"""Labels of instances: what people see, and what rows hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from algos.checks import is_number
from algos.contents import Content
from algos.kinds import KINDS

MOST = 8  # numbers of a list that a label shows one by one


def shown_label(name: str, written: Mapping[str, Any], digest: str) -> str:
    """A label made of what a user wrote: "equal_gap(gap=0.1, best=0.5, K=10)".

    A list that is the only parameter is shown without its key, equal or evenly spaced numbers as
    such; where a list has no short form, the first eight digits of the content's `digest` stand
    for everything.
    """
    if not written:
        return name
    parts = []
    for key, value in written.items():
        text = f"{value:g}" if is_number(value) else _short(value)
        if text is None:
            return f"{name}[{digest[:8]}]"
        listed = not is_number(value)
        if listed and len(written) == 1:
            parts.append(text)
        else:
            parts.append(f"{key}=[{text}]" if listed else f"{key}={text}")
    return f"{name}({', '.join(parts)})"


def _short(values: object) -> str | None:
    """A list of numbers in few words; None where it has none."""
    if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str):
        return None
    if not all(is_number(value) for value in values):
        return None
    numbers = [float(value) for value in values]
    if len(numbers) <= MOST:
        return ", ".join(f"{value:g}" for value in numbers)
    first, *others = numbers
    if len(set(others)) == 1:
        return f"{first:g}, {len(others)} × {others[0]:g}"
    if np.ptp(np.diff(numbers)) < 1e-9:
        return f"{first:g} to {others[-1]:g} in {len(others)} steps"
    return None


def row_label(content: Content, digest: str) -> str:
    """A label that follows from the content alone, so that rows don't depend on names."""
    name = content["name"]
    reader = KINDS[name]
    label = reader.row_label(content)
    if label is not None:
        return label
    numbers = [key for key in reader.depth if isinstance(content.get(key), int | float)]
    if len(numbers) == len(content) - 1:
        return f"{name}({', '.join(f'{key}={content[key]:g}' for key in numbers)})"
    return f"{name}[{digest[:8]}]"
