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

from algos.bandit.imed import imed_index
from algos.bandit.moss import moss_index
from algos.blocks import play
from algos.dispatch import compiled, implements, seam
from algos.environments import number_of_arms, pull
from algos.maths.kl import upper_rank
from algos.maths.ties import argmax, argmin
from algos.random.continuous import laplace
from algos.random.generator import Rng
from algos.registry import Algorithm, Cost, positive, register
from algos.traces import record, release


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


@seam
def fill_indices(
    rule: Any, mean: np.ndarray, n: np.ndarray, log_t: float, epsilon: float, index: np.ndarray
) -> None:
    """Fill `index` (K,) from the arms' private `mean`s of `n` samples."""


@seam
def best_arm(rule: Any, index: np.ndarray, rng: Rng) -> int:
    """The arm that `rule` plays at these indices."""
    raise NotImplementedError


@implements(best_arm, UCBIndex, KLUCBIndex, MOSSIndex)
def largest(rule: Any, index: np.ndarray, rng: Rng) -> int:
    """Of an index of optimism."""
    return argmax(index, rng)


@implements(best_arm, IMEDIndex)
def smallest(rule: Any, index: np.ndarray, rng: Rng) -> int:
    """Of an index of divergence."""
    return argmin(index, rng)


@compiled
def epsilon_term(alpha: float, log_t: float, epsilon: float, n: int) -> float:
    """The last term of equation (7)."""
    return alpha * log_t / (epsilon * n)


@implements(fill_indices, UCBIndex)
def equation_7(
    rule: UCBIndex, mean: np.ndarray, n: np.ndarray, log_t: float, epsilon: float, index: np.ndarray
) -> None:
    """mean + √(α ln t / 2n) + the ε term."""
    for a in range(mean.size):
        width = math.sqrt(rule.alpha * log_t / (2 * n[a]))
        index[a] = mean[a] + width + epsilon_term(rule.alpha, log_t, epsilon, n[a])


@implements(fill_indices, KLUCBIndex)
def equation_8(
    rule: KLUCBIndex,
    mean: np.ndarray,
    n: np.ndarray,
    log_t: float,
    epsilon: float,
    index: np.ndarray,
) -> None:
    """The largest q with d(clipped mean + ε term, q) ≤ α ln t / n, as -ln(1 - q)."""
    for a in range(mean.size):
        optimistic = mean[a] + epsilon_term(rule.alpha, log_t, epsilon, n[a])
        clipped = min(max(0.0, optimistic), 1.0)
        index[a] = upper_rank(clipped, rule.alpha * log_t / n[a])


@implements(fill_indices, MOSSIndex)
def optimistic_moss(
    rule: MOSSIndex,
    mean: np.ndarray,
    n: np.ndarray,
    log_t: float,
    epsilon: float,
    index: np.ndarray,
) -> None:
    """MOSS's index of the private mean + the ε term."""
    for a in range(mean.size):
        optimistic = moss_index(mean[a], n[a], rule.T, mean.size)
        index[a] = optimistic + epsilon_term(rule.alpha, log_t, epsilon, n[a])


@implements(fill_indices, IMEDIndex)
def optimistic_imed(
    rule: IMEDIndex,
    mean: np.ndarray,
    n: np.ndarray,
    log_t: float,
    epsilon: float,
    index: np.ndarray,
) -> None:
    """IMED's index of the clipped private means + ε term."""
    best = 0.0
    for a in range(mean.size):
        optimistic = mean[a] + epsilon_term(rule.alpha, log_t, epsilon, n[a])
        index[a] = min(max(0.0, optimistic), 1.0)
        best = max(best, index[a])
    for a in range(mean.size):
        index[a] = imed_index(index[a], n[a], best)


@compiled
def adaptive_episodes(env: Any, rng: Rng, trace: Any, T: int, epsilon: float, rule: Any) -> None:
    """azize2022 Algorithm 1 for the index `rule`."""
    K = number_of_arms(env)
    mean = np.empty(K)  # private mean of the last active episode
    n = np.ones(K, np.int64)  # its number of samples
    N = np.ones(K, np.int64)  # pulls of each arm
    index = np.empty(K)
    for a in range(K):  # line 3
        mean[a] = pull(env, rng, a, a + 1, 1) + laplace(rng, 1.0 / epsilon)
        record(trace, env, a + 1, a, 1)
        release(trace, a + 1, a, mean[a])
    t = K
    while t < T:  # line 4
        t_l = t + 1  # line 5
        log_t = math.log(t_l)
        fill_indices(rule, mean, n, log_t, epsilon, index)
        A = best_arm(rule, index, rng)  # line 6
        length = N[A]  # line 7: until N_A doubles
        if length > T - t:
            record(trace, env, t_l, A, T - t)
            return
        total = pull(env, rng, A, t_l, length)
        record(trace, env, t_l, A, length)
        t += length
        N[A] += length
        n[A] = length
        mean[A] = total / length + laplace(rng, 1.0 / (epsilon * length))
        release(trace, t, A, mean[A])


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
    """K log2 T episodes of 80 steps, and of K indices of 8 · `index` steps."""
    return lambda T, sizes, epsilon: 8.0 * sizes["K"] * math.log2(T) * (10.0 + index * sizes["K"])


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
        cost=_cost(1.0),
        version=1,
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
        cost=_cost(20.0),
        version=1,
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
        cost=_cost(2.0),
        version=1,
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
        cost=_cost(5.0),
        version=1,
    )
)
