"""Every sampler against its exact law, the parts of the binomial against exact numbers.

Each sampler is drawn at least 10^7 times in all. About 500 p-values are compared with LEVEL, so
with fresh seeds the file fails with probability at most 5e-7 (as far as chi-square and normal laws
hold in the tails of the statistics). Planted mistakes are found by the same functions.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from reference.sampling import (
    altered,
    binomial_pvalues,
    cells_pvalue,
    continuous_pvalues,
    draws,
    normal_pvalue,
    rare_pvalue,
)
from scipy import special, stats

from algos.maths import stirling
from algos.random import continuous, discrete, generator
from algos.random.seeding import state

LEVEL = 1e-9


def agree(pvalues: list[float]) -> bool:
    """Whether none rejects (a NaN does)."""
    return all(value > LEVEL for value in pvalues)


# Continuous laws ---------------------------------------------------------------------------------


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


# Counts ------------------------------------------------------------------------------------------

GEOMETRIC = (1e-12, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.8, 1 - 1e-9)
BINOMIAL = [
    *((n, p) for n in (1, 5, 8, 9, 16, 17, 63, 64) for p in (1e-6, 0.01, 0.1, 0.3, 0.5, 0.8)),
    *((n, p) for n in (65, 100, 1_000) for p in (1e-6, 0.01, 0.1, 0.3, 0.5, 0.8, 1 - 1e-4)),
    *((n, p) for n in (10**6, 10**9) for p in (1e-12, 1e-6, 0.01, 0.3, 0.5, 0.8, 1 - 1e-9)),
    *((10**12, p) for p in (1e-12, 1e-11, 1e-6, 0.01, 0.5, 0.8, 1 - 1e-9)),
    *((10**15, p) for p in (1e-12, 1e-6, 0.1, 0.5, 0.8)),
    *((10**18, p) for p in (1e-18, 1e-12, 1e-6, 0.1, 0.3, 0.5, 0.8)),
    *((2**61, p) for p in (1e-12, 0.01, 0.5, 0.8)),
    (20, 0.5),
    (67, 0.15),  # the smallest mean for transformed rejection
    (105, 0.095),  # the largest for inversion
    (10**7, 1e-6),
]


def geometric_pvalues(module: ModuleType, p: float, count: int) -> list[float]:
    """Cells, and the mean where it is not made of few draws."""
    x = draws(module.geometric, state(21), count, p)
    assert (x >= 0.0).all() and (x == np.floor(x)).all()
    edges = np.unique(np.floor(np.log1p(-np.arange(1, 100) / 100) / math.log1p(-p)))
    above = np.exp((edges + 1.0) * math.log1p(-p))
    chances = -np.diff(np.concatenate([[1.0], above, [0.0]]))
    found = [cells_pvalue(np.bincount(np.searchsorted(edges, x), minlength=len(chances)), chances)]
    if count * (1 - p) > 1e4:
        z = (x - (1.0 - p) / p) / (math.sqrt(1.0 - p) / p)
        found.append(normal_pvalue(z.sum() / math.sqrt(count)))
        fourth = 9.0 + p * p / (1.0 - p)
        found.append(normal_pvalue(((z * z).sum() - count) / math.sqrt(count * (fourth - 1.0))))
    return found


@pytest.mark.parametrize("p", GEOMETRIC)
def test_geometric(p) -> None:
    found = geometric_pvalues(discrete, p, 1_300_000)
    assert agree(found), found


def binomial_draws_pvalues(module: ModuleType, n: int, p: float, count: int) -> list[float]:
    return binomial_pvalues(draws(module.binomial, state(23), count, n, p, whole=True), n, p)


@pytest.mark.parametrize("n", sorted({n for n, _ in BINOMIAL}))
def test_binomial(n) -> None:
    for p in [p for m, p in BINOMIAL if m == n]:
        found = binomial_draws_pvalues(discrete, n, p, 200_000)
        assert agree(found), (p, found)


def test_binomial_is_drawn_10_million_times() -> None:
    assert len(BINOMIAL) * 200_000 >= 10_000_000


@pytest.mark.parametrize("p", [1e-18, 1e-12, 0.3, 0.5, 1 - 1e-9, 1.0])
def test_edges_of_binomial(p) -> None:
    rng = state(2)
    for n in (0, 1, 8, 64, 65, 2**53 + 1, 2**61 - 1, 2**61):
        assert discrete.binomial(rng, n, 0.0) == 0 and discrete.binomial(rng, n, -1.0) == 0
        assert discrete.binomial(rng, n, 1.0) == n and discrete.binomial(rng, n, 1.5) == n
        x = draws(discrete.binomial, rng, 1_000, n, p, whole=True)
        assert x.min() >= 0 and x.max() <= n


def test_counts_are_integers() -> None:
    """A uint64 among the returned values would turn them all into floats."""
    rng = state(2)
    assert all(type(discrete.binomial(rng, n, 0.5)) is int for n in (0, 5, 50, 500, 10**18))
    assert type(discrete.below(rng, 5)) is int


def test_edges_of_geometric() -> None:
    rng = state(2)
    assert discrete.geometric(rng, 1.0) == 0.0 and discrete.geometric(rng, 2.0) == 0.0
    assert discrete.geometric(rng, 0.0) == math.inf
    x = draws(discrete.geometric, rng, 100_000, 1e-18)
    assert normal_pvalue((x.mean() / 1e18 - 1.0) * math.sqrt(100_000)) > LEVEL


MULTINOMIAL = [
    (10, (0.2, 0.5, 0.3)),
    (100, (0.0, 0.05, 0.0, 0.35, 0.6, 0.0)),
    (10**6, (0.01, 0.49, 0.25, 0.25)),
    (10**18, (0.125, 0.5, 0.375)),
]


@njit(error_model="numpy")
def fill_counts(sample, rng, n, p, out):
    for i in range(out.shape[0]):
        sample(rng, n, p, out[i])


def multinomial_pvalues(module: ModuleType, n: int, p: tuple[float, ...]) -> list[float]:
    """Each count's binomial law, and the covariances."""
    x = np.empty((1_000_000, len(p)), np.int64)
    chances = np.array(p)
    fill_counts(module.multinomial, state(25), n, chances, x)
    if (x.sum(axis=1) != n).any() or (x < 0).any() or x[:, chances == 0.0].any():
        return [0.0]
    found = []
    positive = np.flatnonzero(chances)
    for v in positive:
        found += binomial_pvalues(x[:, v], n, p[v])
    z = (x[:, positive] - n * chances[positive]) / np.sqrt(n * chances * (1 - chances))[positive]
    for v in range(len(positive)):
        for w in range(v):
            a, b = p[positive[v]], p[positive[w]]
            products = z[:, v] * z[:, w] + math.sqrt(a * b / (1 - a) / (1 - b))
            found.append(normal_pvalue(products.mean() / products.std() * math.sqrt(len(x))))
    return found


