"""Follow the Leader on the whole history.

Source: hu2024 §1 (II) and §2, with van Erven et al. (2014); guarantee: none.
Regret: O(ln K/Δ_min) (Kotłowski 2019). Anytime.

Reading: each round plays the action with the largest aggregated reward of the rounds before, all
equal in the first. A tie is drawn anew whenever an aggregated reward has changed since.

A leader by D stays the leader while fewer than D further rounds are seen, as rewards lie in
[0, 1]: the next ⌈D⌉ rounds are its own whatever they bring, and are one block of each action. On
reward tables the kernel leaps no further, and is exact to the letter.

Floor and exactness. Where rewards are independent draws with known means, a lead may last longer
but for a chance of 1e-20 (`algos.full_information.settled`): D²/46 rounds where the leader is no
worse than the other, for good once D exceeds 46 over the difference of their log odds. An action
that is behind for good is left out, and when one is left it plays to T. Each leap errs with chance
at most 1e-20, which is below the resolution of a uniform number.

With one best action all others are out after about 50/Δ² rounds, and the kernel costs
O(K (1/Δ² + ln(1/Δ)/Δ)) however large T is. With several best ones the lead between them is a random
walk that comes back to 0 about √T times, and each time who leads is a draw: O(√T), for the pulls
of either could not be told otherwise without the law of a random walk's occupation times. Sums are
float64: exact up to 2^53 rounds where rewards are 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms, pull
from algos.full_information.settled import known_mean, lasts, log_odds
from algos.maths.ties import argmax
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, register
from algos.traces import record


class FTL(NamedTuple):
    """The parameters of `ftl`."""


@implements(play, FTL)
def ftl(algorithm: FTL, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play argmax_j of the aggregated rewards, block by block."""
    K = number_of_arms(env)
    odds = np.empty(K)
    total = np.zeros(K)  # -inf of actions that are behind for good
    for j in range(K):
        odds[j] = log_odds(known_mean(env, j))
    t, J, changed = 0, 0, True
    while t < T:
        if changed:
            J = argmax(total, rng)
        lead = math.inf
        for j in range(K):
            if j != J and total[j] >= 0.0:
                rounds = lasts(total[J] - total[j], odds[J] - odds[j], K)
                if rounds == math.inf:
                    total[j] = -math.inf
                lead = min(lead, rounds)
        n = T - t if lead >= T - t else max(1, math.ceil(lead))
        record(trace, env, t + 1, J, n)
        t += n
        if t < T:
            changed = False
            for j in range(K):
                if total[j] >= 0.0:
                    reward = pull(env, rng, j, t - n + 1, n)
                    total[j] += reward
                    changed |= reward > 0.0


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    return 500.0 + 200.0 * sizes["K"] + 25.0 * math.log2(T)


def _cost_by_gaps(T: float, gaps: Sequence[float], epsilon: float | None) -> float:
    """With several best actions a tied lead is drawn about √T times."""
    ties = 400.0 * math.sqrt(T) if sorted(gaps)[1] == 0.0 else 0.0
    return _cost(T, {"K": len(gaps)}, epsilon) + ties


register(
    Algorithm(
        name="ftl",
        family="full_information",
        form=FTL,
        source="hu2024 §1 and §2; van Erven et al. 2014",
        summary="largest aggregated reward so far",
        regret="O(ln K/Δ_min)",
        skips_ahead=True,
        # with one best action; with several, 15 K √T
        cost=_cost,
        cost_by_gaps=_cost_by_gaps,
        version=2,
    )
)
