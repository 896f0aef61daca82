"""NAS, Nonmonotonic Adaptive Sampling: the stopping rule without privacy.

Source: Domingo, Gavaldà and Watanabe 2002 as sajed2019 Section 3 states it: halt at the first t
with |X̄_t| ≥ h_t (1 + 1/α), h_t = R √((2/t) ln(4t²/β)), and return X̄_t.
Guarantee: |X̄_t - μ| ≤ α|μ| with probability ≥ 1 - β: Hoeffding's bound fails in round t with
probability ≤ 2 exp(-t h_t²/(2R²)) = β/(2t²), and these sum to less than β.
Samples: O((R/(α|μ|))² ln(R/(β α |μ|))).

The test is one of |S_t| ≥ t h_t (1 + 1/α) =: b_t on the sum S_t. b_t grows with t (it is
√(2t ln(4t²/β)) times a constant) and |S_t| by at most R a round, so after round t no test can
fire before round t + (b_{t+1} - |S_t|)/R. The rounds up to there are one block and one test: the
same halting round, sample for sample (to the float64 resolution of S_t).

Floor and exactness. On tables of samples the kernel leaps no further. Independent samples of known
mean rarely move a sum at full speed: `quiet` gives the rounds in which |S_t| rises by less than the
room below b_{t+1}, but for a chance of 1e-20, which is below the resolution of a uniform number.
Leaps are then in proportion to t, so that mean 0, where the rule does not halt, costs O(log T).
With another mean the last stretch to the barrier counts: within 90 R of it no leap is longer than
the literal one, and farther out one leap changes the room by a tenth or so; some hundreds of tests
an octave of R/|μ|.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from algos.blocks import play
from algos.checkpoints import LONGEST
from algos.dispatch import compiled, implements
from algos.environments import pull
from algos.random.generator import Rng
from algos.registry import Algorithm, probability, register
from algos.stopping_rule.environments import quiet
from algos.stopping_rule.traces import halt
from algos.traces import record

# Of the barrier: the rounding of |S_t| stays far below it.
SLACK = 1e-12


@compiled
def barrier(t: int, log: float, R: float, alpha: float) -> float:
    """t h_t (1 + 1/α) for h_t = R √((2/t) · log)."""
    return R * math.sqrt(2.0 * t * log) * (1.0 + 1.0 / alpha)


class NAS(NamedTuple):
    """The parameters of `nas`."""

    alpha: float
    beta: float


@implements(play, NAS)
def nas(algorithm: NAS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Halt with relative error `alpha`, except with probability `beta`."""
    alpha, beta = algorithm
    R = env.R
    S, t = 0.0, 0
    while t < T:
        s = t + 1.0  # a float: s² exceeds int64
        b = barrier(t + 1, math.log(4.0 * s * s / beta), R, alpha)
        room = (1.0 - SLACK) * b - abs(S)
        n = int(min(max(1.0, room / R, quiet(env, room)), float(LONGEST)))
        if n > T - t:
            break
        S += pull(env, rng, 0, t + 1, n)
        t += n
        s = float(t)
        if abs(S) >= barrier(t, math.log(4.0 * s * s / beta), R, alpha):
            record(trace, env, 1, 0, t)
            halt(trace, t, S / t)
            return
    record(trace, env, 1, 0, T)


ALPHA = probability("alpha", 0.1, "relative error α of the estimate (the paper sets none)")
BETA = probability(
    "beta", 0.05, "failure probability β (the paper sets none; its Theorem 3.3 wants β ≤ 0.08)"
)

register(
    Algorithm(
        name="nas",
        family="stopping_rule",
        form=NAS,
        source="Domingo et al. 2002, as in sajed2019 Section 3",
        summary="halts when the mean exceeds its confidence radius 1 + 1/α times",
        skips_ahead=True,
        parameters=(ALPHA, BETA),
        # μ is not known here: few tests where it is 0 or near R, a thousand where it is R/1000
        cost=lambda T, sizes, epsilon: 200.0 * math.log2(T),
        version=2,
    )
)
