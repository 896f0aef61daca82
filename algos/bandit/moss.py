"""MOSS, a minimax optimal index.

Source: Audibert & Bubeck (2010): argmax_j  mean_j + √(max{0, ln(T / (K n_j))} / n_j), which needs
T. Each arm is pulled once first, in index order (an unpulled arm's index is infinite). A tie is
kept while no index changes.
Guarantee: none. Regret: 25 √(K T) in the worst case and O(K ln(T Δ² / K) / Δ), Δ the smallest gap.

Floor and exactness. Only the played arm's index moves, so a stretch of rounds goes to one arm until
its index falls to the largest of the others', the ceiling c. With S the sum of its n rewards and
w(n) its index's second term, it is ahead while S + n w(n) - c n > 0. As n w(n) is concave up to
n = T / K, its chord over a chart [n, n + far] lies below it, and what results is linear in S and n:
a margin for `algos.bandit.margins`, whose leaps are exact there in the sense that is stated there.
A margin that rounding could decide is left to the index itself, so on tables the actions are those
of the plain loop. The cost is stretches, about 50 + K ns each, and leaps within them. There are
O(Σ ln(T Δ_a²) / Δ_a²) stretches, nearly as many as pulls of the other arms, and each is the random
walk of a margin that begins near 0. With equal best arms the lead changes O(√T) times, and with it
the time grows: 0.2 s at T = 1e10.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.costs import leaping
from algos.bandit.margins import COARSE, known_mean, play_on, resolved, smaller
from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.ties import argmax
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, register
from algos.traces import record


@compiled
def moss_index(mean: float, n: int, T: int, K: int) -> float:
    """mean + √(max{0, ln(T / (K n))} / n)."""
    return mean + moss_width(n, T, K)


@compiled
def moss_width(n: int, T: int, K: int) -> float:
    """√(max{0, ln(T / (K n))} / n); it falls with n."""
    return math.sqrt(max(0.0, math.log(T / (float(K) * n))) / n)


# What follows sets the cost only.
APART = 0.5  # rewards; with less ahead a chart takes longer than a round
BEND = 4.0  # a chart's chord then misses n w(n) by at most an eighth of the margin
LEAST = 1 / 16  # of n, a chart's length


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
        arm, largest, ceiling = 0, index[0], -math.inf
        for j in range(1, K):
            if index[j] > largest:
                arm, largest, ceiling = j, index[j], largest
            else:
                ceiling = max(ceiling, index[j])
        if ceiling == largest:
            arm = argmax(index, rng)
        S, N, B = total[arm], n[arm], largest
        while True:
            before = B
            ahead = N * (B - ceiling)
            rounds = 1
            if ahead > APART or N > COARSE:
                bonus = N * B - S  # n w(n) here
                far, slope = T - t, 0.0
                if float(K) * N < T:
                    reach = 1.0
                    if bonus > BEND * ahead:
                        reach = max(LEAST, math.sqrt(BEND * ahead / bonus))
                    far = max(1, int(min(float(N), T / K - N) * reach))
                    slope = ((N + far) * moss_width(N + far, T, K) - bonus) / far
                margin = resolved(ahead, N)
                room = min(far, T - t)
                rounds, X, _ = play_on(env, rng, arm, t + 1, margin, ceiling - slope, room)
            else:
                mean = known_mean(env, arm)
                if (mean == 0.0 or mean == 1.0) and float(K) * N >= T:
                    rounds = T - t  # its index changes no more
                X = pull(env, rng, arm, t + 1, rounds)
            t += rounds
            S += X
            N += rounds
            B = moss_index(S / N, N, T, K)
            if t == T or not (ceiling < B or before == B):
                break
        total[arm], n[arm], index[arm] = S, N, B
        record(trace, env, start, arm, t - start + 1)


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    """Between azize_fig3 and sajed_c2, 1.5 to 3 times from each: gaps aren't known here."""
    K = sizes["K"]
    return smaller(460.0 * K**0.45 * math.log(T) ** 2, (2.0 + 0.15 * K) * T)


register(
    Algorithm(
        name="moss",
        family="bandit",
        form=MOSS,
        source="Audibert & Bubeck 2010",
        summary="mean + √(max{0, ln(T/(K n))}/n), leaps of the leader",
        regret="O(√(K T)), O(K ln T / Δ)",
        anytime=False,
        skips_ahead=True,
        cost=_cost,
        cost_by_gaps=leaping(30.0, 0.55, 2.5, -0.15, 2000.0),
        version=2,
    )
)