@pytest.mark.parametrize(("n", "p"), MULTINOMIAL)
def test_multinomial(n, p) -> None:
    found = multinomial_pvalues(discrete, n, p)
    assert agree(found), found


def test_what_rounding_leaves_goes_to_a_possible_outcome() -> None:
    counts = np.empty(12, np.int64)
    p = np.array([0.1] * 10 + [0.0, 0.0])
    for i in range(1_000):
        discrete.multinomial(state(i), 10**18, p, counts)
        assert counts.sum() == 10**18 and (counts[10:] == 0).all()


DISCRETE_MISTAKES: list[tuple[Callable[[ModuleType], list[float]], str, str]] = [
    (lambda m: geometric_pvalues(m, 0.3, 200_000), "/ math.log1p(-p))", "/ -p)"),
    (lambda m: geometric_pvalues(m, 0.3, 200_000), "(uniform_positive(rng)) /", "(0.999) /"),
    *(
        (lambda m, n=n, p=p: binomial_draws_pvalues(m, n, p, 1_000_000), right, wrong)
        for n, p, right, wrong in [
            (5, 0.3, "for _ in range(n):", "for _ in range(n + 1):"),
            (50, 0.3, "p * 2.0**64", "p * 2.0**63"),
            (50, 0.3, "np.uint64(64 - n)", "np.uint64(63 - n)"),
            (50, 0.3, "won |= differs & bit", "won |= differs"),
            (50, 0.3, "undecided ^= differs", "undecided ^= differs & bit"),
            (50, 0.3, "0x3333333333333333", "0x3333333333333331"),
            (100, 0.95, "return n - _rarer(rng, n, 1.0 - p)", "return _rarer(rng, n, 1.0 - p)"),
            (100, 0.05, "return k - 1", "return k"),
            (100, 0.05, "float(n - k + 1)", "float(n - k)"),
            (100, 0.05, "n * math.log1p(-p)", "n * -p"),
            (100, 0.3, "(2.83 + 5.1 / b)", "(2.5 + 5.1 / b)"),
            (100, 0.3, "0.92 - 4.2 / b", "0.99"),
            (100, 0.3, "0.5 - p - part", "- p - part"),
            (10**6, 0.3, "deviance(rest, Q, -z)", "0.9 * deviance(rest, Q, -z)"),
            (10**18, 0.3, "int(mode) + int(beyond)", "int(mode + beyond)"),
        ]
    ),
    (lambda m: multinomial_pvalues(m, *MULTINOMIAL[0]), "left, p[v] / mass)", "left, p[v])"),
    (lambda m: multinomial_pvalues(m, *MULTINOMIAL[0]), "        mass -= p[v]\n", ""),
]


