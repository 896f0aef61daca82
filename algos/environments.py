"""Environments of the `bandit` and `full_information` families, as the compiled kernels see them.

An environment is a NamedTuple of arrays. A few functions make its protocol, and Numba picks
their implementation by the tuple's type when a kernel is compiled, so the seam costs nothing:

- `pull(env, rng, arm, t, n, step)` plays `arm` in the `n` rounds t, t + step, t + 2 step, …
  and returns the sum of the rewards;
- `observe(env, rng, t, n, out)` adds the sum of the rewards of every arm in the `n` rounds
  t … t + n - 1 to `out` (K,), arms in ascending order;
- `block_regret(env, arm, n)` is the pseudo-regret of `n` plays of `arm`.

Rewards lie in [0, 1]. Rounds are 1-based int64, arms 0-based. A new environment registers its
own implementations with `algos.dispatch.implements` in the same way, also from a plugin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from algos.dispatch import implements, is_a


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

    rewards: np.ndarray  # float64 (rounds, K) in [0, 1]
    means: np.ndarray  # float64 (K,), the columns' means
    gaps: np.ndarray  # float64 (K,)


def pull(env: Any, rng: np.random.Generator, arm: int, t: int, n: int, step: int = 1) -> float:
    """Sum of the rewards of `arm` in the `n` rounds t, t + step, … (compiled code only)."""
    raise TypeError("pull is resolved by Numba inside a compiled kernel")


def observe(env: Any, rng: np.random.Generator, t: int, n: int, out: np.ndarray) -> None:
    """Add the rewards of all arms in rounds t … t + n - 1 to `out` (compiled code only)."""
    raise TypeError("observe is resolved by Numba inside a compiled kernel")


def block_regret(env: Any, arm: int, n: int) -> float:
    """Pseudo-regret of `n` plays of `arm` (compiled code only)."""
    raise TypeError("block_regret is resolved by Numba inside a compiled kernel")


def number_of_arms(env: Any) -> int:
    """K, the number of arms of `env` (compiled code only)."""
    raise TypeError("number_of_arms is resolved by Numba inside a compiled kernel")


ARMS = (BernoulliArms, FiniteSupportArms, BetaArms, UniformArms, RewardTable)


@implements(number_of_arms)
def _number_of_arms(env: Any) -> Any:
    if not is_a(env, *ARMS):
        return None
    return lambda env: env.means.shape[0]


@implements(block_regret)
def _block_regret(env: Any, arm: Any, n: Any) -> Any:
    if not is_a(env, *ARMS):
        return None
    return lambda env, arm, n: env.gaps[arm] * n


@implements(observe)
def _observe(env: Any, rng: Any, t: Any, n: Any, out: Any) -> Any:
    if not is_a(env, *ARMS):
        return None

    def observe_all(env: Any, rng: Any, t: Any, n: Any, out: Any) -> None:
        for arm in range(out.size):  # rewards of distinct arms are independent
            out[arm] += pull(env, rng, arm, t, n)

    return observe_all


@implements(pull)
def _pull_bernoulli(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, BernoulliArms):
        return None

    def bernoulli(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        if n == 1:  # the same law as Binomial(1, μ), an order of magnitude cheaper
            return 1.0 if rng.random() < env.means[arm] else 0.0
        return float(rng.binomial(n, env.means[arm]))

    return bernoulli


@implements(pull)
def _pull_finite(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, FiniteSupportArms):
        return None

    def finite(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        left, mass, total = n, 1.0, 0.0
        last = env.values.shape[1] - 1
        for v in range(last):
            p = env.probabilities[arm, v]
            if left == 0:
                break
            if p > 0.0:
                count = left if p >= mass else rng.binomial(left, p / mass)
                total += env.values[arm, v] * count
                left -= count
                mass -= p
        return total + env.values[arm, last] * left

    return finite


@implements(pull)
def _pull_beta(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, BetaArms):
        return None

    def beta(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        total = 0.0
        for _ in range(n):
            total += rng.beta(env.a[arm], env.b[arm])
        return total

    return beta


@implements(pull)
def _pull_uniform(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, UniformArms):
        return None

    def uniform(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        low, width = env.low[arm], env.high[arm] - env.low[arm]
        total = 0.0
        for _ in range(n):
            total += low + width * rng.random()
        return total

    return uniform


@implements(pull)
def _pull_table(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
    if not is_a(env, RewardTable):
        return None

    def table(env: Any, rng: Any, arm: Any, t: Any, n: Any, step: Any = 1) -> Any:
        total = 0.0
        for i in range(n):
            total += env.rewards[t - 1 + i * step, arm]
        return total

    return table
