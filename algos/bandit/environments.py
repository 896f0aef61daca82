"""Environments with K arms: an arm pays independent rewards in [0, 1], or those of a table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from algos.dispatch import implements
from algos.environments import block_regret, number_of_arms, pull, timeless
from algos.random.continuous import beta
from algos.random.discrete import binomial
from algos.random.generator import Rng, uniform


class BernoulliArms(NamedTuple):
    """Arm j pays 1 with probability means[j], else 0. A block is one binomial draw: O(1)."""

    means: np.ndarray  # float64 (K,)
    gaps: np.ndarray  # float64 (K,), max(means) - means


class FiniteSupportArms(NamedTuple):
    """Arm j pays values[j, v] with probability probabilities[j, v].

    A block is one multinomial draw, taken as a chain of conditional binomials: O(V).
    """

    values: np.ndarray  # float64 (K, V) in [0, 1]
    probabilities: np.ndarray  # float64 (K, V), rows sum to 1; short supports are padded with 0
    means: np.ndarray  # float64 (K,)
    gaps: np.ndarray  # float64 (K,)


class BetaArms(NamedTuple):
    """Arm j pays a Beta(a[j], b[j]) variable. A block sums its draws: O(n)."""

    a: np.ndarray  # float64 (K,)
    b: np.ndarray  # float64 (K,)
    means: np.ndarray  # float64 (K,)
    gaps: np.ndarray  # float64 (K,)


class UniformArms(NamedTuple):
    """Arm j pays a variable uniform on [low[j], high[j]]. A block sums its draws: O(n)."""

    low: np.ndarray  # float64 (K,)
    high: np.ndarray  # float64 (K,)
    means: np.ndarray  # float64 (K,)
    gaps: np.ndarray  # float64 (K,)


class RewardTable(NamedTuple):
    """Arm j pays rewards[t - 1, j] in round t: nothing is drawn. A block sums its column: O(n)."""

    rewards: np.ndarray  # float64 (rounds, K) in [0, 1], read-only
    means: np.ndarray  # float64 (K,), the columns' means
    gaps: np.ndarray  # float64 (K,)


Arms = BernoulliArms | FiniteSupportArms | BetaArms | UniformArms | RewardTable
ARMS = (BernoulliArms, FiniteSupportArms, BetaArms, UniformArms, RewardTable)


@implements(number_of_arms, *ARMS)
def count_arms(env: Arms) -> int:
    """K."""
    return env.means.shape[0]


@implements(timeless, BernoulliArms, FiniteSupportArms, BetaArms, UniformArms)
def drawn_alike(env: Arms) -> bool:
    """All but a table."""
    return True


@implements(block_regret, *ARMS)
def gap_times_plays(env: Arms, action: int, n: int) -> float:
    """Δ_j n."""
    return env.gaps[action] * n


@implements(pull, BernoulliArms)
def pull_bernoulli(env: BernoulliArms, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """One binomial draw."""
    if n == 1:  # the same law as Binomial(1, μ), an order of magnitude cheaper
        return 1.0 if uniform(rng) < env.means[arm] else 0.0
    return float(binomial(rng, n, env.means[arm]))


@implements(pull, FiniteSupportArms)
def pull_finite(env: FiniteSupportArms, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """How often each value comes, given how often those before it did."""
    left, mass, total = n, 1.0, 0.0
    last = env.values.shape[1] - 1
    for v in range(last):
        p = env.probabilities[arm, v]
        if left == 0:
            break
        if p > 0.0:
            count = left if p >= mass else binomial(rng, left, p / mass)
            total += env.values[arm, v] * count
            left -= count
            mass -= p
    return total + env.values[arm, last] * left


@implements(pull, BetaArms)
def pull_beta(env: BetaArms, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """One draw a round."""
    total = 0.0
    for _ in range(n):
        total += beta(rng, env.a[arm], env.b[arm])
    return total


@implements(pull, UniformArms)
def pull_uniform(env: UniformArms, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """One draw a round."""
    low, width = env.low[arm], env.high[arm] - env.low[arm]
    total = 0.0
    for _ in range(n):
        total += low + width * uniform(rng)
    return total


@implements(pull, RewardTable)
def pull_table(env: RewardTable, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """The sum of the rows asked for."""
    total = 0.0
    for i in range(n):
        total += env.rewards[t - 1 + i * step, arm]
    return total
