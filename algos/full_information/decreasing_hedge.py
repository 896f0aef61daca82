"""Decreasing Hedge: exponential weights with the rate 2√(ln K/t), one action sampled a round.

Source: Mourtada & Gaïffas (2019), §2; guarantee: none. Regret: O(ln K/Δ_min) (their Theorem 2,
as quoted in hu2024 §2). Anytime, round by round.

Reading: P(J_t = j) ∝ exp(η_t G_j(t - 1)) with η_t = 2√(ln K/t) and G the aggregated rewards;
their losses are 1 - reward, and the common t - 1 cancels. One uniform number a round chooses by
inversion, actions in ascending order.

Most rounds are a foregone conclusion. In the n rounds after t a leader by D_j over action j still
leads by more than D_j - n, and the rate is η_(t+n) at least, so the other actions have mass at
most W = Σ exp(-η_(t+n) (D_j - n)) in each of them, and a uniform number within [W, 1 - W) chooses
the leader whatever the rewards are. Those rounds cost one uniform number, and their rewards are
one block of each action; the first round outside is computed in full. The actions are those of
the plain loop on the same numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from algos.environments import number_of_arms, observe
from algos.registry import Algorithm, register
from algos.traces import record

SLACK = 1e-12  # far above the rounding of W and of the cumulative probabilities
LITTLE = 0.25  # mass of the others below which looking ahead pays


@njit(cache=True)
def others(G: np.ndarray, J: int, seen: int, eta: float) -> float:
    """At most this mass is on other actions than J before `seen` further rounds are over."""
    mass = 0.0
    for j in range(G.size):
        if j != J:
            mass += math.exp(-eta * (G[J] - G[j] - seen))
    return mass


@njit(cache=True)
def decreasing_hedge(env: Any, rng: np.random.Generator, trace: Any, T: int) -> None:
    """Sample J_t with P(j) ∝ exp(η_t G_j(t - 1)), η_t = 2√(ln K/t)."""
    K = number_of_arms(env)
    log_K = math.log(K)
    G = np.zeros(K)
    weight = np.empty(K)
    t, share = 0, 0.0  # rounds played; the leader's share when it was last computed
    while t < T:
        J = 0
        for j in range(1, K):
            if G[j] > G[J]:
                J = j
        n, W = 0, 1.0
        if share > 1.0 - LITTLE:
            lead = math.inf
            for j in range(K):
                if j != J:
                    lead = min(lead, G[J] - G[j])
            n = min(T - t - 1, int(0.5 * lead))
            if n > 0:
                W = SLACK + others(G, J, n, 2.0 * math.sqrt(log_K / (t + n)))
        u = rng.random()
        played = 0
        while played < n and W <= u < 1.0 - W:
            played += 1
            u = rng.random()
        if played > 0:
            record(trace, env, t + 1, J, played)
            observe(env, rng, t + 1, played, G)
            t += played
        eta = 2.0 * math.sqrt(log_K / (t + 1))
        highest = G.max()
        total = 0.0
        for j in range(K):
            weight[j] = math.exp(eta * (G[j] - highest))
            total += weight[j]
        share = 1.0 / total
        threshold = u * total
        J, cumulative = 0, weight[0]
        while cumulative <= threshold and J < K - 1:
            J += 1
            cumulative += weight[J]
        t += 1
        record(trace, env, t, J, 1)
        observe(env, rng, t, 1, G)


register(
    Algorithm(
        name="decreasing_hedge",
        family="full_information",
        kernel=decreasing_hedge,
        source="Mourtada & Gaïffas 2019; hu2024 §2",
        summary="exponential weights, η_t = 2√(ln K/t)",
        regret="O(ln K/Δ_min)",
        # with one best action; where several are best, every round is computed in full
        cost=lambda T, K, epsilon: 5.0 * T + 30.0 * K * math.sqrt(T),
        version=1,
    )
)
