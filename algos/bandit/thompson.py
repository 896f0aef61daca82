"""Thompson sampling with Beta priors, and its private form Lazy-DP-TS.

Source: hu2024, Algorithms 2 (Agrawal & Goyal 2017) and 3. Both are anytime.
Guarantee: none for thompson_beta; ε-DP for lazy_dp_ts (Theorem 4).
Regret: Σ_a Δ_a ln T / d(μ_a, μ*) (1 + o(1)) on Bernoulli arms; O(Σ_a ln T / min{Δ_a, ε}) and
O(√(K T ln T) + K ln T / ε) for lazy_dp_ts (Theorem 5).

Reading of the boxes. thompson_beta has no forced first pulls: the prior Beta(1, 1) is drawn from
until rewards are in. Rewards that are no bits enter the posterior as the box prints it, by
their mean (no Bernoulli trial). lazy_dp_ts pulls each arm once, chooses the arm again in every
round, also while a batch of 2^(r+1) observations is incomplete, uses a batch once with one
Lap(1/ε) on its sum, and clips the private mean plus 3 ln t / (ε O) to [0, 1], negative values
included (the print's Clip leaves them out).

Drawing less. With draws = "all" every posterior is drawn in every round, K draws of 50 ns. The
default, "needed", has the same law (`algos.maths.posterior`). The foremost arm A is played in whole
blocks until the next round where θ_A might miss a level or another θ_j exceed it. The chances of
that are bounded over a stretch of m rounds: for thompson_beta by A's posterior after m failures
(the others rest); for lazy_dp_ts, whose posteriors only grow with ln t until a batch is full, by
A's at the stretch's start and the others' at its end. Where no arm is clearly foremost, all are
drawn. To T = 1e6 on hu_distinct and hu_equal_gap, "all" takes 70 and 21 times as long as "needed"
for thompson_beta, 11 and 1.9 times for lazy_dp_ts at ε = 0.25, 17 and 4.9 times at ε = 1. The law
is exact up to the relative error of a Beta tail, 1e-11; the actions for a seed are not those of
"all".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.posterior import (
    chance_of_some,
    level,
    open_chances,
    rounds_before,
    winner_when_open,
)
from algos.maths.ties import argmax
from algos.random.continuous import beta, laplace
from algos.random.generator import Rng, uniform
from algos.registry import Algorithm, Parameter, Sizes, register
from algos.traces import record, release

DRAWS = ("needed", "all")
NEEDED = 0
# What follows sets the cost only. Posteriors are all drawn in the next WAIT rounds where the
# foremost arm is fewer than APART deviations from a level, or opens more rounds than OFTEN.
WAIT = 4
APART = 1.5
OFTEN = 0.15
STRETCH = 0.03  # of the failures that would bring the foremost arm down to its rival


@compiled
def foremost(a: np.ndarray, b: np.ndarray) -> int:
    """The arm of the largest posterior mean; any of them if tied."""
    best = 0
    for j in range(1, a.size):
        if a[j] * (a[best] + b[best]) > a[best] * (a[j] + b[j]):
            best = j
    return best


class ThompsonBeta(NamedTuple):
    """The parameters of `thompson_beta`."""

    draws: int


@implements(play, ThompsonBeta)
def thompson_beta(algorithm: ThompsonBeta, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 2; `draws` is the place in DRAWS."""
    draws = algorithm.draws
    K = number_of_arms(env)
    a = np.ones(K)  # successes + 1
    b = np.ones(K)  # failures + 1
    theta = np.empty(K)
    q = np.empty(K)
    t, literal = 0, T  # the next `literal` rounds draw every posterior
    if draws == NEEDED:
        literal = 2 * K
    while t < T:  # line 3
        if literal > 0:
            t += 1
            literal -= 1
            for j in range(K):  # line 4
                theta[j] = beta(rng, a[j], b[j])
            J = argmax(theta, rng)  # line 5
            X = pull(env, rng, J, t, 1)
            a[J] += X
            b[J] += 1.0 - X
            record(trace, env, t, J, 1)
            continue
        A = foremost(a, b)
        _, _, rival = level(A, a, b)
        n_A = a[A] + b[A]
        m = 1 + int(STRETCH * (a[A] - n_A * a[rival] / (a[rival] + b[rival])))
        # Within m rounds θ_A is never more likely to miss a level than after m failures.
        failures = b[A]
        b[A] += m
        x, deviations, _ = level(A, a, b)
        p = open_chances(A, x, a, b, q) if deviations > APART else 1.0
        b[A] = failures
        if p > OFTEN:
            literal = WAIT
            continue
        before = rounds_before(p, rng)
        n = min(T - t, m if before >= m else int(before))
        if n > 0:
            X = pull(env, rng, A, t + 1, n)
            a[A] += X
            b[A] += n - X
            record(trace, env, t + 1, A, n)
            t += n
        if before < m and t < T:
            t += 1
            J = A
            open_chances(A, x, a, b, q)
            if uniform(rng) * p < chance_of_some(q, 0):
                J = winner_when_open(A, x, a, b, q, theta, rng)
            X = pull(env, rng, J, t, 1)
            a[J] += X
            b[J] += 1.0 - X
            record(trace, env, t, J, 1)


