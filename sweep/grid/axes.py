"""Axes of a grid: from what is written to the list of values it stands for.

An axis is one item or a list of items; an item is a value, a named mapping whose list-valued
parameters expand, or a generator: `{logspace: [low, high, n]}`, `{linspace: [low, high, n]}`,
`{powers: [base, low, high]}`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from algos import instances
from algos.checks import check_count, check_epsilon
from algos.errors import InputError, Words, unknown_name
from algos.registry import algorithm as registered

MOST_POINTS = 1_000_000  # of one generator
INFINITE = ("inf", ".inf", "+inf", "+.inf")  # as YAML or a command line may have it
GENERATORS = ("logspace", "linspace", "powers")


def items(key: str, axis: object) -> list[Any]:
    """The items of an axis; nothing at all gives no items.

    Raises:
        InputError: the axis is an empty list.
    """
    if axis is None:
        return []
    if isinstance(axis, list):
        if not axis:
            raise InputError(key, Words("[]"), "a value or a list with at least one")
        return axis
    return [axis]


def numbers(key: str, axis: object) -> list[float]:
    """The numbers of a numeric axis, in order and without repeats; NaN is refused.

    Values of `logspace` and `linspace` are rounded to twelve significant digits, so that 0.1
    is the same cell whether it was written or generated, on any machine.

    Raises:
        InputError: an item is neither a number nor a generator with its three numbers.
    """
    values: list[float] = []
    for item in items(key, axis):
        if isinstance(item, Mapping):
            values.extend(_generated(key, item))
        elif isinstance(item, int | float) and not isinstance(item, bool):
            values.append(item)
        elif isinstance(item, str) and item.lower() in INFINITE:
            values.append(math.inf)
        else:
            raise InputError(
                key, item, "a number or a generator such as {logspace: [0.01, 100, 9]}"
            )
    for value in values:
        if math.isnan(value):
            raise InputError(key, value, "a number")
    return list(dict.fromkeys(values))


def _generated(key: str, item: Mapping[str, Any]) -> Iterable[float]:
    if len(item) != 1 or next(iter(item)) not in GENERATORS:
        raise unknown_name(f"{key} generator", ", ".join(map(str, item)), GENERATORS)
    [(name, given)] = item.items()
    shape = "[base, low, high]" if name == "powers" else "[low, high, n]"
    if not isinstance(given, list) or len(given) != 3:
        raise InputError(f"{key} {name}", given, f"three numbers {shape}")
    for value in given:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise InputError(f"{key} {name}", value, f"three numbers {shape}")
    if name == "powers":
        base, low, high = given
        if int(low) != low or int(high) != high or high < low:
            raise InputError(f"{key} {name}", given, f"{shape} with integers low ≤ high")
        if not base > 0 or high - low >= MOST_POINTS:
            raise InputError(f"{key} {name}", given, f"{shape} with base > 0")
        try:
            powers = [base ** int(power) for power in range(int(low), int(high) + 1)]
            return [power for power in powers if math.isfinite(float(power))]
        except OverflowError:
            raise InputError(f"{key} {name}", given, f"{shape} with powers below 1e308") from None
    low, high = given[0], given[1]
    n = check_count(f"{key} {name}", given[2], 1, MOST_POINTS)
    if name == "logspace":
        if not low > 0 or not high > 0:
            raise InputError(f"{key} {name}", given, f"{shape} with low and high > 0")
        points = np.geomspace(low, high, n)
    else:
        points = np.linspace(low, high, n)
    return [float(f"{point:.12g}") for point in points]


def integers(key: str, axis: object, least: int) -> list[int]:
    """The integers ≥ `least` of an axis; an integral float such as 1e7 is one.

    Raises:
        InputError: an item is none.
    """
    return [check_count(key, value, least) for value in numbers(key, axis)]


def epsilons(axis: object) -> list[float]:
    """The ε of a grid: positive numbers, inf for no noise.

    Raises:
        InputError: one is not.
    """
    key = "grid.epsilon"
    return [check_epsilon(key, value, "numbers > 0, or inf") for value in numbers(key, axis)]


def algorithms(axis: object) -> list[dict[str, Any]]:
    """The algorithms of a grid as mappings with a registered `name`, lists expanded.

    Raises:
        InputError: an item is no name or mapping, or names no algorithm.
    """
    expanded: list[dict[str, Any]] = []
    for item in items("grid.algorithm", axis):
        named = _named("grid.algorithm", item, "a name or a mapping {name: …}")
        try:
            registered(named["name"])
        except InputError as error:
            raise error.under("grid") from None
        expanded.extend(_product(named, lambda name, value: isinstance(value, list)))
    return expanded


def instance_items(axis: object) -> list[dict[str, Any]]:
    """The instances of a grid as mappings with a known `name`, lists of alternatives expanded.

    Raises:
        InputError: an item is no name or mapping, or names no instance.
    """
    expanded: list[dict[str, Any]] = []
    for item in items("grid.instance", axis):
        named = _named("grid.instance", item, "a name or a mapping {name: …}")
        try:
            depth = instances.kind(named["name"]).depth
        except InputError as error:
            raise error.under("grid") from None

        def alternatives(name: str, value: object, depth: Mapping[str, int] = depth) -> bool:
            return name in depth and _depth(value) > depth[name]

        expanded.extend(_product(named, alternatives))
    return expanded


def _named(key: str, item: object, allowed: str) -> dict[str, Any]:
    if isinstance(item, str):
        return {"name": item}
    if isinstance(item, Mapping) and "name" in item:
        return {str(name): value for name, value in item.items()}
    raise InputError(key, item, allowed)


def _depth(value: object) -> int:
    depth = 0
    while isinstance(value, list) and value:
        depth, value = depth + 1, value[0]
    return depth


def _product(named: Mapping[str, Any], expands: Any) -> list[dict[str, Any]]:
    """One mapping per combination of the values for which `expands(name, value)`."""
    for name, value in named.items():
        if value == []:
            raise InputError(
                f"{named['name']} {name}", Words("[]"), "a value or a list with at least one"
            )
    choices = [
        value if name != "name" and expands(name, value) else [value]
        for name, value in named.items()
    ]
    return [dict(zip(named, chosen, strict=True)) for chosen in itertools.product(*choices)]
