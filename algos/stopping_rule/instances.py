"""Kinds of sample streams for stopping rules: μ, R and the distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from algos.contents import Content
from algos.errors import InputError
from algos.kinds import Kind, register_kind
from algos.stopping_rule.environments import BoundedUniform, SampleTable, TwoPoint
from algos.values import Numbers


def _bound(given: Mapping[str, Any]) -> float:
    allowed = "a number > 0"
    R = Numbers(allowed, 0.0, math.inf).one("R", given.get("R", 1.0))
    if R == 0.0:
        raise InputError("R", R, allowed)
    return R


def _mean(given: Mapping[str, Any], R: float) -> float:
    return Numbers(f"a number in [-R, R] = [{-R:g}, {R:g}]", -R, R).one("mu", given["mu"])


def _two_point(given: Mapping[str, Any]) -> Content:
    R = _bound(given)
    return {"name": "two_point", "mu": _mean(given, R), "R": R}


def _build_two_point(content: Content) -> TwoPoint:
    mu, R = content["mu"], content["R"]
    return TwoPoint((1.0 + mu / R) / 2.0, R, np.array([mu]))


def _bounded_uniform(given: Mapping[str, Any]) -> Content:
    R = _bound(given)
    mu = _mean(given, R)
    widest = 2.0 * (R - abs(mu))
    within = Numbers(f"a number in [0, {widest:g}]: the samples stay within [-R, R]", 0.0, widest)
    width = within.one("width", given.get("width", widest))
    return {"name": "bounded_uniform", "mu": mu, "width": width, "R": R}


def _build_bounded_uniform(content: Content) -> BoundedUniform:
    mu, width = content["mu"], content["width"]
    return BoundedUniform(mu - width / 2.0, width, content["R"], np.array([mu]))


def _sample_table(given: Mapping[str, Any]) -> Content:
    R = _bound(given)
    within = Numbers(f"a list of numbers in [-R, R] = [{-R:g}, {R:g}]", -R, R)
    return {
        "name": "sample_table",
        "samples": within.table("samples", given["samples"], depth=1),
        "R": R,
    }


def _build_sample_table(content: Content) -> SampleTable:
    samples = np.asarray(content["samples"], np.float64)
    if samples.flags.writeable:  # from a definition; one type for Numba, wherever it comes from
        samples.flags.writeable = False
    return SampleTable(samples, content["R"], np.array([samples.mean()]))


def _means(env: TwoPoint | BoundedUniform | SampleTable) -> np.ndarray:
    return env.means


KINDS = {
    "two_point": Kind(
        {"mu": 0, "R": 0}, _two_point, _build_two_point, means=_means, optional=("R",)
    ),
    "bounded_uniform": Kind(
        {"mu": 0, "width": 0, "R": 0},
        _bounded_uniform,
        _build_bounded_uniform,
        means=_means,
        draw_cost=3.0,
        optional=("width", "R"),
    ),
    "sample_table": Kind(
        {"samples": 1, "R": 0},
        _sample_table,
        _build_sample_table,
        means=_means,
        draw_cost=1.0,
        optional=("R",),
        rounds=lambda content: len(content["samples"]),
    ),
}

for name, entry in KINDS.items():
    register_kind(name, entry)
