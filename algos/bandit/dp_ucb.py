"""DP-UCB: UCB1 on each arm's noisy sums from a binary tree, plus what the noise may amount to.

Source: Mishra & Thakurta 2015, Tossou & Dimitrakakis 2016, as in sajed2019 §1 and azize2022 §1.
Guarantee: ε-DP. Regret: O(Σ_a ln T / Δ_a + K ln^2.5 T / ε) as sajed2019 and azize2022 quote it.

Reading. One tree per arm over that arm's own pulls, L = floor(log2 T) + 1 levels, Lap(L / ε) per
node. Index: noisy sum / n + √(2 ln t / n) + B / n, after one pull of each arm in index order. The
papers do not print B, so it is a choice, made for the most nodes that a sum can have (L):

- union: the tail of a sum of L Laplace variables (Chan et al. 2011, Corollary 2.9) at
  δ = γ / (K T): (L / ε) max{√L, √ln(2/δ)} √(8 ln(2/δ)), for all sums at once;
- pointwise: the same at δ = γ, for one sum;
- log2.5: (L / ε) √(8 L) ln(2 K T / γ), the union bound's order with both factors taken together;
- mt15: L (L / ε) ln(K T L / γ), every node's noise bounded by itself.

A reward enters one tree, so each tree may have all of ε (`per_arm`); `split` gives each ε / K. The
released numbers are the noisy sums. Without noise (ε = inf) this is ucb1.

Floor and exactness. Every pull releases a sum with a fresh node's noise, which decides whether the
arm is pulled again. What a replay shows is what a simulation played, so every node is drawn, and
the cost is T rewards, Laplace variables and steps down the tree, about 9 ns each round, whether
best arms are equal or not. Without that, blocks of 2^i pulls whose inner nodes enter no later sum
could be skipped where none of them is likely to matter. The other indices move with ln t only: a
stretch is played with ucb1's linear margin (`ucb.line`), to which the noise is added, and needs no
index, logarithm or root of its own. What is closer than rounding is left to the indices, so the
actions are those of the plain loop.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.ucb import LEAST, SHARE, indices, line
from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.ties import argmax
from algos.maths.tree import levels, prefix_noise
from algos.random.generator import Rng
from algos.registry import Algorithm, Parameter, probability, register
from algos.traces import record, release

BOUNDS = ("union", "pointwise", "log2.5", "mt15")
BUDGETS = ("per_arm", "split")
POINTWISE, LOG25, MT15 = (BOUNDS.index(name) for name in BOUNDS[1:])
SPLIT = BUDGETS.index("split")


@compiled
def noise_bound(bound: int, K: int, T: int, epsilon: float, gamma: float) -> float:
    """B for the choice at place `bound` of BOUNDS, with ε per tree."""
    L = levels(T)
    scale = L / epsilon
    if bound == MT15:
        return L * scale * (math.log(float(K) * T) + math.log(L / gamma))
    log_2_delta = math.log(2.0 / gamma)
    if bound != POINTWISE:
        log_2_delta += math.log(float(K) * T)
    if bound == LOG25:
        return scale * math.sqrt(8.0 * L) * log_2_delta
    nu = scale * math.sqrt(max(float(L), log_2_delta))
    return nu * math.sqrt(8.0 * log_2_delta)


class DPUCB(NamedTuple):
    """The parameters of `dp_ucb`."""

    epsilon: float
    bound: int
    budget: int
    gamma: float


@implements(play, DPUCB)
def dp_ucb(algorithm: DPUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j  (noisy sum_j + B) / n_j + √(2 ln t / n_j), after one pull of each arm."""
    epsilon, bound, budget, gamma = algorithm
    K = number_of_arms(env)
    if budget == SPLIT:
        epsilon /= K
    L = levels(T)
    scale = L / epsilon
    B = noise_bound(bound, K, T, epsilon, gamma)
    total = np.zeros(K)
    n = np.ones(K, np.int64)
    noise = np.zeros((K, L))
    hoped = np.zeros(K)  # (noisy sum + B) / n, the mean as far as the noise may have lowered it
    width = np.ones(K)  # 1 / √n_j
    index = np.zeros(K)
    Z = np.zeros(K)  # the noise in the noisy sum
    for j in range(K):
        total[j] = pull(env, rng, j, j + 1, 1)
        Z[j] = prefix_noise(noise[j], 1, scale, rng)
        hoped[j] = total[j] + Z[j] + B
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, total[j] + Z[j])
    t = K
    while t < T:
        start = t + 1
        root = math.sqrt(2.0 * math.log(start))
        indices(hoped, width, root, index)
        arm = argmax(index, rng)
        S, N, fresh, row = total[arm], n[arm], Z[arm], noise[arm]
        room = LEAST + N // SHARE
        margin, toll = line(arm, N, index, width, start, root, room)
        margin -= fresh
        end = min(T, t + room)
        while True:
            t += 1
            x = pull(env, rng, arm, t, 1)
            S += x
            N += 1
            fresh = prefix_noise(row, N, scale, rng)
            release(trace, t, arm, S + fresh)
            margin += x - toll
            if margin + fresh <= 0.0 or t == end:
                break
        record(trace, env, start, arm, t - start + 1)
        total[arm], n[arm], Z[arm] = S, N, fresh
        hoped[arm] = (S + fresh + B) / N
        width[arm] = 1.0 / math.sqrt(N)


register(
    Algorithm(
        name="dp_ucb",
        family="bandit",
        form=DPUCB,
        source="Mishra & Thakurta 2015; sajed2019 §1",
        summary="UCB on noisy sums from a tree per arm",
        regret="O(Σ ln T / Δ_a + K ln^2.5 T / ε)",
        guarantee="ε-DP",
        uses_epsilon=True,
        noiseless="ucb1",
        anytime=False,
        parameters=(
            Parameter(
                "bound", "union", choices=BOUNDS, meaning="B, what a sum's noise stays under"
            ),
            Parameter("budget", "per_arm", choices=BUDGETS, meaning="ε of a tree: ε or ε/K"),
            probability("gamma", 0.1, "failure probability γ inside B"),
        ),
        cost=lambda T, sizes, epsilon: 7.0 * T + 1.2 * sizes["K"] * min(T, 10_000),
        version=2,
    )
)
