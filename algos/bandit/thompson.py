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
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from algos.choice import argmax
from algos.environments import number_of_arms, pull
from algos.registry import Algorithm, register
from algos.traces import record, release


@njit(cache=True)
def thompson_beta(env: Any, rng: np.random.Generator, trace: Any, T: int) -> None:
    """hu2024 Algorithm 2: one posterior draw per arm and round."""
    K = number_of_arms(env)
    total = np.zeros(K)
    O = np.zeros(K, np.int64)
    theta = np.empty(K)
    for t in range(1, T + 1):  # line 3
        for j in range(K):  # line 4
            theta[j] = rng.beta(total[j] + 1.0, O[j] - total[j] + 1.0)
        J = argmax(theta, rng)  # line 5
        total[J] += pull(env, rng, J, t, 1)
        O[J] += 1
        record(trace, env, t, J, 1)


@njit(cache=True)
def lazy_dp_ts(env: Any, rng: np.random.Generator, trace: Any, T: int, epsilon: float) -> None:
    """hu2024 Algorithm 3: one posterior draw per arm and round."""
    K = number_of_arms(env)
    mean = np.empty(K)
    O = np.ones(K, np.int64)  # observations behind the private mean, 2^r
    N = np.zeros(K, np.int64)  # unprocessed observations
    Phi = np.zeros(K)  # and their sum
    theta = np.empty(K)
    for j in range(K):  # line 2
        mean[j] = pull(env, rng, j, j + 1, 1) + rng.laplace(0.0, 1.0 / epsilon)
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, mean[j])
    for t in range(K + 1, T + 1):  # line 3
        bonus = 3.0 * math.log(t) / epsilon
        for j in range(K):  # line 4
            clipped = min(max(mean[j] + bonus / O[j], 0.0), 1.0)
            theta[j] = rng.beta(clipped * O[j] + 1.0, (1.0 - clipped) * O[j] + 1.0)
        J = argmax(theta, rng)  # line 5
        record(trace, env, t, J, 1)
        N[J] += 1  # line 6
        Phi[J] += pull(env, rng, J, t, 1)
        if N[J] == 2 * O[J]:  # lines 7-8
            O[J] *= 2
            mean[J] = (Phi[J] + rng.laplace(0.0, 1.0 / epsilon)) / O[J]
            N[J], Phi[J] = 0, 0.0
            release(trace, t, J, mean[J])


register(
    Algorithm(
        name="thompson_beta",
        family="bandit",
        kernel=thompson_beta,
        source="hu2024 Algorithm 2; Agrawal & Goyal 2017",
        summary="a posterior draw per arm and round",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        cost=lambda T, K, epsilon: 20.0 * T + 55.0 * T * K,
        version=1,
    )
)

register(
    Algorithm(
        name="lazy_dp_ts",
        family="bandit",
        kernel=lazy_dp_ts,
        source="hu2024 Algorithm 3",
        summary="posterior draws every round, doubling batches",
        regret="O(Σ ln T / min{Δ_a, ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        doubling=True,
        cost=lambda T, K, epsilon: 30.0 * T + 55.0 * T * K,
        version=1,
    )
)