@pytest.mark.parametrize(("pvalues", "right", "wrong"), DISCRETE_MISTAKES)
def test_a_mistake_in_a_count_is_noticed(pvalues, right, wrong) -> None:
    changed = altered(discrete, right, wrong)
    assert not agree(pvalues(changed))


# The binomial's parts ----------------------------------------------------------------------------


@cache
def log_factorial(k: int) -> Decimal:
    """ln k! by Stirling's series at 200 and beyond, 45 digits."""
    with localcontext() as context:
        context.prec = 60
        z, product = k + 1, 1
        while z < 200:
            product *= z
            z += 1
        Z, half = Decimal(z), Decimal("0.5")
        two_pi = Decimal("6.28318530717958647692528676655900576839433879875021164194989")
        total = (Z - half) * Z.ln() - Z + two_pi.ln() * half - Decimal(product).ln()
        for j, bernoulli in enumerate(special.bernoulli(20)[2::2], 1):
            b = Fraction(bernoulli).limit_denominator(10**5)
            total += Decimal(b.numerator) / b.denominator / (2 * j * (2 * j - 1)) / Z ** (2 * j - 1)
        return total


def test_errors_of_stirlings_formula() -> None:
    with localcontext() as context:
        context.prec = 60
        root = Decimal("6.28318530717958647692528676655900576839433879875021164194989").ln() / 2
        for k in [*range(1, 300), 10**4, 10**9]:
            z = Decimal(k)
            expected = float(log_factorial(k - 1) - ((z - Decimal("0.5")) * z.ln() - z + root))
            assert stirling.stirling_error(float(k)) == pytest.approx(expected, abs=2e-14)
            z = Decimal(k - 1) + Decimal("0.5")
            expected = float(log_factorial(k - 1) - (z * z.ln() - z + root))
            assert stirling.half_error(k - 0.5) == pytest.approx(expected, abs=2e-14)


def deviance_error(module: ModuleType) -> float:
    """The largest relative error, far from the mean and close to it."""
    worst = 0.0
    rng = np.random.default_rng(0)
    with localcontext() as context:
        context.prec = 60
        for _ in range(2_000):
            mean = 10.0 ** rng.uniform(0, 18)
            difference = mean * rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9, -0.1)
            x = mean + difference
            difference = x - mean  # exactly, as the two are close, or to a rounding
            X, D = Decimal(mean) + Decimal(difference), Decimal(difference)
            exact = X * (X / Decimal(mean)).ln() - D
            worst = max(worst, abs(module.deviance(x, mean, difference) / float(exact) - 1.0))
    return worst


def test_deviances_lose_no_digits() -> None:
    assert deviance_error(stirling) < 2e-14


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("w * (1 / 11 + w * (1 / 13))", "w * (1 / 11)"),
        ("(1 / 3 + w", "(1 / 2 + w"),
        ("abs(v) >= 0.1", "abs(v) >= 0.5"),
    ],
)
def test_a_mistake_in_the_deviance_is_noticed(right, wrong) -> None:
    assert deviance_error(altered(stirling, right, wrong)) > 2e-14


def log_chance_error(module: ModuleType, n: int, p: float) -> float:
    """Largest error of the acceptance's log ratio within 9 standard deviations.

    Against the ratio for the chance of which n p, rounded, is the mean.
    """
    N, mean = float(n), n * p
    mode = math.floor((N + 1.0) * p)
    part = mean - mode
    M, Q, z = mean + p, N - mean + (1.0 - p), 0.5 - p - part
    exact = Fraction(mean) / n
    worst = 0.0
    with localcontext() as context:
        context.prec = 60
        odds = Decimal(exact.numerator) / (exact.denominator - exact.numerator)
        for sds in np.linspace(-9, 9, 101):
            beyond = math.floor(sds * math.sqrt(mean * (1.0 - p)))
            k = mode + beyond
            if 0 <= k <= n:
                ratio = log_factorial(mode) - log_factorial(k) + beyond * odds.ln()
                ratio += log_factorial(n - mode) - log_factorial(n - k)
                got = module._log_chance(beyond + z, M, Q) - module._log_chance(z, M, Q)
                worst = max(worst, abs(got - float(ratio)))
    return worst


