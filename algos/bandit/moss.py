"""MOSS and IMED, non-private baselines that play round by round.

Sources: moss, Audibert & Bubeck (2010): argmax_j  mean_j + √(max{0, ln(T / (K n_j))} / n_j), which
needs T; imed, Honda & Takemura (2015): argmin_j  n_j kl(mean_j, best mean) + ln n_j, anytime. Both
pull each arm once first, in index order (an unpulled arm's index is infinite).
Guarantee: none. Regret: moss, 25 √(K T) in the worst case and O(K ln(T Δ² / K) / Δ), Δ the smallest
gap; imed, Σ_a Δ_a ln T / kl(μ_a, μ*) (1 + o(1)) on Bernoulli arms.

Neither index moves with t, so a stretch of rounds goes to one arm until its own pulls decide
otherwise, and only that is checked:

- moss: the other indices rest; while the played arm's is above the largest of them, or is the
  same number as before the pull (a tie is kept while no index changes), it is played again. Its
  mean plus the width it will have some pulls later is a lower bound that needs no logarithm.
- imed: while the played arm has the best mean its index is ln n, and the others' indices grow
  with that mean. They are computed at a mean `slack` lower; until the mean falls to it or ln n
  reaches the smallest of them, the arm stays the arg min. The margin is far above rounding, so
  the actions are those of the plain loop; `slack` only sets how far to look.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.kl import divergence
from algos.maths.ties import argmax, argmin
from algos.random.generator import Rng
from algos.registry import Algorithm, register
from algos.traces import record


@compiled
def moss_index(mean: float, n: int, T: int, K: int) -> float:
    """mean + √(max{0, ln(T / (K n))} / n)."""
    return mean + moss_width(n, T, K)


@compiled
def moss_width(n: int, T: int, K: int) -> float:
    """√(max{0, ln(T / (K n))} / n); it falls with n."""
    return math.sqrt(max(0.0, math.log(T / (float(K) * n))) / n)


@compiled
def imed_index(mean: float, n: int, best: float) -> float:
    """n kl(mean, best) + ln n, for mean ≤ best; it is minimised."""
    return n * divergence(mean, best - mean) + math.log(n)


class MOSS(NamedTuple):
    """The parameters of `moss`."""


@implements(play, MOSS)
def moss(algorithm: MOSS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play the arm of the largest MOSS index for T rounds."""
    K = number_of_arms(env)
    total = np.zeros(K)
    n = np.ones(K, np.int64)
    index = np.zeros(K)
    for j in range(K):
        total[j] = pull(env, rng, j, j + 1, 1)
        index[j] = moss_index(total[j], 1, T, K)
        record(trace, env, j + 1, j, 1)
    t = K
    while t < T:
        start = t + 1
        arm = argmax(index, rng)
        ceiling = -math.inf
        for j in range(K):
            if j != arm:
                ceiling = max(ceiling, index[j])
        far, least = 0, 0.0  # a number of pulls ahead, and the width there
        while t < T:
            t += 1
            total[arm] += pull(env, rng, arm, t, 1)
            n[arm] += 1
            if n[arm] > far:
                far = n[arm] + n[arm] // 16
                least = moss_width(far, T, K)
            before = index[arm]
            index[arm] = math.inf  # stands for any number above the ceiling
            if total[arm] / n[arm] + least <= ceiling:
                index[arm] = moss_index(total[arm] / n[arm], n[arm], T, K)
                if index[arm] <= ceiling and index[arm] != before:
                    break
        record(trace, env, start, arm, t - start + 1)


class IMED(NamedTuple):
    """The parameters of `imed`."""


@implements(play, IMED)
def imed(algorithm: IMED, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play the arm of the smallest IMED index for T rounds."""
    K = number_of_arms(env)
    total = np.zeros(K)
    n = np.ones(K, np.int64)
    mean = np.zeros(K)
    index = np.zeros(K)
    for j in range(K):
        total[j] = mean[j] = pull(env, rng, j, j + 1, 1)
        record(trace, env, j + 1, j, 1)
    t, start, arm, slack = K, 0, 0, 0.01
    while t < T:
        best = mean.max()
        kept = start == t  # a tie, if no index has changed
        for j in range(K):
            value = imed_index(mean[j], n[j], best)
            kept = kept and value == index[j]
            index[j] = value
        if not kept:
            arm = argmin(index, rng)
        start = t + 1
        low, room = math.inf, 0  # the stretch's least mean, and its most pulls of `arm`
        if mean[arm] == best:
            low, floor = best - slack, math.inf
            for j in range(K):
                if j != arm:
                    low = max(low, mean[j])
            for j in range(K):
                if j != arm:
                    floor = min(floor, imed_index(mean[j], n[j], low))
            floor -= 1e-6  # far above what rounding moves an index by
            room = T if floor > math.log(T) else math.ceil(math.exp(floor)) - 1
        while True:
            t += 1
            total[arm] += pull(env, rng, arm, t, 1)
            n[arm] += 1
            if t == T or n[arm] > room or total[arm] < low * n[arm]:
                break
        if room > 0:  # look further where the pulls ended the stretch, nearer where the mean did
            slack = max(1.0 / n[arm], 0.5 * slack) if n[arm] > room else min(1.0, 2.0 * slack)
        mean[arm] = total[arm] / n[arm]
        record(trace, env, start, arm, t - start + 1)


register(
    Algorithm(
        name="moss",
        family="bandit",
        form=MOSS,
        source="Audibert & Bubeck 2010",
        summary="mean + √(max{0, ln(T/(K n))}/n), round by round",
        regret="O(√(K T)), O(K ln T / Δ)",
        anytime=False,
        cost=lambda T, sizes, epsilon: 12.0 * T,
        version=1,
    )
)

register(
    Algorithm(
        name="imed",
        family="bandit",
        form=IMED,
        source="Honda & Takemura 2015",
        summary="least n·kl(mean, best) + ln n, round by round",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        cost=lambda T, sizes, epsilon: 8.0 * T + 300.0 * sizes["K"] * sizes["K"] * math.log(T),
        version=1,
    )
)
