"""Instances: named ones, explicit ones and generators in K.

A specification is a name or a mapping with `name` and the instance's parameters. Resolving it
gives the explicit definition, so a named instance and its explicit means are the same thing:

    resolve("azize_fig3")
    resolve({"name": "bernoulli", "means": [0.8, 0.1, 0.1]})
    resolve({"name": "equal_gap", "gap": 0.1, "best": 0.5}, K=10)
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from algos.checks import check_count, is_number
from algos.environments import (
    BernoulliArms,
    BetaArms,
    FiniteSupportArms,
    RewardTable,
    UniformArms,
)
from algos.errors import InputError, Words, unknown_name
from algos.identity import canonical, digest


@dataclass(frozen=True)
class Instance:
    """A resolved instance.

    `definition` is its canonical JSON, which is what identities are made of; `label` the name
    that tables and figures show; `means` the arms' means; `families` can play it;
    `draw_cost` the nanoseconds that each round adds where a block of n plays takes n draws (0 where
    it takes one); `rounds` how many rounds it can be played, if limited.
    """

    definition: str
    label: str
    distribution: str
    means: tuple[float, ...]
    families: tuple[str, ...]
    draw_cost: float
    rounds: int | None = None

    @property
    def K(self) -> int:
        """The number of arms."""
        return len(self.means)

    @property
    def environment(self) -> Any:
        """The environment that kernels play on."""
        return environment(self.definition)


@dataclass(frozen=True)
class Kind:
    """How a specification of one name is read, and played.

    `depth` gives each parameter's nesting: 0 a number, 1 a list, 2 a list of lists; a list
    nested deeper is a list of alternatives, which a grid expands. `resolve(parameters, K)`
    returns the explicit definition, whose `name` is a kind with a `build`: that makes the
    environment, a NamedTuple with a field `means`, from the parsed definition. `families` can
    play it; `draw_cost` is the nanoseconds that a round adds where a block of n plays takes n
    draws, 0 where it takes one. A parameter in `optional` may be left out. `rounds` says of a
    parsed definition how many rounds it can be played, where that is limited.
    """

    depth: Mapping[str, int]
    resolve: Callable[[Mapping[str, Any], int | None], dict[str, Any]]
    build: Callable[[Mapping[str, Any]], Any] | None = None
    families: tuple[str, ...] = ("bandit", "full_information")
    draw_cost: float = 0.0
    takes_K: bool = False
    optional: tuple[str, ...] = ()
    rounds: Callable[[Mapping[str, Any]], int] | None = None


def _vector(key: str, value: object, allowed: str = "a list of numbers in [0, 1]") -> list[float]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not value:
        raise InputError(key, value, allowed)
    return [_number(key, entry, allowed) for entry in value]


def _number(key: str, value: object, allowed: str = "a number in [0, 1]") -> float:
    if not is_number(value):
        raise InputError(key, value, allowed)
    number = float(value)
    if not 0.0 <= number <= 1.0:
        raise InputError(key, value, allowed)
    return number + 0.0


def _matrix(key: str, value: object, allowed: str) -> list[list[float]]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple) or not value:
        raise InputError(key, value, allowed)
    return [_vector(key, row, allowed) for row in value]


def _bernoulli(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    return {"name": "bernoulli", "means": _vector("means", parameters["means"])}


def _finite(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    allowed = "one list of numbers in [0, 1] for each arm"
    values = _matrix("values", parameters["values"], allowed)
    weights = _matrix("probabilities", parameters["probabilities"], allowed)
    if [len(row) for row in values] != [len(row) for row in weights]:
        raise InputError("probabilities", weights, "one probability for each value")
    for row in weights:
        if abs(sum(row) - 1.0) > 1e-9:
            raise InputError("probabilities", row, "probabilities that sum to 1")
    return {"name": "finite_support", "values": values, "probabilities": weights}


def _beta(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    shapes = {}
    for key in ("a", "b"):
        allowed = "a list of positive numbers, one for each arm, from 0.001 to 1e6"
        given = parameters[key]
        given = given.tolist() if isinstance(given, np.ndarray) else given
        if not isinstance(given, list | tuple) or not given:
            raise InputError(key, given, allowed)
        for entry in given:  # far outside, the compiled draw takes for ever
            if not is_number(entry) or not 1e-3 <= entry <= 1e6:
                raise InputError(key, entry, allowed)
        shapes[key] = [float(entry) for entry in given]
    if len(shapes["a"]) != len(shapes["b"]):
        raise InputError("b", parameters["b"], "as many numbers as a has")
    return {"name": "beta", **shapes}


def _uniform(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    low, high = (_vector(key, parameters[key]) for key in ("low", "high"))
    if len(low) != len(high) or any(b < a for a, b in zip(low, high, strict=True)):
        raise InputError("high", parameters["high"], "one number ≥ low for each arm")
    return {"name": "uniform", "low": low, "high": high}


def _table(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    rows = _matrix("rewards", parameters["rewards"], "rows of K rewards in [0, 1], one a round")
    if len({len(row) for row in rows}) != 1:
        raise InputError("rewards", Words("rows of several lengths"), "rows of K rewards each")
    return {"name": "reward_table", "rewards": rows}


def _equal_gap(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    best, gap = (_number(key, parameters[key]) for key in ("best", "gap"))
    assert K is not None
    if gap > best:
        raise InputError("gap", gap, f"a number in [0, best = {best:g}]")
    return {"name": "bernoulli", "means": [best] + [_clean(best - gap)] * (K - 1)}


def _linear(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    low, high = (_number(key, parameters[key]) for key in ("low", "high"))
    assert K is not None
    if high < low:
        raise InputError("high", high, f"a number in [low = {low:g}, 1]")
    means = [_clean(high - (high - low) * j / (K - 1)) for j in range(K)]
    return {"name": "bernoulli", "means": means}


def _doubling_gap(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    """Δ_j = gap · 2^(j-2) for j = 2 … K, as hu2024 §7 has it: no gap is cut off at `best`."""
    best, gap = (_number(key, parameters[key]) for key in ("best", "gap"))
    assert K is not None
    if gap < 1e-9:
        raise InputError("gap", gap, f"a number in [1e-9, best = {best:g}]")
    if K > 32 or math.ldexp(gap, K - 2) > best:
        raise InputError("gap", gap, f"gap · 2^(K-2) ≤ best = {best:g} (here K = {K})")
    return {
        "name": "bernoulli",
        "means": [best] + [_clean(best - math.ldexp(gap, j)) for j in range(K - 1)],
    }


def _clean(mean: float) -> float:
    """Without the last digits' rounding, so that 0.5 - 0.1 is the same instance as 0.4."""
    return round(mean, 12) + 0.0


