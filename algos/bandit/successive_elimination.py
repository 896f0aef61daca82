"""DP Successive Elimination and its non-private form.

Source: sajed2019, Algorithm 3; β = 1/T unless given (their §5 and Theorem 4.3).
Guarantee: ε-DP (Theorem 4.1). Regret: O(Σ_a ln T / Δ_a + K ln T / ε) (Theorem 4.3).

Reading of the box: an epoch makes ⌈R_e⌉ passes over the surviving arms in index order; h_e and
c_e keep R_e itself; line 17 perturbs the mean of those ⌈R_e⌉ samples with Lap(1/(ε ⌈R_e⌉)); the
test of line 20 uses |S| before the epoch's eliminations. The arms of an epoch are fixed at its
start, so a whole epoch is one block per arm: the kernel costs O(K log T).
`successive_elimination` is the box without noise, c_e = 0 and R_e without its ε term; it is
what `dp_se` becomes at ε = inf.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.dispatch import allocating, implements
from algos.environments import number_of_arms, pull
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, Sizes, probability, register
from algos.traces import record, record_cycle, release


@allocating
def eliminate(
    env: Any,
    rng: Rng,
    trace: Any,
    T: int,
    epsilon: float,
    beta: float,
    private: bool,
) -> None:
    """sajed2019 Algorithm 3; `private` says whether line 17 adds its noise."""
    S = np.arange(number_of_arms(env))  # line 1; the first `left` arms survive
    mean = np.empty(S.size)
    left, t, epoch = S.size, 0, 0  # line 2
    while left > 1 and t < T:
        epoch += 1  # line 4
        Delta = 2.0**-epoch  # line 7
        log8 = math.log(8.0 * left * epoch * epoch / beta)
        log4 = math.log(4.0 * left * epoch * epoch / beta)
        R = max(32.0 * log8 / Delta**2, 8.0 * log4 / (epsilon * Delta)) + 1.0  # line 8
        passes = math.ceil(R) if R < T else T  # no epoch outlasts T; R may exceed int64
        if passes > (T - t) // left:
            # Cut at T unless the last pass ends on it; what it would learn is never used.
            record_cycle(trace, env, t + 1, S[:left], T - t)
            return
        for i in range(left):  # lines 9-14
            mean[i] = pull(env, rng, S[i], t + 1 + i, passes, left) / passes
        record_cycle(trace, env, t + 1, S[:left], passes * left)
        t += passes * left
        h = math.sqrt(log8 / (2.0 * R))  # line 15
        c = log4 / (R * epsilon)  # line 16
        best = -math.inf
        for i in range(left):  # lines 17-18
            if private:
                mean[i] += laplace(rng, 1.0 / (epsilon * passes))
                release(trace, t, S[i], mean[i])
            best = max(best, mean[i])
        survivors = 0
        for i in range(left):  # lines 19-20
            if best - mean[i] <= 2.0 * h + 2.0 * c:
                S[survivors] = S[i]
                survivors += 1
        left = survivors
    if t < T:
        record(trace, env, t + 1, S[0], T - t)  # line 22


class DPSE(NamedTuple):
    """The parameters of `dp_se`."""

    epsilon: float
    beta: float


@implements(play, DPSE)
def dp_se(algorithm: DPSE, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """DP Successive Elimination with failure probability `beta`."""
    epsilon, beta = algorithm
    eliminate(env, rng, trace, T, epsilon, beta, True)


class SuccessiveElimination(NamedTuple):
    """The parameters of `successive_elimination`."""

    beta: float


@implements(play, SuccessiveElimination)
def successive_elimination(
    algorithm: SuccessiveElimination, env: Any, rng: Rng, trace: Any, T: int
) -> None:
    """Successive elimination without privacy: the same epochs, no noise."""
    beta = algorithm.beta
    eliminate(env, rng, trace, T, math.inf, beta, False)


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    return 300.0 + 35.0 * math.log2(T) + 60.0 * sizes["K"]


_BETA = probability("beta", None, "failure probability β", derive=lambda T: 1.0 / T, derived="1/T")

register(
    Algorithm(
        name="dp_se",
        family="bandit",
        form=DPSE,
        source="sajed2019 Algorithm 3",
        summary="epochs, eliminates arms by noisy means",
        regret="O(Σ ln T / Δ_a + K ln T / ε)",
        guarantee="ε-DP",
        uses_epsilon=True,
        noiseless="successive_elimination",
        anytime=False,
        skips_ahead=True,
        doubling=True,
        parameters=(_BETA,),
        cost=_cost,
        version=2,
    )
)

register(
    Algorithm(
        name="successive_elimination",
        family="bandit",
        form=SuccessiveElimination,
        source="sajed2019 Algorithm 3 without noise",
        summary="epochs, eliminates arms by means",
        regret="O(Σ ln T / Δ_a)",
        anytime=False,
        skips_ahead=True,
        doubling=True,
        parameters=(_BETA,),
        cost=_cost,
        version=2,
    )
)
