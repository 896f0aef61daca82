"""Geometric, binomial and multinomial counts against their exact laws.

Each sampler is drawn at least 10^7 times in all. About 400 p-values are compared with LEVEL = 1e-9
(as far as chi-square and normal laws hold in the tails of the statistics).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from numba import njit
from reference.sampling import (
    LEVEL,
    agree,
    altered,
    binomial_pvalues,
    cells_pvalue,
    draws,
    normal_pvalue,
)

from algos.random import discrete
from algos.random.seeding import state

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
