"""Kernels against the plain references on random rewards: the same distribution of regret.

The kernels draw whole blocks of rewards at once, the references one reward a round, so only
distributions can be compared. Instances are drawn afresh from a seeded generator.

Failure probability: every comparison makes three tests (Welch's z on the mean regret, a
two-sample Kolmogorov-Smirnov test on the regret, another on the pulls of one arm), each at level
1e-6 / (3 · number of comparisons). If kernels and references agree, a run with fresh seeds fails
with probability at most 1e-6 (up to the normal approximation of the z); the seeds are fixed, so
a failure means that something changed.
"""

from math import inf
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from reference.compare import mutant
from reference.distribution import Floats, disagreements, kernel_sample, reference_sample
from reference.finding import home, reference

WIDE, NARROW = (0.05, 0.95), (0.35, 0.65)

# Algorithm, epsilon, parameters, T, K and the range of the random means. The ranges are such that
# what a run decides (which arms an epoch removes, which episode ends it) differs between runs.
SETTINGS: list[tuple[str, float | None, dict[str, float], int, int, tuple[float, float]]] = [
    ("ucb1", None, {}, 1_000, 3, WIDE),
    ("ucb1", None, {}, 500, 6, WIDE),
    ("kl_ucb", None, {}, 120, 3, WIDE),
    ("kl_ucb", None, {"c": 3.0}, 100, 4, WIDE),
    ("successive_elimination", None, {"beta": 0.5}, 3_000, 4, NARROW),
    ("successive_elimination", None, {}, 6_000, 3, (0.28, 0.72)),
    ("dp_se", 0.05, {"beta": 0.5}, 6_000, 4, (0.3, 0.8)),
    ("dp_se", 1.0, {"beta": 0.5}, 4_000, 4, NARROW),
    ("dp_se", inf, {"beta": 0.2}, 4_000, 4, NARROW),
    ("adap_ucb", 0.3, {"alpha": 1.0}, 3_000, 3, WIDE),
    ("adap_ucb", 1.0, {"alpha": 1.0}, 2_000, 5, WIDE),
    ("adap_ucb", inf, {}, 2_500, 4, WIDE),
    ("adap_klucb", 0.3, {"alpha": 1.0}, 3_000, 3, WIDE),
    ("adap_klucb", 1.0, {"alpha": 1.0}, 2_000, 5, WIDE),
    ("adap_klucb", inf, {}, 1_000, 4, WIDE),
    ("anytime_lazy_ucb", 0.5, {}, 2_000, 4, WIDE),
    ("anytime_lazy_ucb", 2.0, {}, 1_500, 5, WIDE),
    ("anytime_lazy_ucb", inf, {}, 1_500, 4, WIDE),
]
OTHER_ARMS = ("finite_support", "beta", "uniform")
COMPARISONS = len(SETTINGS) + len(OTHER_ARMS)
LEVEL = 1e-6 / (3 * COMPARISONS)


def bernoulli(number: int) -> tuple[dict[str, Any], Floats]:
    """The random Bernoulli instance of a setting, and its means."""
    K, (low, high) = SETTINGS[number][-2:]
    means = np.random.default_rng([2024, number]).uniform(low, high, K)
    return {"name": "bernoulli", "means": means.tolist()}, means


def other(name: str, rng: np.random.Generator, K: int) -> tuple[dict[str, Any], Floats]:
    """A random instance of another arm distribution and its means."""
    if name == "finite_support":
        values = rng.random((K, 3))
        probabilities = rng.dirichlet([1.0, 1.0, 1.0], K)
        instance = {"values": values.tolist(), "probabilities": probabilities.tolist()}
        return {"name": name, **instance}, (values * probabilities).sum(axis=1)
    if name == "beta":
        a, b = rng.uniform(0.3, 3.0, (2, K))
        return {"name": name, "a": a.tolist(), "b": b.tolist()}, a / (a + b)
    low, high = np.sort(rng.random((2, K)), axis=0)
    return {"name": name, "low": low.tolist(), "high": high.tolist()}, (low + high) / 2


def compare_setting(number: int, module: ModuleType | None = None) -> list[str]:
    """The disagreements of a kernel with the same algorithm in `module`."""
    algorithm, epsilon, parameters, T, _, _ = SETTINGS[number]
    instance, means = bernoulli(number)
    keywords = parameters if epsilon is None else {"epsilon": epsilon, **parameters}
    play = getattr(module or home(algorithm), algorithm)
    expected = reference_sample(play, instance, means, T, number, keywords)
    assert len(np.unique(np.round(expected[0], 6))) > 1, "the setting leaves nothing to compare"
    kernel = kernel_sample(algorithm, instance, T, epsilon, parameters)
    return disagreements(kernel, expected, LEVEL)


@pytest.mark.parametrize(
    "number", range(len(SETTINGS)), ids=lambda n: f"{SETTINGS[n][0]}-{SETTINGS[n][1]}"
)
def test_regret_has_the_same_distribution(number: int) -> None:
    assert compare_setting(number) == []


@pytest.mark.parametrize("name", OTHER_ARMS)
def test_other_arms_give_the_same_distribution(name: str) -> None:
    instance, means = other(name, np.random.default_rng([2025, *name.encode()]), 3)
    keywords = {"epsilon": 2.0, "alpha": 1.0}
    expected = reference_sample(reference("adap_ucb"), instance, means, 800, 7, keywords)
    kernel = kernel_sample("adap_ucb", instance, 800, 2.0, {"alpha": 1.0})
    assert disagreements(kernel, expected, LEVEL) == []


@pytest.mark.parametrize(
    ("number", "function", "right", "wrong"),
    [
        (0, "ucb1", "sqrt(2.0 *", "sqrt(1.5 *"),
        (8, "dp_se", "2.0 * h_e +", "1.5 * h_e +"),
        (10, "adap", "1.0 / (epsilon * samples)", "3.0 / (epsilon * samples)"),
        (16, "anytime_lazy_ucb", "N[J], Phi[J] = 0, 0.0", "N[J] = 0"),
    ],
)
def test_a_planted_mistake_shifts_the_distribution(
    number: int, function: str, right: str, wrong: str
) -> None:
    """The comparison has power: the same samples with one mistake, and it rejects."""
    changed = mutant(function, right, wrong, home(SETTINGS[number][0]))
    assert compare_setting(number, changed) != []
