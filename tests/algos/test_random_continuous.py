"""Uniform, exponential, Laplace, normal, gamma and beta against their exact laws.

Each sampler is drawn at least 10^7 times in all. About 180 p-values are compared with LEVEL = 1e-9
(as far as chi-square and normal laws hold in the tails of the statistics).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from reference.sampling import (
    LEVEL,
    agree,
    altered,
    cells_pvalue,
    continuous_pvalues,
    draws,
    rare_pvalue,
)
from scipy import special, stats

from algos.random import continuous, generator
from algos.random.seeding import state


def huge_gamma(shape: float) -> Any:
    """Beyond scipy's digits; the skewness left out is 2/√shape."""
    return stats.norm(shape, math.sqrt(shape))


def huge_beta(a: float, b: float) -> Any:
    """Likewise."""
    return stats.norm(a / (a + b), math.sqrt(a / (a + b) * b / (a + b) / (a + b + 1.0)))


# sampler, its parameters, its law, draws in millions
LAWS: list[tuple[str, tuple[float, ...], Any, int]] = [
    ("uniform", (), stats.uniform(), 10),
    ("uniform_positive", (), stats.uniform(), 10),
    ("exponential", (), stats.expon(), 10),
    ("laplace", (1.0,), stats.laplace(), 10),
    ("laplace", (1e-12,), stats.laplace(0.0, 1e-12), 1),
    ("normal", (), stats.norm(), 10),
    *(("gamma", (shape,), stats.gamma(shape), 1) for shape in (0.1, 0.5, 1.0, 1.5, 3.0, 20.0)),
    *(("gamma", (shape,), stats.gamma(shape), 1) for shape in (300.0, 1e6)),
    *(("gamma", (shape,), huge_gamma(shape), 1) for shape in (1e12, 1e18)),
    *(
        ("beta", shapes, stats.beta(*shapes), 1)
        for shapes in [
            (1.0, 1.0),
            (2.0, 1.0),
            (1.0, 30.0),
            (3.0, 5.0),
            (800.0, 200.0),
            (1e6, 3.0),
            (0.5, 0.5),
            (0.1, 4.0),
        ]
    ),
    *(("beta", shapes, huge_beta(*shapes), 1) for shapes in [(1e12, 3e12), (1e18, 1e18)]),
]


def sampler(name: str) -> Callable[..., Any]:
    return getattr(generator, name, None) or getattr(continuous, name)


def law_pvalues(sample: Any, parameters: tuple[float, ...], law: Any, count: int) -> list[float]:
    return continuous_pvalues(draws(sample, state(17), count, *parameters), law)


@pytest.mark.parametrize(
    ("name", "parameters", "law", "millions"), LAWS, ids=[f"{n}{list(p)}" for n, p, _, _ in LAWS]
)
def test_a_continuous_sampler_has_its_law(name, parameters, law, millions) -> None:
    found = law_pvalues(sampler(name), parameters, law, millions * 1_000_000)
    assert agree(found), found


def tiny_shape_pvalue(module: ModuleType, a: float, b: float) -> float:
    """Of 10^6 beta draws at tiny shapes, on cells of the logarithm down to 1e-300."""
    x = draws(module.beta, state(18), 1_000_000, a, b)
    assert ((x >= 0.0) & (x <= 1.0)).all()
    edges = 10.0 ** np.array([-300, -250, -200, -150, -100, -50, -20, -10, -3, -1])
    edges = np.concatenate([edges, [0.5, 0.9, 0.999]])
    chances = np.diff(np.concatenate([[0.0], special.betainc(a, b, edges), [1.0]]))
    inner = np.searchsorted(edges, x)
    return cells_pvalue(np.bincount(inner, minlength=len(edges) + 1), chances)


@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e-3), (1e-3, 2.0), (0.02, 1e-3)])
def test_beta_at_tiny_shapes(a, b) -> None:
    assert tiny_shape_pvalue(continuous, a, b) > LEVEL


