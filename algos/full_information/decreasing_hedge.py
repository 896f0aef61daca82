"""Decreasing Hedge: exponential weights with the rate 2√(ln K/t), one action sampled a round.

Source: Mourtada & Gaïffas (2019), §2; guarantee: none. Regret: O(ln K/Δ_min) (their Theorem 2,
as quoted in hu2024 §2). Anytime, round by round.

Reading: P(J_t = j) ∝ exp(η_t G_j(t - 1)) with η_t = 2√(ln K/t) and G the aggregated rewards;
their losses are 1 - reward, and the common t - 1 cancels. One uniform number a round chooses by
inversion, actions in ascending order.

Most rounds are a foregone conclusion. In the n rounds after t a leader by D_j over action j still
leads by more than D_j - n, and the rate is η_(t+n) at least, so each of them gives j at most the
mass exp(-η_(t+n) (D_j - n)). With these summed to B over the actions before the leader and to A
over those behind it, a uniform number within [B, 1 - A) chooses the leader whatever the rewards
are. Those rounds cost one uniform number, and their rewards are one block of each action; the
first round outside is computed in full. The actions are those of the plain loop on the same
numbers, and as looking ahead does not go by T, those up to t do not depend on T.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms
from algos.full_information.environments import observe
from algos.random.generator import Rng, uniform
from algos.registry import Algorithm, register
from algos.traces import record

SLACK = 1e-12  # far above the rounding of the masses and of the cumulative probabilities
LITTLE = 0.5  # mass of the other actions below which looking ahead pays


@compiled
def others(G: np.ndarray, J: int, n: int, eta: float) -> tuple[float, float]:
    """Masses that the actions before J and behind it have at most in the next `n` rounds."""
    before, behind = SLACK, SLACK
    for j in range(J):
        before += math.exp(-eta * (G[J] - G[j] - n))
    for j in range(J + 1, G.size):
        behind += math.exp(-eta * (G[J] - G[j] - n))
    return before, behind


@compiled
def look_ahead(lead: float, mass: float, eta: float) -> int:
    """About as many rounds as pass before one is not certain, at most half of the lead."""
    x = max(math.log(2.0), math.log(eta / max(mass, 1e-300)))
    return int(min(0.5 * lead, (x - math.log(max(x, 1.0))) / eta))


class DecreasingHedge(NamedTuple):
    """The parameters of `decreasing_hedge`."""


@implements(play, DecreasingHedge)
def decreasing_hedge(algorithm: DecreasingHedge, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Sample J_t with P(j) ∝ exp(η_t G_j(t - 1)), η_t = 2√(ln K/t)."""
    K = number_of_arms(env)
    log_K = math.log(K)
    G = np.zeros(K)
    weight = np.empty(K)
    t, mass = 0, math.inf  # rounds played; of the other actions, when it was last computed
    while t < T:
        J = 0
        for j in range(1, K):
            if G[j] > G[J]:
                J = j
        n, before, behind = 0, 1.0, 1.0
        if mass < LITTLE:
            lead = math.inf
            for j in range(K):
                if j != J:
                    lead = min(lead, G[J] - G[j])
            n = look_ahead(lead, mass, 2.0 * math.sqrt(log_K / (t + 1)))
            if n > 0:
                before, behind = others(G, J, n, 2.0 * math.sqrt(log_K / (t + n)))
        end = min(n, T - t - 1)
        u = uniform(rng)
        played = 0
        while played < end and before <= u < 1.0 - behind:
            played += 1
            u = uniform(rng)
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
        mass = total - 1.0
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
        form=DecreasingHedge,
        source="Mourtada & Gaïffas 2019; hu2024 §2",
        summary="exponential weights, η_t = 2√(ln K/t)",
        regret="O(ln K/Δ_min)",
        # with one best action; where several are best, every round is computed in full
        cost=lambda T, sizes, epsilon: 5.0 * T + 30.0 * sizes["K"] * math.sqrt(T),
        version=1,
    )
)
