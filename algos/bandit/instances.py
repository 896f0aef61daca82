"""Kinds of instances with K arms: distributions, tables, generators in K, and the papers' own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algos.bandit.environments import (
    Arms,
    BernoulliArms,
    BetaArms,
    FiniteSupportArms,
    RewardTable,
    UniformArms,
)
from algos.contents import Content
from algos.errors import InputError
from algos.kinds import Kind, register_kind, register_named
from algos.labels import MOST
from algos.values import Numbers

MOST_ARMS = 1_000_000
FROM_AXIS = {"K": (2, MOST_ARMS)}

# Values: ALGORITHMS.md's list; sajed2019 §5 and its full version, azize2022 §5, hu2024 §6.
NAMED: dict[str, tuple[float, ...]] = {
    "sajed_c1": (0.75, 0.70, 0.70, 0.70, 0.70),
    "sajed_c2": (0.75, 0.625, 0.5, 0.375, 0.25),
    "sajed_c3": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "sajed_c4": (0.75, 0.71875, 0.625, 0.46875, 0.25),
    "azize_fig3": (0.8, 0.1, 0.1, 0.1, 0.1),
    "hu_equal_gap": (0.5, 0.4, 0.4, 0.4, 0.4),
    "hu_distinct": (0.75, 0.625, 0.5, 0.375, 0.25),
}

UNIT = Numbers("a number in [0, 1]")
UNITS = Numbers("a list of numbers in [0, 1]")
SUPPORT = Numbers("one list of numbers in [0, 1] for each arm")
SHAPES = Numbers("a list of positive numbers, one for each arm, from 0.001 to 1e6", 1e-3, 1e6)
REWARDS = Numbers("rows of K rewards in [0, 1], one a round")


def _several(key: str, count: int) -> None:
    if count < 2:
        raise InputError(key, count, "two arms or more")


def _bernoulli(given: Mapping[str, Any]) -> Content:
    means = UNITS.vector("means", given["means"])
    _several("means", len(means))
    return {"name": "bernoulli", "means": means}


def _build_bernoulli(content: Content) -> BernoulliArms:
    means = np.array(content["means"])
    return BernoulliArms(means, means.max() - means)


def _label_bernoulli(content: Content) -> str | None:
    """The first name that the means have, or what they are where they are equal or linear."""
    for name, means in NAMED.items():
        if list(means) == list(content["means"]):
            return name
    best, *others = content["means"]
    if len(others) >= MOST:
        if len(set(others)) == 1:
            return f"bernoulli({best:g}, {len(others)} × {others[0]:g})"
        if np.ptp(np.diff(content["means"])) < 1e-9:
            return f"linear(K={len(others) + 1}, {others[-1]:g} to {best:g})"
    return _label_numbers(content)


def _label_numbers(content: Content) -> str | None:
    numbers = [f"{value:g}" for key in content if key != "name" for value in content[key]]
    return f"{content['name']}({', '.join(numbers)})" if len(numbers) <= MOST else None


def _finite(given: Mapping[str, Any]) -> Content:
    values, weights = (_rows(key, given[key]) for key in ("values", "probabilities"))
    _several("values", len(values))
    if [len(row) for row in values] != [len(row) for row in weights]:
        raise InputError("probabilities", weights, "one probability for each value")
    for row in weights:
        if abs(sum(row) - 1.0) > 1e-9:
            raise InputError("probabilities", row, "probabilities that sum to 1")
    return {"name": "finite_support", "values": values, "probabilities": weights}


def _rows(key: str, value: object) -> list[list[float]]:
    """Lists of several lengths, one for each arm."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not value:
        raise InputError(key, value, SUPPORT.allowed)
    return [SUPPORT.vector(key, row) for row in value]


def _build_finite(content: Content) -> FiniteSupportArms:
    width = max(len(row) for row in content["values"])
    values, weights = (
        np.array([row + [0.0] * (width - len(row)) for row in content[key]])
        for key in ("values", "probabilities")
    )
    means = (values * weights).sum(axis=1)
    # The last column takes what is left of a block, so it must carry probability.
    order = np.argsort(weights > 0.0, axis=1, kind="stable")
    values, weights = (np.take_along_axis(rows, order, axis=1) for rows in (values, weights))
    return FiniteSupportArms(values, weights, means, means.max() - means)


def _beta(given: Mapping[str, Any]) -> Content:
    a, b = (SHAPES.vector(key, given[key]) for key in ("a", "b"))  # the draw hangs far outside
    if len(a) != len(b):
        raise InputError("b", given["b"], "as many numbers as a has")
    _several("a", len(a))
    return {"name": "beta", "a": a, "b": b}


