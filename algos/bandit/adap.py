"""AdaP: adaptive episodes, forgetting, one noisy mean per episode, for any index.

Source: azize2022, Algorithm 1 with the indices of equations (7) and (8), α = 3.1: AdaP-UCB and
AdaP-KLUCB. The paper names MOSS and IMED as further indices without giving their private forms;
those here are ours: adap_moss adds equation (7)'s ε term to MOSS's index of the private mean
(and needs T), adap_imed puts the private mean plus that term, clipped to [0, 1], in place of
every mean of IMED's index, which is minimised.
Guarantee: ε-DP (Theorem 6, for any index). Regret: Theorem 7, O(Σ_a α ln T / min{Δ_a, ε}) for
AdaP-UCB; Theorem 8, O(Σ_a Δ_a ln T / min{d_inf, ε Δ_a}) for AdaP-KLUCB on Bernoulli arms; no
theorem for the other two.

Reading of the box: after the first pulls, one sample stands behind each private mean; an arm
with N pulls is then played N more, and the episode's n = N rewards give its new mean with
noise Lap(1/(n ε)), drawn once when the episode ends (Lemma 1 prints 1/(j - i) for j - i + 1
samples). The logarithm uses t_ℓ, the episode's first round. An episode that T cuts releases
nothing. Only the episode's start decides, so the kernel costs O(K · episodes) = O(K² log T).

Ties: private means that are clipped to 1 all have index 1 and tie. Indices below 1 are compared
as -ln(1 - q), because many of them would round to 1 and tie by accident. adap_imed ties arms
that are clipped to 1 and have equally many samples.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.moss import moss_index
from algos.blocks import play
from algos.dispatch import allocating, compiled, implements, seam
from algos.environments import number_of_arms, pull
from algos.maths.kl import divergence, upper_rank
from algos.maths.ties import argmax, argmin
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, Cost, Sizes, positive, register
from algos.traces import record, release

SURELY = 1.0 + 1e-9  # a factor far above the rounding of a divergence


class UCBIndex(NamedTuple):
    """Equation (7)."""

    alpha: float


class KLUCBIndex(NamedTuple):
    """Equation (8)."""

    alpha: float


class MOSSIndex(NamedTuple):
    """MOSS's index and equation (7)'s ε term; `T` is the horizon."""

    alpha: float
    T: int


class IMEDIndex(NamedTuple):
    """IMED's index of the clipped optimistic means; minimised."""

    alpha: float


class Arms(NamedTuple):
    """What the arms' last active episodes left behind, and room for what is computed from it."""

    mean: np.ndarray  # float64 (K,), private mean of n samples
    n: np.ndarray  # int64 (K,)
    share: np.ndarray  # float64 (K,), 1 / n
    rest: np.ndarray  # float64 (K,), what of an index doesn't move with t: see `at_rest`
    indices: np.ndarray  # scratch: float64 (K,)


@seam
def at_rest(rule: Any, mean: float, n: int, K: int) -> float:
    """What of an arm's index does not move with t, from its private mean of `n` samples."""
    raise NotImplementedError


@seam
def best_arm(rule: Any, arms: Arms, log_t: float, epsilon: float, rng: Rng) -> int:
    """The arm that `rule` plays in the round whose logarithm is `log_t`."""
    raise NotImplementedError


@implements(at_rest)
def mean_alone(rule: Any, mean: float, n: int, K: int) -> float:
    """The mean itself."""
    return mean


@implements(at_rest, MOSSIndex)
def whole_moss_index(rule: MOSSIndex, mean: float, n: int, K: int) -> float:
    """MOSS's index of the mean."""
    return moss_index(mean, n, rule.T, K)


@implements(at_rest, IMEDIndex)
def log_samples(rule: IMEDIndex, mean: float, n: int, K: int) -> float:
    """ln n, the index's last term."""
    return math.log(n)


@implements(best_arm, UCBIndex)
def equation_7(rule: UCBIndex, arms: Arms, log_t: float, epsilon: float, rng: Rng) -> int:
    """The largest mean + √(α ln t / 2n) + α ln t / (ε n)."""
    width, term = 0.5 * rule.alpha * log_t, rule.alpha * log_t / epsilon
    for a in range(arms.indices.size):
        share = arms.share[a]
        arms.indices[a] = arms.rest[a] + math.sqrt(width * share) + term * share
    return argmax(arms.indices, rng)