def tail_pvalues(module: ModuleType, millions: int) -> list[float]:
    """Of normal draws beyond 3.654, where the ziggurat has a sampler of its own."""
    end, rng = 3.6541528853610088, state(19)
    parts = (draws(module.normal, rng, 1_000_000) for _ in range(millions))
    x = np.concatenate([part[abs(part) > end] for part in parts])
    chances = stats.norm.sf(abs(x)) / stats.norm.sf(end)
    return [
        rare_pvalue(len(x), millions * 2e6 * stats.norm.sf(end)),
        rare_pvalue((x > 0.0).sum(), millions * 1e6 * stats.norm.sf(end)),
        stats.kstest(chances, "uniform").pvalue,
    ]


def test_the_normals_tail() -> None:
    assert agree(tail_pvalues(continuous, 30))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if layer == 0:", "if layer < 0:"),
        ("return _R + x if z > 0.0 else -_R - x", "return _R + x"),
        ("if 2.0 * exponential(rng) > x * x", "if 2.0 * exponential(rng) > 0.0"),
        ("exponential(rng) / _R", "exponential(rng)"),
    ],
)
def test_a_mistake_in_the_normals_tail_is_noticed(right, wrong) -> None:
    assert not agree(tail_pvalues(altered(continuous, right, wrong), 30))


def test_edges_of_continuous_samplers() -> None:
    rng = state(1)
    assert {abs(continuous.laplace(rng, 0.0)) for _ in range(100)} == {0.0}
    assert {continuous.laplace(rng, math.inf) for _ in range(100)} == {math.inf, -math.inf}
    for _ in range(100):
        assert abs(continuous.gamma(rng, 1e18) / 1e18 - 1.0) < 1e-8
        assert abs(continuous.beta(rng, 1e18, 1.0) - 1.0) < 1e-16
        assert 0.0 < continuous.beta(rng, 1.0, 1e18) < 1e-16
        assert 0.0 <= continuous.gamma(rng, 1e-3) < 20.0


CONTINUOUS_MISTAKES = [
    ("laplace", (1.0,), "size if word & _ONE else -size", "size"),
    ("laplace", (1.0,), "size = -scale * math", "size = -1.01 * scale * math"),
    ("exponential", (), "-math.log(uniform_positive(rng))", "-math.log1p(uniform_positive(rng))"),
    ("normal", (), "np.uint64(255)", "np.uint64(127)"),
    ("normal", (), "_F[layer] + uniform(rng)", "_F[layer + 1] + uniform(rng)"),
    ("gamma", (1.5,), "math.sqrt(9.0 * d)", "math.sqrt(8.0 * d)"),
    ("gamma", (1.5,), "shape - 1.0 / 3.0", "shape - 1.0 / 2.0"),
    ("gamma", (1.0,), "y - y * y * y / 3.0)", "y + y * y * y / 3.0)"),
    ("gamma", (1.0,), "0.0331 * square * square", "-0.0331 * square * square"),
    ("gamma", (0.5,), "_gamma(rng, shape + 1.0) * math.exp", "_gamma(rng, shape) * math.exp"),
    ("beta", (3.0, 5.0), "x = _gamma(rng, a)", "x = _gamma(rng, b)"),
    ("beta", (0.1, 4.0), "_log_gamma_variable(rng, a)\n", "_log_gamma_variable(rng, 2 * a)\n"),
]


@pytest.mark.parametrize(("name", "parameters", "right", "wrong"), CONTINUOUS_MISTAKES)
def test_a_mistake_in_a_continuous_sampler_is_noticed(name, parameters, right, wrong) -> None:
    law = next(law for n, p, law, _ in LAWS if n == name and p == parameters)
    changed = altered(continuous, right, wrong)
    count = 10_000_000 if name == "normal" else 1_000_000  # wedges have a hundredth of the draws
    assert not agree(law_pvalues(getattr(changed, name), parameters, law, count))