# Values: ALGORITHMS.md's list; sajed2019 §5 and its full version, azize2022 §5, hu2024 §6.
MOST_ARMS = 1_000_000

NAMED: dict[str, tuple[float, ...]] = {
    "sajed_c1": (0.75, 0.70, 0.70, 0.70, 0.70),
    "sajed_c2": (0.75, 0.625, 0.5, 0.375, 0.25),
    "sajed_c3": (0.75, 0.53125, 0.375, 0.28125, 0.25),
    "sajed_c4": (0.75, 0.71875, 0.625, 0.46875, 0.25),
    "azize_fig3": (0.8, 0.1, 0.1, 0.1, 0.1),
    "hu_equal_gap": (0.5, 0.4, 0.4, 0.4, 0.4),
    "hu_distinct": (0.75, 0.625, 0.5, 0.375, 0.25),
}


def _build_bernoulli(parsed: Mapping[str, Any]) -> BernoulliArms:
    means = np.array(parsed["means"])
    return BernoulliArms(means, means.max() - means)


def _build_finite(parsed: Mapping[str, Any]) -> FiniteSupportArms:
    width = max(len(row) for row in parsed["values"])
    values, weights = (
        np.array([row + [0.0] * (width - len(row)) for row in parsed[key]])
        for key in ("values", "probabilities")
    )
    means = (values * weights).sum(axis=1)
    # The last column takes what is left of a block, so it must carry probability.
    order = np.argsort(weights > 0.0, axis=1, kind="stable")
    values, weights = (np.take_along_axis(rows, order, axis=1) for rows in (values, weights))
    return FiniteSupportArms(values, weights, means, means.max() - means)


def _build_beta(parsed: Mapping[str, Any]) -> BetaArms:
    a, b = np.array(parsed["a"]), np.array(parsed["b"])
    means = a / (a + b)
    return BetaArms(a, b, means, means.max() - means)


def _build_uniform(parsed: Mapping[str, Any]) -> UniformArms:
    low, high = np.array(parsed["low"]), np.array(parsed["high"])
    means = (low + high) / 2.0
    return UniformArms(low, high, means, means.max() - means)


def _build_table(parsed: Mapping[str, Any]) -> RewardTable:
    rewards = np.array(parsed["rewards"])
    means = rewards.mean(axis=0)
    return RewardTable(rewards, means, means.max() - means)


KINDS: dict[str, Kind] = {
    "bernoulli": Kind({"means": 1}, _bernoulli, _build_bernoulli),
    "finite_support": Kind({"values": 2, "probabilities": 2}, _finite, _build_finite),
    "beta": Kind({"a": 1, "b": 1}, _beta, _build_beta, draw_cost=60.0),
    "uniform": Kind({"low": 1, "high": 1}, _uniform, _build_uniform, draw_cost=3.0),
    "reward_table": Kind(
        {"rewards": 2},
        _table,
        _build_table,
        draw_cost=1.0,
        rounds=lambda parsed: len(parsed["rewards"]),
    ),
    "equal_gap": Kind({"gap": 0, "best": 0, "K": 0}, _equal_gap, takes_K=True, optional=("K",)),
    "doubling_gap": Kind(
        {"gap": 0, "best": 0, "K": 0}, _doubling_gap, takes_K=True, optional=("K",)
    ),
    "linear": Kind({"low": 0, "high": 0, "K": 0}, _linear, takes_K=True, optional=("K",)),
}