@implements(best_arm, MOSSIndex)
def optimistic_moss(rule: MOSSIndex, arms: Arms, log_t: float, epsilon: float, rng: Rng) -> int:
    """The largest of MOSS's index + the ε term."""
    term = rule.alpha * log_t / epsilon
    for a in range(arms.indices.size):
        arms.indices[a] = arms.rest[a] + term * arms.share[a]
    return argmax(arms.indices, rng)


@implements(best_arm, KLUCBIndex)
def equation_8(rule: KLUCBIndex, arms: Arms, log_t: float, epsilon: float, rng: Rng) -> int:
    """The largest q with d(p, q) ≤ v, p the clipped mean + ε term and v = α ln t / n.

    d(p, q) ≥ 2 (q - p)², and d(p, q) ≤ (q - p)² / (q (1 - q)), which `wilson` inverts. The largest
    of these lower bounds is a level that most other indices stay below; the sign of d there says
    which, and only indices above it are computed.
    """
    budget, term = rule.alpha * log_t, rule.alpha * log_t / epsilon
    K = arms.indices.size
    level, best, highest = -1.0, 0, 0.0
    for a in range(K):
        p = min(max(0.0, arms.rest[a] + term * arms.share[a]), 1.0)
        arms.indices[a] = p
        highest = max(highest, p)
        bound = wilson(p, budget * arms.share[a])
        if bound > level:
            level, best = bound, a
    if highest == 1.0:  # and so is the index
        return argmax(arms.indices, rng)
    alone = True
    for a in range(K):
        p, v = arms.indices[a], budget * arms.share[a]
        alone = alone and (a == best or is_below(p, v, level))
    if alone:
        return best
    for a in range(K):
        p, v = arms.indices[a], budget * arms.share[a]
        if a == best or not is_below(p, v, level):
            arms.indices[a] = upper_rank(p, v)
        else:
            arms.indices[a] = -1.0
    return argmax(arms.indices, rng)


@compiled
def wilson(p: float, v: float) -> float:
    """The largest q with (q - p)² ≤ v q (1 - q)."""
    return (2.0 * p + v + math.sqrt(v * (v + 4.0 * p * (1.0 - p)))) / (2.0 * (1.0 + v))


@compiled
def is_below(p: float, v: float, level: float) -> bool:
    """Whether max{q : d(p, q) ≤ v} is below `level`, by more than rounding could hide."""
    x = level - p
    if x <= 0.0 or level >= 1.0:
        return False
    return 2.0 * x * x > SURELY * v or divergence(p, x) > SURELY * v


@implements(best_arm, IMEDIndex)
def optimistic_imed(rule: IMEDIndex, arms: Arms, log_t: float, epsilon: float, rng: Rng) -> int:
    """The smallest n d(p, best) + ln n, p the clipped mean + ε term and best the largest.

    It is ln n where p is the best, and elsewhere at least 2 n (best - p)² + ln n: where that is
    more than the least so far, no logarithm is needed.
    """
    term = rule.alpha * log_t / epsilon
    K = arms.indices.size
    best = 0.0
    for a in range(K):
        arms.indices[a] = min(max(0.0, arms.mean[a] + term * arms.share[a]), 1.0)
        best = max(best, arms.indices[a])
    least = math.inf
    for a in range(K):
        if arms.indices[a] == best:
            least = min(least, arms.rest[a])
    for a in range(K):
        x = best - arms.indices[a]
        if x == 0.0:
            arms.indices[a] = arms.rest[a]
        elif 2.0 * arms.n[a] * x * x + arms.rest[a] > SURELY * least:
            arms.indices[a] = math.inf
        else:
            arms.indices[a] = arms.n[a] * divergence(arms.indices[a], x) + arms.rest[a]
            least = min(least, arms.indices[a])
    return argmin(arms.indices, rng)


@allocating
def adaptive_episodes(env: Any, rng: Rng, trace: Any, T: int, epsilon: float, rule: Any) -> None:
    """azize2022 Algorithm 1 for the index `rule`."""
    K = number_of_arms(env)
    N = np.ones(K, np.int64)  # pulls of each arm
    arms = Arms(np.empty(K), np.ones(K, np.int64), np.ones(K), np.empty(K), np.empty(K))
    for a in range(K):  # line 3
        arms.mean[a] = pull(env, rng, a, a + 1, 1) + laplace(rng, 1.0 / epsilon)
        arms.rest[a] = at_rest(rule, arms.mean[a], 1, K)
        record(trace, env, a + 1, a, 1)
        release(trace, a + 1, a, arms.mean[a])
    t = K
    while t < T:  # line 4
        t_l = t + 1  # line 5
        A = best_arm(rule, arms, math.log(t_l), epsilon, rng)  # line 6
        length = N[A]  # line 7: until N_A doubles
        if length > T - t:
            record(trace, env, t_l, A, T - t)
            return
        total = pull(env, rng, A, t_l, length)
        record(trace, env, t_l, A, length)
        t += length
        N[A] += length
        share = 1.0 / length
        mean = total * share + laplace(rng, share / epsilon)
        arms.mean[A], arms.n[A], arms.share[A] = mean, length, share
        arms.rest[A] = at_rest(rule, mean, length, K)
        release(trace, t, A, mean)


