"""UCB1, the non-private optimistic baseline.

Source: Auer, Cesa-Bianchi & Fischer (2002), with the index of sajed2019 §2.
Guarantee: none. Regret: O(Σ_a ln T / Δ_a). Anytime.

Floor and exactness. The leader of a round stays ahead for a stretch. With N pulls and the
reward sum S before the stretch, i rounds and the sum x into it, its index is at least
(S + x + root √(N + i)) / (N + i), root = √(2 ln t) of the first round. √(N + i) lies above its
chord, and the others' indices at rest lie below their tangents in t, so the largest of them below
the chord of those tangents over the next `room` rounds. That leaves a margin linear in x and i, and
while it lasts the leader needs no index, logarithm or root (`line`). It is played in leaps by
`algos.bandit.failures` and `algos.bandit.margins`, where it is said how exact they are: each errs
with a chance of at most 1e-20, and on tables not at all. What is closer than 2^-50 of an index is
left to the indices of the next round, so on tables the actions are those of the plain loop up to
N = 2^46; beyond, less than a reward's worth of an index is one, and the arm that is ahead is played
until its index could have moved by as much. No leap depends on T.

An index meets another at the lower end of a random walk with drift, so the leader is near the
others for most of its leaps: a few tens of leaps for each of the about 2 Σ_a ln T / Δ_a² pulls of
another arm. The time grows as a power of ln T. With equal best arms
the lead changes about √T times, at a few µs each. The cost model sees no gaps: it lies between
the times on azize_fig3 (gaps of .7) and sajed_c2 (.125 to .5), a factor of 1.5 to 3 from either.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.costs import leaping
from algos.bandit.failures import stay, tables_for
from algos.bandit.margins import COARSE
from algos.blocks import play, prepared
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.ties import argmax, largest
from algos.random.generator import Rng
from algos.registry import Algorithm, register
from algos.traces import record

LEAST, SHARE = 16, 32  # a stretch has LEAST rounds and a SHARE-th of the arm's; cost only
ROUNDING = 2.0**-50  # of an index: what is closer is left to the indices themselves


class UCB1(NamedTuple):
    """The parameters of `ucb1`."""


class TabledUCB1(NamedTuple):
    """`ucb1` with what is kept for the replicates of a block."""

    tables: Any  # of `algos.bandit.failures.tables_for`


@implements(prepared, UCB1)
def with_tables(algorithm: UCB1, env: Any) -> TabledUCB1:
    """With the environment's tables, empty."""
    return TabledUCB1(tables_for(env))


@compiled
def ucb(mean: float, width: float, root: float) -> float:
    """mean + √(2 ln t / n), from width = 1 / √n and root = √(2 ln t)."""
    return mean + root * width


@compiled
def indices(mean: np.ndarray, width: np.ndarray, root: float, index: np.ndarray) -> None:
    """Fill `index` (K,)."""
    for j in range(mean.size):
        index[j] = ucb(mean[j], width[j], root)


@compiled
def line(
    arm: int, N: int, index: np.ndarray, width: np.ndarray, start: int, root: float, room: int
) -> tuple[float, float]:
    """The margin and toll that keep `arm` ahead for `room` rounds from round `start` on.

    Args:
        N: its pulls.
        index: float64 (K,), of round `start`; the arm's own is lost.
        width: float64 (K,), 1 / √n_j; not changed.
        root: √(2 ln start).
    """
    own = index[arm]
    index[arm] = -math.inf
    now = largest(index)
    rise = room / (start * root)  # of the tangent of √(2 ln t)
    for j in range(index.size):
        index[j] = ucb(index[j], width[j], rise)
    slope = (largest(index) - now) / room
    toll = now + slope * (N + room) - root / (math.sqrt(N + room) + math.sqrt(N))
    margin = N * (own - now - ROUNDING * (1.0 + abs(now)))
    if N > COARSE:
        margin = max(margin, N * ROUNDING)
    return margin, toll


@implements(play, UCB1, TabledUCB1)  # a UCB1 as `prepared` makes it
def ucb1(algorithm: TabledUCB1, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j  mean_j + √(2 ln t / n_j), after one pull of each arm."""
    tables = algorithm.tables
    K = number_of_arms(env)
    total = np.zeros(K)
    n = np.zeros(K, np.int64)
    mean = np.zeros(K)
    width = np.zeros(K)  # 1 / √n_j
    index = np.zeros(K)
    for j in range(K):
        total[j] = mean[j] = pull(env, rng, j, j + 1, 1)
        n[j] = 1
        width[j] = 1.0
        record(trace, env, j + 1, j, 1)
    t = K
    while t < T:
        start = t + 1
        root = math.sqrt(2.0 * math.log(start))
        indices(mean, width, root, index)
        arm = argmax(index, rng)
        room = LEAST + n[arm] // SHARE
        margin, toll = line(arm, n[arm], index, width, start, root, room)
        rounds, S = stay(env, tables, rng, arm, start, margin, toll, room, T - t)
        record(trace, env, start, arm, rounds)
        t += rounds
        total[arm] += S
        n[arm] += rounds
        mean[arm] = total[arm] / n[arm]
        width[arm] = 1.0 / math.sqrt(n[arm])


register(
    Algorithm(
        name="ucb1",
        family="bandit",
        form=UCB1,
        source="Auer et al. 2002; sajed2019 §2",
        summary="mean + √(2 ln t / n)",
        regret="O(Σ ln T / Δ_a)",
        skips_ahead=True,
        cost=lambda T, sizes, epsilon: 56.0 * math.sqrt(sizes["K"]) * math.log(T) ** 2.8,
        cost_by_gaps=leaping(2.4, 0.7, 3.3, 0.0, 3600.0),
        version=2,
    )
)
