"""KL-UCB, the non-private optimistic baseline for Bernoulli rewards.

Source: Garivier & Cappé (2011), Algorithm 1: argmax_j  max{q : n_j d(mean_j, q) ≤ ln t + c ln ln t}
after one pull of each arm in index order, d the Bernoulli relative entropy, c = 0 by default.
Guarantee: none. Regret: Σ_a Δ_a ln T / d(μ_a, μ*) (1 + o(1)) on Bernoulli arms. Anytime.

Indices are compared as z = -ln(1 - q), which tells apart those that float64 rounds to 1. At rest z
is concave in the budget ln t + c ln ln t: its tangent bounds it from above ever after, its value at
the touching point from below. Only where these bounds leave the arg max open is an index inverted.

Floor and exactness. While an arm A is played, at most `far` rounds, the others' indices stay below
a ceiling, their bounds at the last round's budget. A's index is above the ceiling q while
n d(S / n, q) is below the first round's budget, or S / n above q, S the sum of its n rewards. That
set of (n, S) is convex, so a chord of its border lies inside: a margin for `algos.bandit.margins`,
whose leaps are exact in the sense that is stated there. A margin that rounding could decide is left
to the indices themselves, so on tables the actions are those of the plain loop. Nothing depends on
T. The cost is stretches, each of charts of about 0.5 µs + 10 K ns (four inversions), and leaps
within them; there are O(Σ ln T / d(μ_a, μ*)) stretches. With equal best arms the lead changes O(√T)
times, and with it the time grows: 1 s at T = 1e10. Arms that have paid nothing but 1 share the
index 1, and a tie is drawn anew in every round as the budget grows: two of them cost O(T).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.costs import leaping
from algos.bandit.margins import COARSE, HALF_LOG, play_on, resolved, smaller
from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.kl import lower_gap, upper_rank
from algos.maths.ties import argmax, largest
from algos.random.generator import Rng
from algos.registry import Algorithm, Parameter, Sizes, register
from algos.traces import record

SLACK = 1e-12  # of z: the largest are compared exactly, far above what rounding leaves open
# What follows sets the cost only.
APART = 0.25  # rewards; with less ahead a chart takes longer than a round
LEAST = 16  # rounds of a chart, or 2^-40 of the pulls
BEND = 4.0  # a chart's chord then misses the border by at most an eighth of the margin


class Ranks(NamedTuple):
    """Each arm's z as a function of the budget b: at least `low`, at most at + slope b."""

    low: np.ndarray  # float64 (K,)
    at: np.ndarray  # float64 (K,)
    slope: np.ndarray  # float64 (K,)
    touched: np.ndarray  # float64 (K,), the budget at which both are exact


@compiled
def budget_at(t: int, c: float) -> float:
    """ln t + c ln ln t."""
    log_t = math.log(t)
    return log_t + c * math.log(log_t) if c > 0.0 else log_t


@compiled
def touch(ranks: Ranks, j: int, mean: float, n: int, budget: float) -> None:
    """Make arm j's bounds exact at this budget. dz/db = q / (n (q - mean))."""
    z = upper_rank(mean, budget / n)
    ranks.low[j] = ranks.at[j] = z
    ranks.slope[j] = 0.0
    if z < math.inf:
        q = -math.expm1(-z)
        ranks.slope[j] = q / (n * (q - mean))
        ranks.at[j] -= ranks.slope[j] * budget
    ranks.touched[j] = budget


@compiled
def largest_rank(
    ranks: Ranks, total: np.ndarray, n: np.ndarray, budget: float, rng: Rng, exact: np.ndarray
) -> int:
    """The arm of the largest z at this budget, with as few inversions as show it."""
    while True:
        sure = largest(ranks.low) * (1.0 - SLACK)
        open_arms, first, highest = 0, -1, 0.0  # of those that are not exact the foremost
        last = 0
        for j in range(n.size):
            above = ranks.at[j] + ranks.slope[j] * budget
            exact[j] = -1.0
            if above >= sure:
                open_arms, last = open_arms + 1, j
                if ranks.touched[j] == budget:
                    exact[j] = ranks.low[j]
                elif first < 0 or above > highest:
                    first, highest = j, above
        if open_arms == 1:
            return last
        if first < 0:
            return argmax(exact, rng)
        touch(ranks, first, total[first] / n[first], n[first], budget)


