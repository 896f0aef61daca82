"""Environments of the `stopping_rule` family: one stream of samples in [-R, R] with mean μ.

They speak the protocol of `algos.environments`: `pull(env, rng, 0, t, n)` is the sum of the
samples t … t + n - 1. Beside `means`, of shape (1,), they have the field `R`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from algos.dispatch import implements, is_a
from algos.environments import pull
from algos.errors import InputError
from algos.instances import Kind, register_kind

FAMILIES = ("stopping_rule",)


class TwoPoint(NamedTuple):
    """R with probability `up`, else -R. A block is one binomial draw: O(1)."""

    up: float  # (1 + μ/R) / 2
    R: float
    means: np.ndarray  # float64 (1,)


class BoundedUniform(NamedTuple):
    """Uniform on [low, low + width]. A block sums its draws: O(n)."""

    low: float
    width: float
    R: float
    means: np.ndarray  # float64 (1,)


class SampleTable(NamedTuple):
    """samples[t - 1] in round t: nothing is drawn. A block sums its entries: O(n)."""

    samples: np.ndarray  # float64 (rounds,) in [-R, R]
    R: float
    means: np.ndarray  # float64 (1,), the samples' mean


@implements(pull)
def _pull_two_point(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, TwoPoint):
        return None

    def two_point(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        if n == 1:  # the same law as Binomial(1, up), an order of magnitude cheaper
            return env.R if rng.random() < env.up else -env.R
        return env.R * float(2 * rng.binomial(n, env.up) - n)

    return two_point


@implements(pull)
def _pull_uniform(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, BoundedUniform):
        return None

    def uniform(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        total = 0.0
        for _ in range(n):
            total += env.low + env.width * rng.random()
        return total

    return uniform


@implements(pull)
def _pull_table(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, SampleTable):
        return None

    def table(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        total = 0.0
        for i in range(n):
            total += env.samples[t - 1 + i * step]
        return total

    return table


def _number(key: str, value: object, allowed: str, low: float, high: float) -> float:
    """`value` as a float in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InputError(key, value, allowed)
    if not math.isfinite(value) or not low <= value <= high:
        raise InputError(key, value, allowed)
    return float(value) + 0.0


def _bound(parameters: Mapping[str, Any]) -> float:
    R = _number("R", parameters.get("R", 1.0), "a number > 0", 0.0, math.inf)
    if R == 0.0:
        raise InputError("R", R, "a number > 0")
    return R


def _two_point(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    R = _bound(parameters)
    mu = _number("mu", parameters["mu"], f"a number in [-R, R] = [{-R:g}, {R:g}]", -R, R)
    return {"name": "two_point", "mu": mu, "R": R}


def _bounded_uniform(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    R = _bound(parameters)
    mu = _number("mu", parameters["mu"], f"a number in [-R, R] = [{-R:g}, {R:g}]", -R, R)
    widest = 2.0 * (R - abs(mu))
    allowed = f"a number in [0, {widest:g}]: the samples stay within [-R, R]"
    width = _number("width", parameters.get("width", widest), allowed, 0.0, widest)
    return {"name": "bounded_uniform", "mu": mu, "width": width, "R": R}


def _sample_table(parameters: Mapping[str, Any], K: int | None) -> dict[str, Any]:
    R = _bound(parameters)
    given = parameters["samples"]
    allowed = f"a list of numbers in [-R, R] = [{-R:g}, {R:g}]"
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, list | tuple) or not given:
        raise InputError("samples", given, allowed)
    samples = [_number("samples", value, allowed, -R, R) for value in given]
    return {"name": "sample_table", "samples": samples, "R": R}


def _build_two_point(parsed: Mapping[str, Any]) -> TwoPoint:
    mu, R = parsed["mu"], parsed["R"]
    return TwoPoint((1.0 + mu / R) / 2.0, R, np.array([mu]))


def _build_bounded_uniform(parsed: Mapping[str, Any]) -> BoundedUniform:
    mu, width = parsed["mu"], parsed["width"]
    return BoundedUniform(mu - width / 2.0, width, parsed["R"], np.array([mu]))


def _build_sample_table(parsed: Mapping[str, Any]) -> SampleTable:
    samples = np.array(parsed["samples"])
    return SampleTable(samples, parsed["R"], np.array([samples.mean()]))


register_kind(
    "two_point",
    Kind({"mu": 0, "R": 0}, _two_point, _build_two_point, families=FAMILIES, optional=("R",)),
)
register_kind(
    "bounded_uniform",
    Kind(
        {"mu": 0, "width": 0, "R": 0},
        _bounded_uniform,
        _build_bounded_uniform,
        families=FAMILIES,
        draw_cost=3.0,
        optional=("width", "R"),
    ),
)
register_kind(
    "sample_table",
    Kind(
        {"samples": 1, "R": 0},
        _sample_table,
        _build_sample_table,
        families=FAMILIES,
        draw_cost=1.0,
        optional=("R",),
        rounds=lambda parsed: len(parsed["samples"]),
    ),
)
