"""IMED, minimum empirical divergence.

Source: Honda & Takemura (2015): argmin_j  n_j d(mean_j, best mean) + ln n_j, d the Bernoulli
relative entropy. Each arm is pulled once first, in index order. A tie is kept while no index
changes.
Guarantee: none. Regret: Σ_a Δ_a ln T / d(μ_a, μ*) (1 + o(1)) on Bernoulli arms. Anytime.

Floor and exactness. No index moves with t, so a stretch of rounds goes to one arm A until its own
pulls decide otherwise. It is cut into charts of at most `far` rounds, in each of which a line in S
and n, the sum of A's rewards and its pulls, keeps A ahead: a margin for `algos.bandit.margins`,
whose leaps are exact in the sense that is stated there.

- Where A has the best mean b its index is ln n, and arm j's is convex in b, so above its tangent:
  it stays above ln(n + far) while S / n is above a level. Also, A stays best above the other means.
- Where another arm has the best mean b, only A's index moves. It stays below the others' least, c,
  while n d(S / n, b) ≤ c - ln(n + far). That set of (n, S) is convex, so a chord of its border lies
  inside. (If A becomes the best it stays ahead too: its index is ln n then, and the others' grow.)

A margin that rounding could decide is left to the indices themselves, so on tables the actions are
those of the plain loop. Nothing depends on T. The cost is stretches, each of charts of some 40 K ns
as every arm's index is computed anew, and leaps within them; there are O(Σ ln T / d(μ_a, μ*))
stretches. With equal best arms the lead changes O(√T) times, and with it the time grows: 0.3 s at
T = 1e10. While no arm has paid anything the indices are ln n and the arms take turns, round by
round.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.costs import leaping
from algos.bandit.margins import HALF_LOG, play_on, resolved, smaller
from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.kl import divergence, lower_gap
from algos.maths.ties import argmin
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, register
from algos.traces import record


@compiled
def imed_index(mean: float, n: int, best: float) -> float:
    """n kl(mean, best) + ln n, for mean ≤ best; it is minimised."""
    return n * divergence(mean, best - mean) + math.log(n)


LEAST = 16  # rounds of a chart, or 2^-40 of the pulls; sets the cost only


@compiled
def chart_length(gap: float, steepness: float, N: int) -> int:
    """Rounds of a chart; sets the cost only.

    ln n may grow by `gap` before the indices meet, which `steepness`, in indices per mean, turns
    into a margin. The chart leaves a margin that a leap over all of it would need, or half.
    """
    left = min(0.5 * gap, steepness * math.sqrt(HALF_LOG * gap / N))
    return int(max(LEAST, N >> 40, N * min(1.0, gap - left)))


@compiled
def level_of_the_best(
    arm: int, mean: np.ndarray, n: np.ndarray, index: np.ndarray, far: int
) -> float:
    """Above which the best arm's mean keeps it ahead for `far` rounds, of pulls of its own."""
    b = mean[arm]
    log_far = math.log(n[arm] + far)
    level = 0.0
    for j in range(mean.size):
        if j != arm:
            steepness = n[j] * (b - mean[j]) / (b * (1.0 - b))
            if steepness == 0.0:  # as good as the best
                return 1.0
            level = max(level, mean[j], b - (index[j] - log_far) / steepness)
    return level


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
    t, arm, rounds = K, 0, 0
    while t < T:
        b = mean.max()
        kept = rounds == 1  # a tie, if no index has changed
        least, c, rival = math.inf, math.inf, 0  # the smallest index and the next
        smallest = 0
        for j in range(K):
            value = imed_index(mean[j], n[j], b)
            kept = kept and value == index[j]
            index[j] = value
            if value < least:
                smallest, rival, least, c = j, smallest, value, least
            elif value < c:
                rival, c = j, value
        if not kept:
            arm = smallest if least < c else argmin(index, rng)
        S, N = total[arm], n[arm]
        margin, toll, far = 0.0, 1.0, 1
        if least < c and b == 1.0:  # while rewards are 1 and ln n is below c
            margin, far = 1e-300, int(max(1.0, min(math.exp(c) * (1.0 - 1e-12), 2.0**62) - N))
        elif least < c and b > 0.0:
            leads = mean[arm] == b
            near = rival if leads else arm
            steepness = n[near] * (b - mean[near]) / (b * (1.0 - b))
            far = chart_length(c - least, steepness, N)
            if leads:
                toll = level_of_the_best(arm, mean, n, index, far)
                margin = S - toll * N
            elif math.log(N + far) < c:
                budget = c - math.log(N + far)
                border = N * (b - lower_gap(1.0 - b, budget / N))
                end = (N + far) * (b - lower_gap(1.0 - b, budget / (N + far)))
                margin, toll = S - border, (end - border) / far
            margin = resolved(margin, N)
        rounds, X, _ = play_on(env, rng, arm, t + 1, margin, toll, min(far, T - t))
        record(trace, env, t + 1, arm, rounds)
        t += rounds
        total[arm] += X
        n[arm] += rounds
        mean[arm] = total[arm] / n[arm]


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    """Between azize_fig3 and sajed_c2, 1.5 to 3 times from each: gaps aren't known here."""
    K = sizes["K"]
    return smaller(92.0 * K**0.9 * math.log(T) ** 2.5, 2.2 * K * T)


register(
    Algorithm(
        name="imed",
        family="bandit",
        form=IMED,
        source="Honda & Takemura 2015",
        summary="least n·kl(mean, best) + ln n, leaps of the leader",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        skips_ahead=True,
        cost=_cost,
        cost_by_gaps=leaping(15.0, 0.7, 2.7, 0.25, 4000.0),
        version=2,
    )
)
