"""Anytime-Lazy-UCB: batches of doubling size, one noisy sum per batch, a choice every round.

Source: hu2024, Algorithm 1. Guarantee: ε-DP (Theorem 2).
Regret: O(Σ_a ln T / min{Δ_a, ε}) (Theorem 3). Anytime.

Reading of the box: the arm is chosen again in every round, also while a batch of 2^(r+1)
observations is incomplete; a batch is used once, with one Lap(1/ε) on its sum.

Skipping ahead. Between two updates the index of arm j is a_j + √(3 ln t / O_j) + 3 ln t / (ε O_j),
and against the arm J being played it gains on J only if O_j < O_J, and then in every round.
So J is played until its batch is full, T is reached, or the first round in which such an arm is
ahead: a quadratic in √(ln t), solved in closed form and settled on integer rounds by the same
float64 comparison that a round-by-round run makes. Between updates at most K - 1 arms can take
over, so the kernel costs O(K² log T) blocks and never touches a single round.

Ties. When the arg max is tied, a uniform order of the arms is drawn, and it decides until the
next update of an index; an arm that draws level with J counts as ahead if the order says so.

Exactness. Near round t the lead of arm j changes by at least 1 / (8 t √(O_j ln t)) a round, and
an index I is known to u|I|, u = 2^-53, so a crossing is off by at most 32 u |I| t √(O_j ln t)
rounds: none up to t = 1e6, about ten at 1e12 for O_j = 1e5 and |I| ≤ 1. Each such round moves
the regret by a gap at most.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.ties import draw_order
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, register
from algos.traces import record, release


@compiled
def private_ucb(mean: float, O: int, log_t: float, epsilon: float) -> float:
    """Line 4's index of an arm with private `mean` over `O` observations."""
    return mean + math.sqrt(3.0 * log_t / O) + 3.0 * log_t / (epsilon * O)


@compiled
def is_ahead(
    j: int,
    J: int,
    t: int,
    mean: np.ndarray,
    O: np.ndarray,
    epsilon: float,
    ordered: bool,
    rank: np.ndarray,
) -> bool:
    """Whether round t would not go to J because of j (or would need a tie broken)."""
    log_t = math.log(t)
    index_j = private_ucb(mean[j], O[j], log_t, epsilon)
    index_J = private_ucb(mean[J], O[J], log_t, epsilon)
    if index_j == index_J:
        return not ordered or rank[j] < rank[J]
    return index_j > index_J


@compiled
def last_round_of(
    J: int,
    t: int,
    end: int,
    mean: np.ndarray,
    O: np.ndarray,
    epsilon: float,
    ordered: bool,
    rank: np.ndarray,
) -> int:
    """The last round in [t, end] up to which J, chosen in round t, stays chosen."""
    for j in range(mean.size):
        if j == J or O[j] >= O[J] or end == t:
            continue
        if not is_ahead(j, J, end, mean, O, epsilon, ordered, rank):
            continue
        # mean_j - mean_J + B s + C s² = 0 at s = √(ln t)
        behind = mean[J] - mean[j]
        B = math.sqrt(3.0 / O[j]) - math.sqrt(3.0 / O[J])
        C = (3.0 / O[j] - 3.0 / O[J]) / epsilon
        s = 2.0 * behind / (B + math.sqrt(max(0.0, B * B + 4.0 * behind * C)))
        guess = math.exp(min(max(s, 0.0) ** 2, 50.0))
        low, high = t, end  # J holds round `low`, j is ahead in round `high`
        at = t + 1 if guess <= t else (end if guess >= end else int(guess))
        at = min(max(at, t + 1), end)
        step = 1
        if is_ahead(j, J, at, mean, O, epsilon, ordered, rank):
            high = at
            while high - step > low:
                if not is_ahead(j, J, high - step, mean, O, epsilon, ordered, rank):
                    low = high - step
                    break
                high -= step
                step *= 2
        else:
            low = at
            while low + step < high:
                if is_ahead(j, J, low + step, mean, O, epsilon, ordered, rank):
                    high = low + step
                    break
                low += step
                step *= 2
        while high - low > 1:
            middle = low + (high - low) // 2
            if is_ahead(j, J, middle, mean, O, epsilon, ordered, rank):
                high = middle
            else:
                low = middle
        # rounding may let j flicker ahead a few rounds before the crossing proper
        for earlier in range(high - 1, max(t, high - 5), -1):
            if is_ahead(j, J, earlier, mean, O, epsilon, ordered, rank):
                high = earlier
        end = high - 1
    return end


class AnytimeLazyUCB(NamedTuple):
    """The parameters of `anytime_lazy_ucb`."""

    epsilon: float


@implements(play, AnytimeLazyUCB)
def anytime_lazy_ucb(algorithm: AnytimeLazyUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 1, block by block."""
    epsilon = algorithm.epsilon
    K = number_of_arms(env)
    mean = np.empty(K)
    O = np.ones(K, np.int64)  # observations behind the private mean, 2^r
    N = np.zeros(K, np.int64)  # unprocessed observations
    Phi = np.zeros(K)  # and their sum
    index = np.empty(K)
    rank = np.arange(K)
    ordered = False
    for j in range(K):  # line 2
        mean[j] = pull(env, rng, j, j + 1, 1) + laplace(rng, 1.0 / epsilon)
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, mean[j])
    t = K
    while t < T:  # line 3
        t += 1
        log_t = math.log(t)
        J, tied = 0, False
        for j in range(K):  # line 4
            index[j] = private_ucb(mean[j], O[j], log_t, epsilon)
            if index[j] > index[J]:
                J, tied = j, False
            elif j > 0 and index[j] == index[J]:
                tied = True
        if tied:
            if not ordered:
                draw_order(rank, rng)
                ordered = True
            level = index[J]
            for j in range(K):
                if index[j] == level and rank[j] < rank[J]:
                    J = j
        batch = 2 * O[J]
        end = min(T, t + batch - N[J] - 1)
        end = last_round_of(J, t, end, mean, O, epsilon, ordered, rank)
        n = end - t + 1
        Phi[J] += pull(env, rng, J, t, n)  # line 5
        N[J] += n
        record(trace, env, t, J, n)
        t = end
        if N[J] == batch:  # lines 6-7
            O[J] = batch
            mean[J] = (Phi[J] + laplace(rng, 1.0 / epsilon)) / batch
            N[J] = 0
            Phi[J] = 0.0
            ordered = False
            release(trace, t, J, mean[J])


register(
    Algorithm(
        name="anytime_lazy_ucb",
        family="bandit",
        form=AnytimeLazyUCB,
        source="hu2024 Algorithm 1",
        summary="doubling batches, a choice every round",
        regret="O(Σ ln T / min{Δ_a, ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        doubling=True,
        cost=lambda T, sizes, epsilon: 20.0 * sizes["K"] * math.log2(T) * (10.0 + 2.0 * sizes["K"]),
        version=1,
    )
)
