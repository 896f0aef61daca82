"""Kernels against the plain references on random rewards: the same distribution of regret.

The kernels draw whole blocks of rewards at once, the references one reward a round, so only
distributions can be compared. Instances are drawn afresh from a seeded generator.

Failure probability: every comparison makes three tests (Welch's z on the mean regret, a
two-sample Kolmogorov-Smirnov test on the regret, another on the pulls of one arm), each at level
1e-6 / (3 · number of comparisons). If kernels and references agree, a run with fresh seeds fails
with probability at most 1e-6 (up to the normal approximation of the z); the seeds are fixed, so
a failure means that something changed.
"""

from collections.abc import Callable
from math import inf, sqrt
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from reference import bandit as ref
from reference.common import RewardSource, Trajectory
from reference.compare import mutant
from scipy import stats

from algos import simulate

Floats = NDArray[np.float64]

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

REFERENCE_RUNS = 300
KERNEL_RUNS = 3_000


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


def rewards_of(instance: dict[str, Any], rng: np.random.Generator) -> RewardSource:
    """One fresh reward per call, drawn from the instance's arm."""
    if instance["name"] == "bernoulli":
        return lambda t, arm: float(rng.random() < instance["means"][arm])
    if instance["name"] == "finite_support":
        cumulative = np.cumsum(instance["probabilities"], axis=1).tolist()

        def draw(t: int, arm: int) -> float:
            u = rng.random()
            first, second, _ = cumulative[arm]
            value: float = instance["values"][arm][(u >= first) + (u >= second)]
            return value

        return draw
    if instance["name"] == "beta":
        return lambda t, arm: rng.beta(instance["a"][arm], instance["b"][arm])
    return lambda t, arm: rng.uniform(instance["low"][arm], instance["high"][arm])


def reference_sample(
    play: Callable[..., Trajectory],
    instance: dict[str, Any],
    means: Floats,
    T: int,
    seed: int,
    keywords: dict[str, float],
) -> tuple[Floats, Floats]:
    """Total pseudo-regret, shape (runs,), and pulls, shape (runs, K), of the plain reference."""
    K = len(means)
    pulls = np.empty((REFERENCE_RUNS, K))
    for run in range(REFERENCE_RUNS):
        rng = np.random.default_rng([seed, run])
        actions, _ = play(rewards_of(instance, rng), K, T, rng, **keywords)
        pulls[run] = np.bincount(actions, minlength=K)
    return pulls @ (means.max() - means), pulls


def disagreements(kernel: tuple[Floats, Floats], reference: tuple[Floats, Floats]) -> list[str]:
    """The tests that reject equality at LEVEL, with their statistics."""
    (regret, pulls), (expected_regret, expected_pulls) = kernel, reference
    found = []
    gap = float(regret.mean() - expected_regret.mean())
    error = sqrt(regret.var(ddof=1) / len(regret) + expected_regret.var(ddof=1) / REFERENCE_RUNS)
    if abs(gap) > stats.norm.isf(LEVEL / 2) * error + 1e-9 * abs(expected_regret.mean()):
        found.append(f"mean regret differs by {gap:.4g}, standard error {error:.4g}")
    # The arm whose pulls vary most; rounding keeps equal regrets equal in both samples.
    arm = int(np.argmax(expected_pulls.var(axis=0)))
    for what, got, expected in (
        ("regret", np.round(regret, 6), np.round(expected_regret, 6)),
        (f"pulls of arm {arm}", pulls[:, arm], expected_pulls[:, arm]),
    ):
        ks = stats.ks_2samp(got, expected, method="asymp")
        if ks.pvalue < LEVEL:
            found.append(f"{what}: KS distance {ks.statistic:.3f}, p = {ks.pvalue:.2g}")
    return found


def kernel_sample(
    algorithm: str,
    instance: dict[str, Any],
    T: int,
    epsilon: float | None,
    parameters: dict[str, float],
) -> tuple[Floats, Floats]:
    """The same two outcomes from the compiled kernel."""
    result = simulate(
        algorithm,
        instance=instance,
        epsilon=epsilon,
        T=T,
        replicates=KERNEL_RUNS,
        seed=1,
        checkpoints=[T],
        **parameters,
    )
    return result.regret[:, -1], result.pulls.astype(np.float64)


def compare_setting(number: int, module: ModuleType) -> list[str]:
    """The disagreements of a kernel with the same algorithm in `module`."""
    algorithm, epsilon, parameters, T, _, _ = SETTINGS[number]
    instance, means = bernoulli(number)
    keywords = parameters if epsilon is None else {"epsilon": epsilon, **parameters}
    play = getattr(module, algorithm)
    reference = reference_sample(play, instance, means, T, number, keywords)
    assert len(np.unique(np.round(reference[0], 6))) > 1, "the setting leaves nothing to compare"
    return disagreements(kernel_sample(algorithm, instance, T, epsilon, parameters), reference)


@pytest.mark.parametrize(
    "number", range(len(SETTINGS)), ids=lambda n: f"{SETTINGS[n][0]}-{SETTINGS[n][1]}"
)
def test_regret_has_the_same_distribution(number: int) -> None:
    assert compare_setting(number, ref) == []


@pytest.mark.parametrize("name", OTHER_ARMS)
def test_other_arms_give_the_same_distribution(name: str) -> None:
    instance, means = other(name, np.random.default_rng([2025, *name.encode()]), 3)
    keywords = {"epsilon": 2.0, "alpha": 1.0}
    reference = reference_sample(ref.adap_ucb, instance, means, 800, 7, keywords)
    kernel = kernel_sample("adap_ucb", instance, 800, 2.0, {"alpha": 1.0})
    assert disagreements(kernel, reference) == []


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
    assert compare_setting(number, mutant(function, right, wrong)) != []
