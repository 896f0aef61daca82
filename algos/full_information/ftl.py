"""Follow the Leader on the whole history.

Source: hu2024 §1 (II) and §2, with van Erven et al. (2014); guarantee: none.
Regret: O(ln K/Δ_min) (Kotłowski 2019). Anytime.

Reading: each round plays the action with the largest aggregated reward of the rounds before, all
equal in the first. A tie is drawn anew whenever an aggregated reward has changed since.

A leader by D stays the leader while fewer than D further rounds are seen, as rewards lie in
[0, 1]: the next ⌈D⌉ rounds are its own whatever they bring, and are one block of each action.
With one best action the lead grows with t, and the kernel costs O(K (1/Δ² + ln T/Δ)); with several
it costs O(K √T). Sums are float64: exact up to 2^53 rounds where rewards are 0 or 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms
from algos.full_information.environments import observe
from algos.maths.ties import argmax
from algos.random.generator import Rng
from algos.registry import Algorithm, register
from algos.traces import record


class FTL(NamedTuple):
    """The parameters of `ftl`."""


@implements(play, FTL)
def ftl(algorithm: FTL, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j of the aggregated rewards, block by block."""
    K = number_of_arms(env)
    total = np.zeros(K)
    decided_on = np.full(K, -1.0)
    t, J = 0, 0
    while t < T:
        best, second = -1.0, -1.0
        changed = False
        for j in range(K):
            changed |= total[j] != decided_on[j]
            if total[j] > best:
                best, second = total[j], best
            elif total[j] > second:
                second = total[j]
        if changed:
            J = argmax(total, rng)
            decided_on[:] = total
        lead = best - second
        n = min(T - t, max(1, math.ceil(lead)))
        record(trace, env, t + 1, J, n)
        t += n
        if t < T:
            observe(env, rng, t - n + 1, n, total)


register(
    Algorithm(
        name="ftl",
        family="full_information",
        form=FTL,
        source="hu2024 §1 and §2; van Erven et al. 2014",
        summary="largest aggregated reward so far",
        regret="O(ln K/Δ_min)",
        cost=lambda T, sizes, epsilon: 30.0 * sizes["K"] * math.sqrt(T),
        version=1,
    )
)
