"""Samples of regret and pulls from kernels and plain references, and whether they agree."""

from collections.abc import Callable
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from algos import simulate
from reference.common import RewardSource, Trajectory

Floats = NDArray[np.float64]

REFERENCE_RUNS = 300
KERNEL_RUNS = 3_000


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


def disagreements(
    kernel: tuple[Floats, Floats], reference: tuple[Floats, Floats], level: float
) -> list[str]:
    """The tests that reject equality, with their statistics: three, each at `level`.

    Welch's z on the mean regret, a two-sample Kolmogorov-Smirnov test on the regret, and another
    on the pulls of the arm whose pulls vary most.
    """
    (regret, pulls), (expected_regret, expected_pulls) = kernel, reference
    found = []
    gap = float(regret.mean() - expected_regret.mean())
    error = sqrt(sum(sample.var(ddof=1) / len(sample) for sample in (regret, expected_regret)))
    if abs(gap) > stats.norm.isf(level / 2) * error + 1e-9 * abs(expected_regret.mean()):
        found.append(f"mean regret differs by {gap:.4g}, standard error {error:.4g}")
    # The arm whose pulls vary most; rounding keeps equal regrets equal in both samples.
    arm = int(np.argmax(expected_pulls.var(axis=0)))
    for what, got, expected in (
        ("regret", np.round(regret, 6), np.round(expected_regret, 6)),
        (f"pulls of arm {arm}", pulls[:, arm], expected_pulls[:, arm]),
    ):
        ks = stats.ks_2samp(got, expected, method="asymp")
        if ks.pvalue < level:
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
