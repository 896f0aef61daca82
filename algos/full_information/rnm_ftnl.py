"""FTNL and RNM-FTNL: epochs of doubling size, the noisy leader of the last epoch only.

Source: hu2024, Algorithm 4 (rnm_ftnl) and the text before it (ftnl).
Guarantee: ε-DP, rnm_ftnl as the paper claims (Theorem 8), ftnl by the Laplace mechanism.
Regret: rnm_ftnl O(ln K/Δ_min + Σ_ℓ (1 + ln|J_ℓ|)/ε), the sum over the non-empty brackets of gaps
[2^(ℓ-1) Δ_min, 2^ℓ Δ_min) that lie above ε (Theorem 9); ftnl O(ln K max{1/Δ_min, K/ε}), expected
by the paper, not proven. Both are anytime.

Reading of the box: epoch s = 0, 1, … has 2^s rounds; line 2 is epoch 0, in which the first action
is played, as in the proof of Theorem 9. When an epoch ends, each action's aggregated reward over
it gets one Laplace draw and the largest is played in the next. An epoch that T cuts short decides
nothing.

What leaves the mechanism: every noisy sum of ftnl, with Lap(K/ε) each; of rnm_ftnl the index of
the largest alone. `noise` multiplies the paper's scale.

Note on Theorem 8: its proof cites Claim 3.9 of Dwork et al. (2014), which is for counts that one
record moves in the same direction. Replacing a whole reward vector can raise one sum and lower
another, and then Report Noisy Max with Lap(1/ε) is 2ε-DP, and no better for K = 2 with sums far
apart; `noise = 2` gives ε-DP under replacement. Lap(K/ε) suffices for ftnl.

Floor and exactness. An epoch is one block of each action and K draws of noise, O(K log T) in all;
nothing less decides an epoch whose leader is open. Where rewards are independent draws with known
means and one is largest, epochs from some length on are not open: for b the scale of the noise and
λ ≤ λ₀, λ < 1/b, action j is the noisy leader of n rounds with chance at most
e^(-λκn)/(1 - λ²b²)² (`algos.full_information.settled`). From the first epoch on for which these,
over all j and all later epochs, sum to at most 1e-20, the best action is played to T, and the
kernel costs O(K log(1/Δ² + b/Δ)) whatever T is. A trace that keeps released numbers gets all of
them, drawn. With several best actions, and on tables, every epoch is drawn: O(K log T).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import allocating, compiled, implements
from algos.environments import number_of_arms
from algos.full_information.environments import observe
from algos.full_information.settled import LOG_CHANCE, best_known, decline, known_mean
from algos.maths.ties import argmax
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, positive, register
from algos.traces import listens, record, release


@compiled
def certain_length(env: Any, K: int, best: int, scale: float) -> float:
    """Shortest epoch from which on every epoch's noisy leader is `best`; inf if none is."""
    longest = 0.0
    for j in range(K):
        if j != best:
            steep, kappa = decline(known_mean(env, best), known_mean(env, j))
            if steep == 0.0:
                return math.inf
            # a difference of two draws Lap(b) has E e^(λx) = 1/(1 - λ²b²)²; b = 0 allows any λ
            slope = 0.9 / max(scale, 0.9 / steep)
            noise = -2.0 * math.log(1.0 - (slope * scale) ** 2)
            longest = max(longest, (LOG_CHANCE + math.log(2.0 * K) + noise) / (slope * kappa))
    return longest


@allocating
def follow_noisy_leader(
    env: Any, rng: Rng, trace: Any, T: int, scale: float, report_max: bool
) -> None:
    """hu2024 Algorithm 4 with Lap(scale); `report_max`: the sums themselves are not released."""
    K = number_of_arms(env)
    best = best_known(env, K)
    certain = math.inf if listens(trace) else certain_length(env, K, best, scale)
    Phi = np.empty(K)
    J = 0  # line 2
    t, length = 0, 1  # rounds played; 2^s
    while length <= T - t:  # line 3
        record(trace, env, t + 1, J, length)  # line 4
        t += length
        if length >= certain:
            J = best
            break
        Phi[:] = 0.0
        observe(env, rng, t - length + 1, length, Phi)
        for j in range(K):  # line 5
            Phi[j] += laplace(rng, scale)
            if not report_max:
                release(trace, t, j, Phi[j])
        J = argmax(Phi, rng)
        if report_max:
            release(trace, t, J, float(J))
        length *= 2  # line 6
    if t < T:
        record(trace, env, t + 1, J, T - t)


class FTNL(NamedTuple):
    """The parameters of `ftnl`."""

    epsilon: float
    noise: float


@implements(play, FTNL)
def ftnl(algorithm: FTNL, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Follow the Noisy Leader: Lap(noise · K/ε) on every sum."""
    epsilon, noise = algorithm
    scale = noise * number_of_arms(env) / epsilon
    follow_noisy_leader(env, rng, trace, T, scale, False)


class RNMFTNL(NamedTuple):
    """The parameters of `rnm_ftnl`."""

    epsilon: float
    noise: float


@implements(play, RNMFTNL)
def rnm_ftnl(algorithm: RNMFTNL, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Report-Noisy-Max FTNL: Lap(noise/ε) on every sum, of which only the arg max is used."""
    epsilon, noise = algorithm
    follow_noisy_leader(env, rng, trace, T, noise / epsilon, True)


def _cost(T: float, sizes: Sizes, scale: float) -> float:
    """With one best action; with several, 120 K log₂ T."""
    K = sizes["K"]
    return 600.0 + K * (250.0 + 40.0 * math.log2(1.0 + scale)) + 25.0 * math.log2(T)


register(
    Algorithm(
        name="ftnl",
        family="full_information",
        form=FTNL,
        source="hu2024 §5, before Algorithm 4",
        summary="doubling epochs, leader by sums with Lap(K/ε)",
        regret="O(ln K · max{1/Δ_min, K/ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        parameters=(positive("noise", 1.0, "noise scale over K/ε"),),
        cost=lambda T, sizes, epsilon: _cost(T, sizes, sizes["K"] / (epsilon or math.inf)),
        version=2,
    )
)

register(
    Algorithm(
        name="rnm_ftnl",
        family="full_information",
        form=RNMFTNL,
        source="hu2024 Algorithm 4",
        summary="doubling epochs, report noisy max with Lap(1/ε)",
        regret="O(ln K/Δ_min + ln K ln(Δ_max/max{Δ_min, ε})/ε)",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        parameters=(
            positive(
                "noise",
                1.0,
                "noise scale over 1/ε; 2 keeps ε-DP when a whole reward vector is replaced",
            ),
        ),
        cost=lambda T, sizes, epsilon: _cost(T, sizes, 1.0 / (epsilon or math.inf)),
        version=2,
    )
)
