"""DP-NAS and DP exponential NAS: the stopping rule by the sparse vector technique.

Source: sajed2019 Algorithms 1 and 2.
Guarantee: ε-DP and an (α, β)-stopping rule (Theorem 3.1, Corollary 3.2): half of ε pays for the
comparisons with B and A_t, half for the estimate. The comparisons' noise never leaves; the
estimate is the one released number. Neighbouring streams differ in one sample.
Samples of Algorithm 2: with probability ≥ 1 - β at most 2000 (t_0 + t_1 + t_2), where for
λ = ln((1/β) ln(R/(α|μ|))) t_0 = R² λ/(α² μ²), t_1 = R λ/(ε|μ|), t_2 = R ln(1/β)/(ε α |μ|)
(Theorem 3.3, β ≤ 0.08). Theorem 3.4: every ε-DP rule needs Ω(t_2) samples more.

Reading of the boxes: Algorithm 2 tests first at t = 2, since k is 1 there; its logarithms hold
k², not t². In the proof of Theorem 3.3 facts 1 and 2 print log(4 log_2(t/β)) and mean
log(4 log_2(t)/β), which is log(4k/β).

Without noise (ε = inf) dp_nas is `nas` at β/4, since 16t²/β = 4t²/(β/4), and not at β;
dp_exp_nas is then a rule of its own.

Algorithm 1 in blocks. The box draws A_t in every round and halts when A_t ≤ -gap(t), with
gap(t) = t h_t (1 + 1/α) + c_t + B - |S_t|. A Laplace variable is unbounded, so unlike in `nas`
no round can be ruled out; a block whose A_t are replaced by their minimum would not do either,
since the test needs every S_t. What is exact is thinning: given the samples and B, round t halts
with probability p_t = Pr[A_t ≤ -gap(t)], independently of the other rounds, and A_t is used
nowhere else. A stretch of n rounds is chosen in which the gap stays above G - d, for G = gap at
t + 1 with S_t in place of S_{t+1}; so p_t ≤ p̄ = Pr[A ≤ -(G - d)]. Rounds are candidates with
probability p̄ each; the first one comes after a geometric number of rounds; it halts with
probability p_t/p̄. Only candidates need S_t, and the samples up to the next candidate or the
stretch's end are one block. d = G/2 keeps p̄ small; where more than one candidate would be expected
it is at most σ, which keeps p̄ near p_t.

Floor and exactness. As t h_t and c_t grow, the gap falls by no more than |S_t| rises: by at most R
a round, so n = d/R is exact for any samples, and on tables n is no longer. Independent samples of
known mean keep within d for longer (`quiet`), but for a chance of 1e-20 a stretch. Then stretches
are in proportion to t, and mean 0 costs O(log T); with another mean the last stretch to the
barrier counts, as in `nas`: some hundreds of blocks an octave of R/|μ|. Where p̄ underflows (below
1e-308) no candidate comes. Algorithm 2 costs one draw of samples and one of noise an octave.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.checkpoints import LONGEST
from algos.dispatch import compiled, implements
from algos.environments import pull
from algos.random.continuous import laplace
from algos.random.discrete import geometric
from algos.random.generator import Rng, uniform
from algos.registry import Algorithm, register
from algos.stopping_rule.environments import quiet
from algos.stopping_rule.nas import ALPHA, BETA, barrier
from algos.stopping_rule.traces import halt
from algos.traces import record, release


@compiled
def below(x: float, sigma: float) -> float:
    """Pr[Lap(σ) ≤ -x]; σ = 0 is a point mass at 0."""
    if sigma == 0.0:
        return 1.0 if x <= 0.0 else 0.0
    return 0.5 * math.exp(-x / sigma) if x >= 0.0 else 1.0 - 0.5 * math.exp(x / sigma)


@compiled
def bar(t: int, R: float, sigma: float, sigma3: float, alpha: float, beta: float) -> float:
    """t h_t (1 + 1/α) + c_t of Algorithm 1."""
    s = float(t)  # t² exceeds int64
    c = sigma * (math.log(4.0 / beta) + math.log(8.0 * s * s / beta))
    c += sigma3 / alpha * math.log(4.0 / beta)  # line 9
    return barrier(t, math.log(16.0 * s * s / beta), R, alpha) + c  # line 8


@compiled
def stretch(env: Any, G: float, d: float, sigma: float) -> tuple[float, float]:
    """Rounds in which the gap falls by at most d from G, at least one, and p̄ for them."""
    # np.floor: math.floor makes an int64, which can overflow
    n = min(max(1.0, np.floor(d / env.R), quiet(env, d)), float(LONGEST))
    return n, below(G - max(d, env.R), sigma)


class DPNAS(NamedTuple):
    """The parameters of `dp_nas`."""

    epsilon: float
    alpha: float
    beta: float


@implements(play, DPNAS)
def dp_nas(algorithm: DPNAS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """sajed2019 Algorithm 1; its A_t as candidates, see the module."""
    epsilon, alpha, beta = algorithm
    R = env.R
    sigma, sigma3 = 12.0 * R / epsilon, 4.0 * R / epsilon  # line 1; sigma_1 = sigma_2
    B = laplace(rng, sigma)  # line 2
    S, t = 0.0, 0  # line 3
    while t < T:  # lines 4-10
        G = bar(t + 1, R, sigma, sigma3, alpha, beta) + B - abs(S)
        n, p_bar = stretch(env, G, 0.5 * G, sigma)
        if n * p_bar > 1.0:
            n, p_bar = stretch(env, G, min(0.5 * G, sigma), sigma)
        wait = 1.0 + geometric(rng, p_bar)  # rounds until the first candidate
        block = int(min(n, wait))
        if block > T - t:
            break
        S += pull(env, rng, 0, t + 1, block)  # line 7
        t += block
        if wait <= n:
            gap = bar(t, R, sigma, sigma3, alpha, beta) + B - abs(S)
            if uniform(rng) * p_bar < below(gap, sigma):  # line 10
                estimate = (S + laplace(rng, sigma3)) / t  # lines 11-12
                record(trace, env, 1, 0, t)
                release(trace, t, 0, estimate)
                halt(trace, t, estimate)
                return
    record(trace, env, 1, 0, T)


class DPExpNAS(NamedTuple):
    """The parameters of `dp_exp_nas`."""

    epsilon: float
    alpha: float
    beta: float


@implements(play, DPExpNAS)
def dp_exp_nas(algorithm: DPExpNAS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """sajed2019 Algorithm 2: tests at t = 2, 4, 8, … only."""
    epsilon, alpha, beta = algorithm
    R = env.R
    sigma, sigma3 = 12.0 * R / epsilon, 4.0 * R / epsilon  # line 1; sigma_1 = sigma_2
    B = laplace(rng, sigma)  # line 2
    S, t, k = 0.0, 0, 0  # line 3
    while 2 * max(t, 1) <= T:  # line 4
        k += 1  # line 5
        n = 2 if t == 0 else t
        S += pull(env, rng, 0, t + 1, n)  # lines 6-9
        t += n
        A = laplace(rng, sigma)  # line 10
        c = sigma * (math.log(4.0 / beta) + math.log(8.0 * k**2 / beta))
        c += sigma3 / alpha * math.log(4.0 / beta)  # line 11
        threshold = barrier(t, math.log(16.0 * k**2 / beta), R, alpha)  # line 12
        if abs(S) >= threshold + c + B + A:  # line 13
            estimate = (S + laplace(rng, sigma3)) / t  # lines 14-15
            record(trace, env, 1, 0, t)
            release(trace, t, 0, estimate)
            halt(trace, t, estimate)
            return
    record(trace, env, 1, 0, T)


register(
    Algorithm(
        name="dp_nas",
        family="stopping_rule",
        form=DPNAS,
        source="sajed2019 Algorithm 1",
        summary="nas with a noisy test in every round",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        parameters=(ALPHA, BETA),
        # μ is not known here: few blocks where it is 0 or near R, two thousand where it is R/1000
        cost=lambda T, sizes, epsilon: 400.0 * math.log2(T),
        version=2,
    )
)

register(
    Algorithm(
        name="dp_exp_nas",
        family="stopping_rule",
        form=DPExpNAS,
        source="sajed2019 Algorithm 2",
        summary="nas with a noisy test at powers of two",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        parameters=(ALPHA, BETA),
        cost=lambda T, sizes, epsilon: 600.0 + 30.0 * math.log2(T),
        version=2,
    )
)