class AdapUCB(NamedTuple):
    """The parameters of `adap_ucb`."""

    epsilon: float
    alpha: float


@implements(play, AdapUCB)
def adap_ucb(algorithm: AdapUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """AdaP-UCB: Algorithm 1 with equation (7)."""
    epsilon, alpha = algorithm
    adaptive_episodes(env, rng, trace, T, epsilon, UCBIndex(alpha))


class AdapKLUCB(NamedTuple):
    """The parameters of `adap_klucb`."""

    epsilon: float
    alpha: float


@implements(play, AdapKLUCB)
def adap_klucb(algorithm: AdapKLUCB, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """AdaP-KLUCB: Algorithm 1 with equation (8)."""
    epsilon, alpha = algorithm
    adaptive_episodes(env, rng, trace, T, epsilon, KLUCBIndex(alpha))


class AdapMOSS(NamedTuple):
    """The parameters of `adap_moss`."""

    epsilon: float
    alpha: float


@implements(play, AdapMOSS)
def adap_moss(algorithm: AdapMOSS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Algorithm 1 with MOSS's index."""
    epsilon, alpha = algorithm
    adaptive_episodes(env, rng, trace, T, epsilon, MOSSIndex(alpha, T))


class AdapIMED(NamedTuple):
    """The parameters of `adap_imed`."""

    epsilon: float
    alpha: float


@implements(play, AdapIMED)
def adap_imed(algorithm: AdapIMED, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Algorithm 1 with IMED's index."""
    epsilon, alpha = algorithm
    adaptive_episodes(env, rng, trace, T, epsilon, IMEDIndex(alpha))


_ALPHA = positive("alpha", 3.1, "width α of the confidence bound; the paper's bounds need α > 3")


def _cost(index: float) -> Cost:
    """Checkpoints, and episodes with K indices of `index` nanoseconds each."""

    def cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
        K, octaves = sizes["K"], math.log2(T)
        noise = math.log2(1.0 + 1.0 / (epsilon or math.inf))
        episodes = octaves + (K - 1) * min(octaves, 3.0 + math.log2(1.0 + octaves) + noise)
        return 300.0 + 30.0 * octaves + episodes * (45.0 + index * K)

    return cost


register(
    Algorithm(
        name="adap_ucb",
        family="bandit",
        form=AdapUCB,
        source="azize2022 Algorithm 1, equation (7)",
        summary="doubling episodes, private UCB index",
        regret="O(Σ α ln T / min{Δ_a, ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        doubling=True,
        parameters=(_ALPHA,),
        cost=_cost(2.0),
        version=2,
    )
)

register(
    Algorithm(
        name="adap_klucb",
        family="bandit",
        form=AdapKLUCB,
        source="azize2022 Algorithm 1, equation (8)",
        summary="doubling episodes, private KL-UCB index",
        regret="O(Σ Δ_a ln T / min{d_inf, ε Δ_a})",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        doubling=True,
        parameters=(_ALPHA,),
        cost=_cost(45.0),
        version=2,
    )
)

register(
    Algorithm(
        name="adap_moss",
        family="bandit",
        form=AdapMOSS,
        source="azize2022 Algorithm 1 with MOSS's index (ours)",
        summary="doubling episodes, private MOSS index",
        regret="no theorem",
        guarantee="ε-DP",
        uses_epsilon=True,
        anytime=False,
        skips_ahead=True,
        doubling=True,
        parameters=(_ALPHA,),
        cost=_cost(1.5),
        version=2,
    )
)

register(
    Algorithm(
        name="adap_imed",
        family="bandit",
        form=AdapIMED,
        source="azize2022 Algorithm 1 with IMED's index (ours)",
        summary="doubling episodes, private IMED index",
        regret="no theorem",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        doubling=True,
        parameters=(_ALPHA,),
        cost=_cost(3.0),
        version=2,
    )
)
