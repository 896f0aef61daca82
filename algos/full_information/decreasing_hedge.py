"""Decreasing Hedge: exponential weights with the rate 2√(ln K/t), one action sampled a round.

Source: Mourtada & Gaïffas (2019), §2; guarantee: none. Regret: O(ln K/Δ_min) (their Theorem 2,
as quoted in hu2024 §2). Anytime.

Reading: P(J_t = j) ∝ exp(η_t G_j(t - 1)) with η_t = 2√(ln K/t) and G the aggregated rewards;
their losses are 1 - reward, and the common t - 1 cancels.

Drawing less. With draws = "all" one uniform number a round chooses by inversion, actions in
ascending order. The default, "needed", has the same law: most rounds are a foregone conclusion. In
the n rounds after t a leader by D_j over action j still leads by D_j - n at least, and the rate is
η_(t+n) at least, so each of them plays another action with chance at most
B = Σ_j exp(-η_(t+n) (D_j - n)), whatever the rewards are. Rounds are candidates with probability B
each; the first one comes after a geometric number of rounds, which are the leader's; there the true
chance p of another action is computed, and another action is played with probability p/B. n is
doubled after a stretch without candidates and halved while more than one is expected.

Floor and exactness. The candidates are exact in law for any rewards. With one best action of
independent rewards with known means, it is the leader for good as soon as the chances that it is
not played sum to at most 1e-20 over all rounds to come: by `algos.full_information.settled` action
j has at most the mass exp(-η_s κ s) on average in round s, if D_j ≥ κ (t + 1), and the sum over
s > t of exp(-c √s), c = 2κ √ln K, is below (2/c²)(c √t + 1) exp(-c √t). So from t about 3000/(Δ²
ln K) on nothing is drawn: about 1/Δ² rounds in full, then some ten stretches an octave, and no cost
that grows with T. With several best actions their leads are of order √t and their masses of
order 1 for ever: each round is open, and the kernel costs O(K T). (Rewards do not depend on the
actions, so the counts of a stretch could be drawn without its rounds, but regret is recorded at
rounds that the kernel does not know.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms
from algos.full_information.environments import observe
from algos.full_information.settled import LOG_CHANCE, best_known, decline, known_mean
from algos.random.discrete import geometric
from algos.random.generator import Rng, uniform
from algos.registry import Algorithm, Parameter, Sizes, register
from algos.traces import record

DRAWS = ("needed", "all")
NEEDED = 0
LITTLE = 0.25  # mass of the other actions below which looking ahead pays


@compiled
def rate(t: float, log_K: float) -> float:
    """η_t."""
    return 2.0 * math.sqrt(log_K / t)


@compiled
def others(G: np.ndarray, J: int, n: int, eta: float) -> float:
    """Mass of the actions other than J, relative to its own, at most, once n rewards are in."""
    mass = 0.0
    for j in range(G.size):
        if j != J:
            mass += math.exp(-eta * (G[J] - G[j] - n))
    return mass


@compiled
def settling_round(log_K: float, steep: float, kappa: float) -> float:
    """From when on an action with such a decline is out, if it is far enough behind."""
    if steep == 0.0:
        return math.inf
    c = 2.0 * kappa * math.sqrt(log_K)
    # c √t ≥ x + ln(1 + c √t) holds from c √t = x + 2 ln(2 + x) on
    x = LOG_CHANCE + log_K + math.log(2.0 / (c * c))
    root = (x + 2.0 * math.log(2.0 + x)) / c
    return max(root * root, log_K * (2.0 / steep) ** 2)  # η_t ≤ λ₀


@compiled
def is_settled(G: np.ndarray, best: int, t: int, settling: np.ndarray, kappa: np.ndarray) -> bool:
    """Whether `best` is played in every round after t."""
    for j in range(G.size):
        if j != best and not (t >= settling[j] and G[best] - G[j] >= kappa[j] * (t + 1.0)):
            return False
    return True


@compiled
def inverse(weight: np.ndarray, last: int, x: float) -> int:
    """The first action whose cumulated weight exceeds x: ascending, but `last` comes last."""
    cumulative = 0.0
    for j in range(weight.size):
        if j != last:
            cumulative += weight[j]
            if cumulative > x:
                return j
    return last


class DecreasingHedge(NamedTuple):
    """The parameters of `decreasing_hedge`."""

    draws: int


@implements(play, DecreasingHedge)
def decreasing_hedge(algorithm: DecreasingHedge, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Sample J_t with P(j) ∝ exp(η_t G_j(t - 1)), η_t = 2√(ln K/t); `draws` is a place in DRAWS."""
    needed = algorithm.draws == NEEDED
    K = number_of_arms(env)
    log_K = math.log(K)
    G = np.zeros(K)
    weight = np.empty(K)
    best = best_known(env, K)
    settling = np.empty(K)
    kappa = np.empty(K)
    for j in range(K):
        steep, kappa[j] = decline(known_mean(env, best), known_mean(env, j))
        settling[j] = settling_round(log_K, steep, kappa[j])
    t, n = 0, 1  # rounds played, and to look ahead over
    while t < T:
        J = 0
        for j in range(1, K):
            if G[j] > G[J]:
                J = j
        B = 1.0
        if n > 1:
            if best == J and is_settled(G, best, t, settling, kappa):
                record(trace, env, t + 1, J, T - t)
                return
            B = others(G, J, n, rate(t + n, log_K))
            while n > 1 and n * B > 1.0:
                n //= 2
                B = others(G, J, n, rate(t + n, log_K)) if n > 1 else 1.0
        if n > 1:
            before = geometric(rng, B)
            m = int(min(before, float(n)))
            if m >= T - t:
                record(trace, env, t + 1, J, T - t)
                return
            if m > 0:
                record(trace, env, t + 1, J, m)
                observe(env, rng, t + 1, m, G)
                t += m
            if before >= n:
                n *= 2
                continue
        eta = rate(t + 1, log_K)
        total = 0.0
        for j in range(K):
            weight[j] = math.exp(eta * (G[j] - G[J]))
            total += weight[j]
        if needed and n == 1 and total < 1.0 + LITTLE:
            n = 2
        J = inverse(weight, J if needed else K - 1, uniform(rng) * B * total)
        t += 1
        record(trace, env, t, J, 1)
        observe(env, rng, t, 1, G)


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    """With one best action; with several, and where all is drawn, (20 + 4 K) T."""
    K = sizes["K"]
    return min((20.0 + 4.0 * K) * T, 8e3 + 1.9e3 * K) + 25.0 * math.log2(T)


def _cost_by_gaps(T: float, gaps: Sequence[float], epsilon: float | None) -> float:
    """In proportion to 1/Δ, Δ the smallest gap, until that is told."""
    K = len(gaps)
    least = sorted(gaps)[1]
    every = (15.0 + 2.0 * K) * T
    return every if least == 0.0 else min(every, 1e3 * K / least) + 25.0 * math.log2(T)


_DRAWS = Parameter(
    "draws",
    "needed",
    choices=DRAWS,
    meaning="rounds in which a number is drawn: where it may matter, or all; the law is the same",
)

register(
    Algorithm(
        name="decreasing_hedge",
        family="full_information",
        form=DecreasingHedge,
        source="Mourtada & Gaïffas 2019; hu2024 §2",
        summary="exponential weights, η_t = 2√(ln K/t)",
        regret="O(ln K/Δ_min)",
        skips_ahead=True,
        parameters=(_DRAWS,),
        cost=_cost,
        cost_by_gaps=_cost_by_gaps,
        version=2,
    )
)