@compiled
def room_below(
    ranks: Ranks, arm: int, total: np.ndarray, n: np.ndarray, budget: float
) -> tuple[float, float]:
    """By how much the budget may grow until another arm's bound reaches `arm`'s; the other's slope.

    The bound that is reached first is made exact at this budget.
    """
    z = ranks.low[arm]
    while True:
        rival, room = -1, math.inf
        for j in range(n.size):
            if j == arm:
                continue
            if ranks.at[j] == math.inf:
                return 0.0, 0.0
            until = (z - ranks.at[j]) / ranks.slope[j] - budget
            if rival < 0 or until < room:
                rival, room = j, until
        if ranks.touched[rival] == budget:
            return room, ranks.slope[rival]
        touch(ranks, rival, total[rival] / n[rival], n[rival], budget)


@compiled
def chart_length(room: float, growth: float, N: int, t: int, bonus: float) -> int:
    """Rounds of a chart; sets the cost only.

    The budget may grow by `room`; then another arm, whose index grows by `growth` a unit of the
    budget, is ahead. The chart leaves the margin that a leap over all of it would need, or half.
    `bonus`, n times what the index is above the mean, bends the border.
    """
    left = min(0.5 * room, math.sqrt(HALF_LOG * t * room) / (N * growth))
    far = min(float(N), t * (room - left))
    margin = N * growth * room
    if bonus > BEND * margin:
        far = min(far, N * math.sqrt(BEND * margin / bonus))
    return int(max(LEAST, N >> 40, far))


class KLUCB(NamedTuple):
    """The parameters of `kl_ucb`."""

    c: float


@implements(play, KLUCB)
def kl_ucb(algorithm: KLUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j  max{q : n_j d(mean_j, q) ≤ ln t + c ln ln t}, after one pull of each."""
    c = algorithm.c
    K = number_of_arms(env)
    total = np.zeros(K)
    n = np.ones(K, np.int64)
    ranks = Ranks(np.zeros(K), np.zeros(K), np.zeros(K), np.zeros(K))
    exact = np.zeros(K)
    for j in range(K):
        total[j] = pull(env, rng, j, j + 1, 1)
        record(trace, env, j + 1, j, 1)
    t = K
    if t < T:
        for j in range(K):
            touch(ranks, j, total[j], 1, budget_at(t + 1, c))
    while t < T:
        budget = budget_at(t + 1, c)
        arm = largest_rank(ranks, total, n, budget, rng, exact)
        S, N = total[arm], n[arm]
        room, growth = room_below(ranks, arm, total, n, budget)
        rest = math.exp(-ranks.low[arm])  # 1 - q of the arm's index q
        margin, toll, far = 0.0, 1.0, 1
        if room == math.inf:  # its rewards were all 1
            far = N
        elif N * rest * growth * room > APART or (N > COARSE and room > 0.0):
            far = chart_length(room, rest * growth, N, t, N * (1.0 - rest) - S)
        if far > 1:
            later = budget_at(t + far, c)
            ceiling = 0.0
            for j in range(K):
                if j != arm:
                    ceiling = max(ceiling, ranks.at[j] + ranks.slope[j] * later)
            rest = math.exp(-ceiling)
            border = N * (rest + lower_gap(rest, budget / N))  # in rewards that are missing
            end = (N + far) * (rest + lower_gap(rest, budget / (N + far)))
            margin, toll = border - (N - S), 1.0 - (end - border) / far
            margin = resolved(margin, N)
        rounds, X, _ = play_on(env, rng, arm, t + 1, margin, toll, min(far, T - t))
        record(trace, env, t + 1, arm, rounds)
        t += rounds
        total[arm] += X
        n[arm] += rounds
        touch(ranks, arm, total[arm] / n[arm], n[arm], budget_at(t + 1, c))


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    """Between azize_fig3 and sajed_c2, 1.5 to 3 times from each: gaps aren't known here."""
    K = sizes["K"]
    return smaller(480.0 * K**0.9 * math.log(T) ** 2.2, 6.0 * K * T)


register(
    Algorithm(
        name="kl_ucb",
        family="bandit",
        form=KLUCB,
        source="Garivier & Cappé 2011, Algorithm 1",
        summary="Bernoulli KL index, leaps of the leader",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        parameters=(Parameter("c", 0.0, low=0.0, meaning="weight of ln ln t in the budget"),),
        skips_ahead=True,
        cost=_cost,
        cost_by_gaps=leaping(57.0, 0.7, 2.5, 0.2, 12000.0),
        version=2,
    )
)