def register_kind(name: str, entry: Kind) -> None:
    """Add a kind of instance; a family's package does so for its own.

    Raises:
        ValueError: the name is taken.
    """
    if KINDS.get(name, entry) is not entry or name in NAMED:
        raise ValueError(f"instance {name!r} is already registered")
    KINDS[name] = entry


def names() -> tuple[str, ...]:
    """Every name that a specification may use."""
    return tuple(sorted((*NAMED, *KINDS)))


def kind(name: object) -> Kind:
    """How a specification of that name is read.

    Raises:
        InputError: the name is unknown.
    """
    if isinstance(name, str):
        if name in NAMED:
            means = list(NAMED[name])
            return Kind({}, lambda parameters, K: {"name": "bernoulli", "means": means})
        if name in KINDS:
            return KINDS[name]
    raise unknown_name("instance", name, names())


def takes_K(specification: str | Mapping[str, Any]) -> bool:
    """Whether the specification needs a number of arms from outside."""
    if isinstance(specification, str):
        return kind(specification).takes_K
    return kind(specification.get("name")).takes_K and specification.get("K") is None


def resolve(specification: str | Mapping[str, Any], K: int | None = None) -> Instance:
    """The instance a specification stands for.

    Args:
        specification: a name, or a mapping with `name` and parameters.
        K: the number of arms, for a generator that doesn't set its own.

    Raises:
        InputError: an unknown name or parameter, one missing, or a value outside its range.
    """
    if not isinstance(specification, str | Mapping):
        raise InputError("instance", specification, "a name, or a mapping {name: …}")
    given = {"name": specification} if isinstance(specification, str) else dict(specification)
    name = given.pop("name", None)
    reader = kind(name)
    for key in given:
        if key not in reader.depth:
            raise unknown_name(f"instance {name}", key, reader.depth)
    for key in reader.depth:
        if key not in given and key not in reader.optional:
            raise InputError(f"instance {name}.{key}", Words("nothing"), ", ".join(reader.depth))
    if reader.takes_K:
        arms = given.pop("K", None)
        arms = K if arms is None else arms
        K = check_count("K" if K is arms else f"instance {name}.K", arms, 2, MOST_ARMS)
    try:
        return from_definition(canonical(reader.resolve(given, K)))
    except InputError as error:
        label = error.key if error.key.startswith("instance") else f"instance {name}.{error.key}"
        raise InputError(label, error.got, error.allowed, error.closest) from None


@lru_cache(maxsize=4096)
def from_definition(definition: str) -> Instance:
    """The instance of a canonical definition (as stored in a results store)."""
    parsed = json.loads(definition)
    env = environment(definition)
    played = KINDS[parsed["name"]]
    if "bandit" in played.families and len(env.means) < 2:
        raise InputError("means", len(env.means), "two arms or more")
    return Instance(
        definition=definition,
        label=_label(parsed, definition),
        distribution=parsed["name"],
        means=tuple(float(mean) for mean in env.means),
        families=played.families,
        draw_cost=played.draw_cost,
        rounds=None if played.rounds is None else played.rounds(parsed),
    )


def _label(parsed: Mapping[str, Any], definition: str) -> str:
    distribution = parsed["name"]
    if distribution == "bernoulli":
        for name, means in NAMED.items():
            if list(means) == parsed["means"]:
                return name
    if distribution == "bernoulli" and len(parsed["means"]) > 8:
        best, *others = parsed["means"]
        if len(set(others)) == 1:
            return f"bernoulli({best:g}, {len(others)} × {others[0]:g})"
        steps = np.diff(parsed["means"])
        if np.ptp(steps) < 1e-9:
            return f"linear(K={len(parsed['means'])}, {others[-1]:g} to {best:g})"
    if distribution in ("bernoulli", "beta", "uniform"):
        rows = [f"{value:g}" for key in parsed if key != "name" for value in parsed[key]]
        if len(rows) <= 8:
            return f"{distribution}({', '.join(rows)})"
    numbers = [key for key in KINDS[distribution].depth if isinstance(parsed.get(key), int | float)]
    if len(numbers) == len(parsed) - 1:
        return f"{distribution}({', '.join(f'{key}={parsed[key]:g}' for key in numbers)})"
    return f"{distribution}[{digest(definition)[:8]}]"


@lru_cache(maxsize=256)
def environment(definition: str) -> Any:
    """The NamedTuple of arrays that kernels play on, from a canonical definition."""
    parsed = json.loads(definition)
    build = KINDS[parsed["name"]].build
    assert build is not None, "a definition names a kind that can be built"
    return build(parsed)