@compiled
def posteriors(
    t: int, epsilon: float, mean: np.ndarray, O: np.ndarray, a: np.ndarray, b: np.ndarray
) -> None:
    """Fill a and b (K,) with line 4's Beta parameters in round t."""
    bonus = 3.0 * math.log(t) / epsilon
    for j in range(mean.size):
        clipped = min(max(mean[j] + bonus / O[j], 0.0), 1.0)
        a[j] = clipped * O[j] + 1.0
        b[j] = (1.0 - clipped) * O[j] + 1.0


class LazyDPTS(NamedTuple):
    """The parameters of `lazy_dp_ts`."""

    epsilon: float
    draws: int


@implements(play, LazyDPTS)
def lazy_dp_ts(algorithm: LazyDPTS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 3; `draws` is the place in DRAWS."""
    epsilon, draws = algorithm
    K = number_of_arms(env)
    mean = np.empty(K)
    O = np.ones(K, np.int64)  # observations behind the private mean, 2^r
    N = np.zeros(K, np.int64)  # unprocessed observations
    Phi = np.zeros(K)  # and their sum
    a = np.empty(K)
    b = np.empty(K)
    theta = np.empty(K)
    q = np.empty(K)
    for j in range(K):  # line 2
        mean[j] = pull(env, rng, j, j + 1, 1) + laplace(rng, 1.0 / epsilon)
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, mean[j])
    t, literal = K, T  # the next `literal` rounds draw every posterior
    if draws == NEEDED:
        literal = 2 * K
    while t < T:  # line 3
        posteriors(t + 1, epsilon, mean, O, a, b)
        if literal > 0:
            literal -= 1
            n = 1
            for j in range(K):  # line 4
                theta[j] = beta(rng, a[j], b[j])
            J = argmax(theta, rng)  # line 5
        else:
            J = foremost(a, b)
            low_a, low_b = a[J], b[J]
            m = min(2 * O[J] - N[J], 1 + t // 8)
            # Posteriors grow with t: the others' are largest in the stretch's last round.
            posteriors(t + m, epsilon, mean, O, a, b)
            a[J], b[J] = low_a, low_b
            x, deviations, _ = level(J, a, b)
            p = open_chances(J, x, a, b, q) if deviations > APART else 1.0
            if p > OFTEN:
                literal = WAIT
                continue
            before = rounds_before(p, rng)
            n = min(T - t, m if before >= m else int(before))
            if before < m and t + n < T:
                if n > 0:  # J's batch has room for these and more: n < m
                    record(trace, env, t + 1, J, n)
                    N[J] += n
                    Phi[J] += pull(env, rng, J, t + 1, n)
                    t += n
                n = 1
                posteriors(t + 1, epsilon, mean, O, a, b)
                open_chances(J, x, a, b, q)
                if uniform(rng) * p < chance_of_some(q, 0):
                    J = winner_when_open(J, x, a, b, q, theta, rng)
        record(trace, env, t + 1, J, n)
        N[J] += n  # line 6
        Phi[J] += pull(env, rng, J, t + 1, n)
        t += n
        if N[J] == 2 * O[J]:  # lines 7-8
            O[J] *= 2
            mean[J] = (Phi[J] + laplace(rng, 1.0 / epsilon)) / O[J]
            N[J], Phi[J] = 0, 0.0
            release(trace, t, J, mean[J])


def _lazy_cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    return sizes["K"] * min(60.0 * T, 5e5 * math.log(T) * (1.0 + 1.0 / (epsilon or math.inf)))


_DRAWS = Parameter(
    "draws",
    "needed",
    choices=DRAWS,
    meaning="posteriors drawn: where they may matter, or all in every round; the law is the same",
)

register(
    Algorithm(
        name="thompson_beta",
        family="bandit",
        form=ThompsonBeta,
        source="hu2024 Algorithm 2; Agrawal & Goyal 2017",
        summary="the arm of the largest posterior draw",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        parameters=(_DRAWS,),
        cost=lambda T, sizes, epsilon: sizes["K"] * min(60.0 * T, 4e5 * math.log(T)),
        version=1,
    )
)

register(
    Algorithm(
        name="lazy_dp_ts",
        family="bandit",
        form=LazyDPTS,
        source="hu2024 Algorithm 3",
        summary="optimistic posterior draws, doubling batches",
        regret="O(Σ ln T / min{Δ_a, ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        doubling=True,
        parameters=(_DRAWS,),
        cost=_lazy_cost,
        version=1,
    )
)