def _build_beta(content: Content) -> BetaArms:
    a, b = np.array(content["a"]), np.array(content["b"])
    means = a / (a + b)
    return BetaArms(a, b, means, means.max() - means)


def _uniform(given: Mapping[str, Any]) -> Content:
    low, high = (UNITS.vector(key, given[key]) for key in ("low", "high"))
    if len(low) != len(high) or any(b < a for a, b in zip(low, high, strict=True)):
        raise InputError("high", given["high"], "one number ≥ low for each arm")
    _several("low", len(low))
    return {"name": "uniform", "low": low, "high": high}


def _build_uniform(content: Content) -> UniformArms:
    low, high = np.array(content["low"]), np.array(content["high"])
    means = (low + high) / 2.0
    return UniformArms(low, high, means, means.max() - means)


def _table(given: Mapping[str, Any]) -> Content:
    rewards = REWARDS.table("rewards", given["rewards"], depth=2)
    _several("rewards", rewards.shape[1])
    return {"name": "reward_table", "rewards": rewards}


def _build_table(content: Content) -> RewardTable:
    rewards = np.asarray(content["rewards"], np.float64)
    if rewards.flags.writeable:  # from a definition; one type for Numba, wherever it comes from
        rewards.flags.writeable = False
    means = rewards.mean(axis=0)
    return RewardTable(rewards, means, means.max() - means)


def _equal_gap(given: Mapping[str, Any]) -> Content:
    best, gap = (UNIT.one(key, given[key]) for key in ("best", "gap"))
    if gap > best:
        raise InputError("gap", gap, f"a number in [0, best = {best:g}]")
    return {"name": "bernoulli", "means": [best] + [_clean(best - gap)] * (given["K"] - 1)}


def _linear(given: Mapping[str, Any]) -> Content:
    low, high = (UNIT.one(key, given[key]) for key in ("low", "high"))
    K = given["K"]
    if high < low:
        raise InputError("high", high, f"a number in [low = {low:g}, 1]")
    means = [_clean(high - (high - low) * j / (K - 1)) for j in range(K)]
    return {"name": "bernoulli", "means": means}


def _doubling_gap(given: Mapping[str, Any]) -> Content:
    """Δ_j = gap · 2^(j-2) for j = 2 … K, as hu2024 §7 has it: no gap is cut off at `best`."""
    best, gap = (UNIT.one(key, given[key]) for key in ("best", "gap"))
    K = given["K"]
    if gap < 1e-9:
        raise InputError("gap", gap, f"a number in [1e-9, best = {best:g}]")
    if K > 32 or math.ldexp(gap, K - 2) > best:
        raise InputError("gap", gap, f"gap · 2^(K-2) ≤ best = {best:g} (here K = {K})")
    means = [best] + [_clean(best - math.ldexp(gap, j)) for j in range(K - 1)]
    return {"name": "bernoulli", "means": means}


def _clean(mean: float) -> float:
    """Without the last digits' rounding, so that 0.5 - 0.1 is the same instance as 0.4."""
    return round(mean, 12) + 0.0


def _sizes(env: Arms) -> dict[str, int]:
    return {"K": len(env.means)}


def _means(env: Arms) -> np.ndarray:
    return env.means


KINDS = {
    "bernoulli": Kind(
        {"means": 1},
        _bernoulli,
        _build_bernoulli,
        sizes=_sizes,
        means=_means,
        row_label=_label_bernoulli,
    ),
    "finite_support": Kind(
        {"values": 2, "probabilities": 2}, _finite, _build_finite, sizes=_sizes, means=_means
    ),
    "beta": Kind(
        {"a": 1, "b": 1},
        _beta,
        _build_beta,
        sizes=_sizes,
        means=_means,
        draw_cost=60.0,
        row_label=_label_numbers,
    ),
    "uniform": Kind(
        {"low": 1, "high": 1},
        _uniform,
        _build_uniform,
        sizes=_sizes,
        means=_means,
        draw_cost=3.0,
        row_label=_label_numbers,
    ),
    "reward_table": Kind(
        {"rewards": 2},
        _table,
        _build_table,
        sizes=_sizes,
        means=_means,
        draw_cost=1.0,
        rounds=lambda content: len(content["rewards"]),
    ),
}
GENERATORS = {
    "equal_gap": Kind({"gap": 0, "best": 0, "K": 0}, _equal_gap, takes=FROM_AXIS),
    "doubling_gap": Kind({"gap": 0, "best": 0, "K": 0}, _doubling_gap, takes=FROM_AXIS),
    "linear": Kind({"low": 0, "high": 0, "K": 0}, _linear, takes=FROM_AXIS),
}

for name, entry in (KINDS | GENERATORS).items():
    register_kind(name, entry)
for name, means in NAMED.items():
    register_named(name, {"name": "bernoulli", "means": list(means)})
