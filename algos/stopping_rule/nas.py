"""NAS, Nonmonotonic Adaptive Sampling: the stopping rule without privacy.

Source: Domingo, Gavaldà and Watanabe 2002 as sajed2019 Section 3 states it: halt at the first t
with |X̄_t| ≥ h_t (1 + 1/α), h_t = R √((2/t) ln(4t²/β)), and return X̄_t.
Guarantee: |X̄_t - μ| ≤ α|μ| with probability ≥ 1 - β: Hoeffding's bound fails in round t with
probability ≤ 2 exp(-t h_t²/(2R²)) = β/(2t²), and these sum to less than β.
Samples: O((R/(α|μ|))² ln(R/(β α |μ|))).

The test is one of |S_t| ≥ t h_t (1 + 1/α) =: b_t on the sum S_t. b_t grows with t (it is
√(2t ln(4t²/β)) times a constant) and |S_t| by at most R a round, so after round t no test can
fire before round t + (b_{t+1} - |S_t|)/R. The rounds up to there are one block and one test: the
same halting round, sample for sample (to the float64 resolution of S_t), at a cost of about
(R/|μ|) ln t tests, not t. With mean 0 it does not halt, and makes some α √T tests.
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
from algos.stopping_rule.traces import halt
from algos.traces import record

# Of t: the rounding of a sum over t rounds stays far below it, up to the longest runs.
SLACK = 1e-9


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
        room = (barrier(t + 1, math.log(4.0 * s * s / beta), R, alpha) - abs(S)) / R
        n = int(min(max(1.0, room - SLACK * t), float(LONGEST)))
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
        # μ is not known here: about 30 tests an octave until a usual halt
        cost=lambda T, sizes, epsilon: 3e3 * math.log2(T),
        version=1,
    )
)
