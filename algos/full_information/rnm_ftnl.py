"""FTNL and RNM-FTNL: epochs of doubling size, the noisy leader of the last epoch only.

Source: hu2024, Algorithm 4 (rnm_ftnl) and the text before it (ftnl).
Guarantee: ε-DP, rnm_ftnl as the paper claims (Theorem 8), ftnl by the Laplace mechanism.
Regret: rnm_ftnl O(ln K/Δ_min + Σ_ℓ (1 + ln|J_ℓ|)/ε), the sum over the non-empty brackets of gaps
[2^(ℓ-1) Δ_min, 2^ℓ Δ_min) that lie above ε (Theorem 9); ftnl O(ln K max{1/Δ_min, K/ε}), expected
by the paper, not proven. Both are anytime.

Reading of the box: epoch s = 0, 1, … has 2^s rounds; line 2 is epoch 0, in which the first action
is played, as in the proof of Theorem 9. When an epoch ends, each action's aggregated reward over
it gets one Laplace draw and the largest is played in the next. An epoch that T cuts short decides
nothing. An epoch is one block of each action, so a kernel costs O(K log T).

What leaves the mechanism: every noisy sum of ftnl, with Lap(K/ε) each; of rnm_ftnl the index of
the largest alone. `noise` multiplies the paper's scale.

Note on Theorem 8: its proof cites Claim 3.9 of Dwork et al. (2014), which is for counts that one
record moves in the same direction. Replacing a whole reward vector can raise one sum and lower
another, and then Report Noisy Max with Lap(1/ε) is 2ε-DP, and no better for K = 2 with sums far
apart; `noise = 2` gives ε-DP under replacement. Lap(K/ε) suffices for ftnl.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import allocating, implements
from algos.environments import number_of_arms
from algos.full_information.environments import observe
from algos.maths.ties import argmax
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, positive, register
from algos.traces import record, release


@allocating
def follow_noisy_leader(
    env: Any, rng: Rng, trace: Any, T: int, scale: float, report_max: bool
) -> None:
    """hu2024 Algorithm 4 with Lap(scale); `report_max`: the sums themselves are not released."""
    K = number_of_arms(env)
    Phi = np.zeros(K)
    J = 0  # line 2
    t, length = 0, 1  # rounds played; 2^s
    while length <= T - t:  # line 3
        record(trace, env, t + 1, J, length)  # line 4
        observe(env, rng, t + 1, length, Phi)
        t += length
        for j in range(K):  # line 5
            Phi[j] += laplace(rng, scale)
            if not report_max:
                release(trace, t, j, Phi[j])
        J = argmax(Phi, rng)
        if report_max:
            release(trace, t, J, float(J))
        length *= 2  # line 6
        Phi[:] = 0.0
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


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    return 100.0 * sizes["K"] * math.log2(T)


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
        cost=_cost,
        version=1,
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
        cost=_cost,
        version=1,
    )
)
