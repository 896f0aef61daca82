"""UCB1 with fresh noise on every mean it ever computes: privacy by composition alone.

Source: azize2022 §4, the first baseline: an index algorithm computes K T means, so each is made
ε / (K T)-DP. Guarantee: ε-DP, by composition. Regret: linear in T, as the paper expects.

Reading. The first K rounds pull each arm once and compute nothing. Before every later round the
mean of each arm's n rewards, of sensitivity 1 / n, is computed anew with its own Laplace noise of
scale (1/n) / (ε / (K T)) = K T / (ε n), also for arms whose rewards have not changed; the index is
ucb1's, noisy mean + √(2 ln t / n), with no term for the noise, since the paper names none.
At ε = inf it is ucb1.

Floor and exactness. A round computes, and releases, K means with fresh noise by definition: K T
Laplace variables of about 5 ns, most of it the logarithm. Where nothing is released the arg max
of a round could be drawn without them, as its law is known, but what a replay shows is what a
simulation played. Nothing is skipped; equal best arms make no difference.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.ucb import ucb
from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms, pull
from algos.maths.ties import argmax
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, register
from algos.traces import record, release


class NaiveDPUCB(NamedTuple):
    """The parameters of `naive_dp_ucb`."""

    epsilon: float


@implements(play, NaiveDPUCB)
def naive_dp_ucb(algorithm: NaiveDPUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j  mean_j + Lap(K T / (ε n_j)) + √(2 ln t / n_j), every noise fresh."""
    epsilon = algorithm.epsilon
    K = number_of_arms(env)
    scale = float(K) * T / epsilon
    total = np.zeros(K)
    mean = np.zeros(K)
    n = np.ones(K, np.int64)
    spread = np.full(K, scale)  # K T / (ε n_j)
    width = np.ones(K)  # 1 / √n_j
    index = np.zeros(K)
    for j in range(K):
        total[j] = mean[j] = pull(env, rng, j, j + 1, 1)
        record(trace, env, j + 1, j, 1)
    for t in range(K + 1, T + 1):
        root = math.sqrt(2.0 * math.log(t))
        for j in range(K):
            private_mean = mean[j] + laplace(rng, spread[j])
            release(trace, t - 1, j, private_mean)
            index[j] = ucb(private_mean, width[j], root)
        arm = argmax(index, rng)
        total[arm] += pull(env, rng, arm, t, 1)
        n[arm] += 1
        mean[arm] = total[arm] / n[arm]
        spread[arm] = scale / n[arm]
        width[arm] = 1.0 / math.sqrt(n[arm])
        record(trace, env, t, arm, 1)


register(
    Algorithm(
        name="naive_dp_ucb",
        family="bandit",
        form=NaiveDPUCB,
        source="azize2022 §4, first baseline",
        summary="UCB1, fresh noise on each of K·T means",
        regret="O(T)",
        guarantee="ε-DP",
        uses_epsilon=True,
        noiseless="ucb1",
        anytime=False,
        cost=lambda T, sizes, epsilon: T * (12.0 + 5.5 * sizes["K"]),
        version=2,
    )
)
