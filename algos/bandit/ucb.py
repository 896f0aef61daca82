"""UCB1, the non-private optimistic baseline.

Source: Auer, Cesa-Bianchi & Fischer (2002), with the index of sajed2019 §2.
Guarantee: none. Regret: O(Σ_a ln T / Δ_a). Anytime; it plays round by round: every reward moves an
index.

The round just played is often a foregone conclusion. Indices at rest grow with ln t only, so the
others stay below their value at a round `far` ahead, the `ceiling`; as long as the played arm's
index, taken at the logarithm of the round at which the stretch began, is above that, it is the
arg max of its round and the others need not be computed. The comparison is conservative, in
float64 too, so the actions are those of the plain loop; `ahead` only sets how far to look.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms, pull
from algos.maths.ties import argmax
from algos.random.generator import Rng
from algos.registry import Algorithm, register
from algos.traces import record


class UCB1(NamedTuple):
    """The parameters of `ucb1`."""


@implements(play, UCB1)
def ucb1(algorithm: UCB1, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j  mean_j + √(2 ln t / n_j), after one pull of each arm."""
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
    t, ahead = K, 1
    while t < T:
        start = t + 1
        root = math.sqrt(2.0 * math.log(start))
        for j in range(K):
            index[j] = mean[j] + root * width[j]
        arm = argmax(index, rng)
        far = min(T, start + ahead)
        root_far = math.sqrt(2.0 * math.log(far))
        ceiling = -math.inf
        for j in range(K):
            if j != arm:
                ceiling = max(ceiling, mean[j] + root_far * width[j])
        while True:
            t += 1
            total[arm] += pull(env, rng, arm, t, 1)
            n[arm] += 1
            mean[arm] = total[arm] / n[arm]
            width[arm] = 1.0 / math.sqrt(n[arm])
            if t == far or mean[arm] + root * width[arm] <= ceiling:
                break
        record(trace, env, start, arm, t - start + 1)
        ahead = 2 * ahead if t == far else max(1, ahead // 2)


register(
    Algorithm(
        name="ucb1",
        family="bandit",
        form=UCB1,
        source="Auer et al. 2002; sajed2019 §2",
        summary="mean + √(2 ln t / n), round by round",
        regret="O(Σ ln T / Δ_a)",
        cost=lambda T, sizes, epsilon: 12.0 * T + 0.5 * T * sizes["K"],
        version=1,
    )
)
