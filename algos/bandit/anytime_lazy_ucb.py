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

Floor and exactness. A block costs K indices, a binomial and, where it ends in a crossing, a few
comparisons more; there are about K blocks for each doubling of the best arm's batch, and with
equal best arms as many for each of theirs. Near round t the lead of arm j changes by at least
1 / (8 t √(O_j ln t)) a round, and an index I is known to u|I|, u = 2^-53, so a crossing is off by
at most 32 u |I| t √(O_j ln t) rounds: none up to t = 1e6, about ten at 1e12 for O_j = 1e5 and
|I| ≤ 1; it is searched for to no more than that. Each such round moves the regret by a gap at most.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull, timeless
from algos.maths.ties import draw_order
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, register
from algos.traces import record, release

ROUNDING = 8.0 * 2.0**-53  # of a difference of two indices, relative


class LazyArms(NamedTuple):
    """The state of Algorithm 1."""

    mean: np.ndarray  # float64 (K,), private means
    O: np.ndarray  # int64 (K,), observations behind them, 2^r
    share: np.ndarray  # float64 (K,), 1 / O
    N: np.ndarray  # int64 (K,), unprocessed observations
    Phi: np.ndarray  # float64 (K,), and their sum
    indices: np.ndarray  # scratch: float64 (K,)
    rank: np.ndarray  # int64 (K,), places in the order that decides ties
    ordered: np.ndarray  # bool (1,), whether it was drawn since an index was updated
    epsilon: float


@compiled
def private_ucb(arms: LazyArms, j: int, width: float, term: float) -> float:
    """Line 4's index of arm j; `width` is 3 ln t and `term` 3 ln t / ε."""
    share = arms.share[j]
    return arms.mean[j] + math.sqrt(width * share) + term * share


@compiled
def is_ahead(arms: LazyArms, j: int, J: int, log_t: float) -> bool:
    """Whether the round would not go to J because of j (or would need a tie broken)."""
    width = 3.0 * log_t
    term = width / arms.epsilon
    index_j, index_J = private_ucb(arms, j, width, term), private_ucb(arms, J, width, term)
    if index_j == index_J:
        return not arms.ordered[0] or arms.rank[j] < arms.rank[J]
    return index_j > index_J


@compiled
def chosen(arms: LazyArms, log_t: float) -> int:
    """Line 4: the arm of the largest index; K where some are tied and no order was drawn."""
    width = 3.0 * log_t
    term = width / arms.epsilon
    J, tied = 0, False
    for j in range(arms.indices.size):
        arms.indices[j] = private_ucb(arms, j, width, term)
        if arms.indices[j] > arms.indices[J]:
            J, tied = j, False
        elif j > 0 and arms.indices[j] == arms.indices[J]:
            tied = True
    if not tied:
        return J
    if not arms.ordered[0]:
        return arms.indices.size
    level = arms.indices[J]
    for j in range(arms.indices.size):
        if arms.indices[j] == level and arms.rank[j] < arms.rank[J]:
            J = j
    return J


@compiled
def last_round_of(arms: LazyArms, J: int, t: int, end: int) -> int:
    """The last round in [t, end] up to which J, chosen in round t, stays chosen."""
    log_end = math.log(end)
    for j in range(arms.mean.size):
        if j == J or arms.O[j] >= arms.O[J] or end == t:
            continue
        if is_ahead(arms, j, J, log_end):
            end = first_round_ahead(arms, j, J, t, end) - 1
            log_end = math.log(end)
    return end


@compiled
def first_round_ahead(arms: LazyArms, j: int, J: int, t: int, end: int) -> int:
    """The first round in (t, end] that j takes from J; it would take round `end`."""
    # mean_j - mean_J + B s + C s² = 0 at s = √(ln t)
    behind = arms.mean[J] - arms.mean[j]
    B = math.sqrt(3.0 * arms.share[j]) - math.sqrt(3.0 * arms.share[J])
    C = 3.0 * (arms.share[j] - arms.share[J]) / arms.epsilon
    s = 2.0 * behind / (B + math.sqrt(max(0.0, B * B + 4.0 * behind * C)))
    guess = math.exp(min(max(s, 0.0) ** 2, 50.0))
    low, high = t, end  # J holds round `low`, j is ahead in round `high`
    at = t + 1 if guess <= t else (end if guess >= end else int(guess))
    at = min(max(at, t + 1), end)
    # rounds in which j gains what float64 can tell
    gain = C + 0.5 * B / max(s, 1.0)  # per unit of ln t
    fine = 1 + int(at * ROUNDING * (1.0 + abs(arms.mean[J])) / gain)
    step = fine
    if is_ahead(arms, j, J, math.log(at)):
        high = at
        while high - step > low:
            if not is_ahead(arms, j, J, math.log(high - step)):
                low = high - step
                break
            high -= step
            step *= 2
    else:
        low = at
        while low + step < high:
            if is_ahead(arms, j, J, math.log(low + step)):
                high = low + step
                break
            low += step
            step *= 2
    while high - low > fine:
        middle = low + (high - low) // 2
        if is_ahead(arms, j, J, math.log(middle)):
            high = middle
        else:
            low = middle
    # rounding may let j flicker ahead a few rounds before the crossing proper
    if fine == 1:
        for earlier in range(high - 1, max(t, high - 5), -1):
            if is_ahead(arms, j, J, math.log(earlier)):
                high = earlier
    return high


class AnytimeLazyUCB(NamedTuple):
    """The parameters of `anytime_lazy_ucb`."""

    epsilon: float


@implements(play, AnytimeLazyUCB)
def anytime_lazy_ucb(algorithm: AnytimeLazyUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 1, block by block."""
    epsilon = algorithm.epsilon
    K = number_of_arms(env)
    mean, share, Phi = np.empty(K), np.ones(K), np.zeros(K)
    O, N = np.ones(K, np.int64), np.zeros(K, np.int64)
    ordered = np.zeros(1, np.bool_)
    arms = LazyArms(mean, O, share, N, Phi, np.empty(K), np.arange(K), ordered, epsilon)
    for j in range(K):  # line 2
        mean[j] = pull(env, rng, j, j + 1, 1) + laplace(rng, 1.0 / epsilon)
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, mean[j])
    t = K
    while t < T:  # line 3
        t += 1
        log_t = math.log(t)
        J = chosen(arms, log_t)  # line 4
        if J == K:
            draw_order(arms.rank, rng)
            ordered[0] = True
            J = chosen(arms, log_t)
        batch = 2 * O[J]
        end = min(T, last_round_of(arms, J, t, t + batch - N[J] - 1))
        n = end - t + 1
        N[J] += n  # line 5
        if not timeless(env):
            Phi[J] += pull(env, rng, J, t, n)
        elif N[J] == batch:
            Phi[J] = pull(env, rng, J, t, batch)
        record(trace, env, t, J, n)
        t = end
        if N[J] == batch:  # lines 6-7
            O[J] = batch
            share[J] = 1.0 / batch
            mean[J] = (Phi[J] + laplace(rng, 1.0 / epsilon)) * share[J]
            N[J], Phi[J] = 0, 0.0
            ordered[0] = False
            release(trace, t, J, mean[J])


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    K, octaves = sizes["K"], math.log2(T)
    noise = math.log2(1.0 + 1.0 / (epsilon or math.inf))
    blocks = octaves + (K - 1) * min(octaves, 4.0 + math.log2(1.0 + octaves) + noise)
    return 300.0 + 30.0 * octaves + blocks * (60.0 + 4.0 * K)


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
        cost=_cost,
        version=2,
    )
)