@pytest.mark.parametrize("n", [20, 65, 100, 10**4, 10**7, 10**9, 10**12, 10**15, 10**18, 2**61])
def test_log_chances_are_exact(n) -> None:
    for p in (0.5, 0.3, 0.01, 10.5 / n):
        if 10.0 <= n * p <= 0.5 * n:
            assert log_chance_error(discrete, n, p) < 1e-13


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("- half_error(rest)", ""),
        ("deviance(rest, Q, -z)", "deviance(rest, Q, z)"),
        ("k, rest = M + z, Q - z", "k, rest = M + z + 1e-6, Q - z"),
    ],
)
def test_a_mistake_in_log_chances_is_noticed(right, wrong) -> None:
    assert log_chance_error(altered(discrete, right, wrong), 10**4, 0.3) > 1e-13


def hat_holds(module: ModuleType) -> bool:
    """Whether the hat lies above the chances, and the box of sure acceptance below, on a grid."""
    us = np.concatenate([np.geomspace(1e-6, 0.07, 5_000), np.linspace(0.07, 0.5, 20_000)])
    for mean in (10.0, 10.4, 11.0, 11.5, 12.3, 14.7, 17.2, 20.0, 30.0, 70.0, 300.0, 1e3, 1e5):
        for p in (0.5, 0.4, 0.2, 0.05, 1e-3):
            n = math.ceil(mean / p)
            a, b, alpha, v_r = module._hat(p, math.sqrt(n * p * (1.0 - p)))
            mode = math.floor((n + 1) * p)
            for sign in (-1.0, 1.0):
                k = np.floor((2.0 * a / us + b) * sign * (0.5 - us) + n * p + 0.5)
                chance = np.exp(stats.binom.logpmf(k, n, p) - stats.binom.logpmf(mode, n, p))
                v = chance * (a / (us * us) + b) / alpha  # accepted below
                if v.max() > 1.0 or v[us >= 0.07].min() < v_r:
                    return False
    return True


def test_the_hat_holds() -> None:
    assert hat_holds(discrete)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(2.83 + 5.1 / b)", "(2.75 + 5.1 / b)"),
        ("0.92 - 4.2 / b", "0.93 - 4.2 / b"),
        ("-0.0873 + 0.0248 * b", "-0.0873 + 0.0148 * b"),
        ("1.15 + 2.53", "0.15 + 2.53"),
    ],
)
def test_a_mistake_in_the_hat_is_noticed(right, wrong) -> None:
    assert not hat_holds(altered(discrete, right, wrong))


# Compiled and plain ------------------------------------------------------------------------------

SAMPLED = """
import warnings
import numpy as np
from algos.random import continuous, discrete, generator
from algos.random.seeding import state
warnings.simplefilter("error")
rng = state(5, (6,), 7)
with np.errstate(over="ignore"):
    for _ in range(200):
        print(generator.uniform(rng), generator.uniform_positive(rng), discrete.below(rng, 10**12))
        print(continuous.exponential(rng), continuous.laplace(rng, 2.0), continuous.normal(rng))
    for shape in (1e-3, 0.5, 1.0, 7.0, 1e18):
        for _ in range(40):
            print(continuous.gamma(rng, shape), continuous.beta(rng, shape, 0.3))
            print(continuous.beta(rng, 3.0, shape))
    for p in (1e-12, 1e-3, 0.1, 0.5, 0.8):
        for n in (0, 1, 5, 30, 64, 100, 1000, 10**6, 10**12, 10**18):
            print(*(discrete.binomial(rng, n, p) for _ in range(10)))
        print(discrete.geometric(rng, p))
    counts = np.empty(3, np.int64)
    for n in (5, 10**3, 10**18):
        discrete.multinomial(rng, n, np.array([0.2, 0.3, 0.5]), counts)
        print(counts)
"""


def test_samplers_draw_the_same_compiled_and_plain() -> None:
    def printed(disable: str) -> str:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        command = [sys.executable, "-c", SAMPLED]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert printed("1") == printed("0")


@pytest.mark.parametrize("name", ["binomial", "_transformed_rejection"])
def test_no_references_are_counted(name) -> None:
    """They would cost as much as the draw."""
    function = getattr(discrete, name)

    def counted(**options: Any) -> bool:
        fresh = njit(error_model="numpy", **options)(function.py_func)
        fresh(state(1), 1_000, 0.3)
        return "NRT_incref" in fresh.inspect_llvm(fresh.signatures[0])

    assert counted()
    assert not counted(**{k: v for k, v in function.targetoptions.items() if k == "_nrt"})
