"""AdaP-UCB and AdaP-KLUCB: adaptive episodes, forgetting, one noisy mean per episode.

Source: azize2022, Algorithm 1 with the indices of equations (7) and (8), α = 3.1.
Guarantee: ε-DP (Theorem 6). Regret: Theorem 7, O(Σ_a α ln T / min{Δ_a, ε}) for AdaP-UCB;
Theorem 8, O(Σ_a Δ_a ln T / min{d_inf, ε Δ_a}) for AdaP-KLUCB on Bernoulli arms.

Reading of the box: after the first pulls, one sample stands behind each private mean; an arm
with N pulls is then played N more, and the episode's n = N rewards give its new mean with
noise Lap(1/(n ε)), drawn once when the episode ends (Lemma 1 prints 1/(j - i) for j - i + 1
samples). The logarithm uses t_ℓ, the episode's first round. An episode that T cuts releases
nothing. Only the episode's start decides, so the kernel costs O(K · episodes) = O(K² log T).

Ties: private means that are clipped to 1 all have index 1 and tie. Indices below 1 are compared
as -ln(1 - q), because many of them would round to 1 and tie by accident.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from algos.choice import argmax
from algos.dispatch import implements, is_a
from algos.environments import number_of_arms, pull
from algos.kl import upper_rank
from algos.registry import Algorithm, Parameter, register
from algos.traces import record, release


class UCBIndex(NamedTuple):
    """Equation (7)."""

    alpha: float


class KLUCBIndex(NamedTuple):
    """Equation (8)."""

    alpha: float


def private_index(rule: Any, mean: float, n: int, log_t: float, epsilon: float) -> float:
    """Optimistic index of an arm from its private `mean` of `n` samples (compiled code only)."""
    raise TypeError("private_index is resolved by Numba inside a compiled kernel")


@implements(private_index)
def _equation_7(rule: Any, mean: Any, n: Any, log_t: Any, epsilon: Any) -> Any:
    if not is_a(rule, UCBIndex):
        return None

    def ucb(rule: Any, mean: Any, n: Any, log_t: Any, epsilon: Any) -> Any:
        return mean + math.sqrt(rule.alpha * log_t / (2 * n)) + rule.alpha * log_t / (epsilon * n)

    return ucb


@implements(private_index)
def _equation_8(rule: Any, mean: Any, n: Any, log_t: Any, epsilon: Any) -> Any:
    if not is_a(rule, KLUCBIndex):
        return None

    def klucb(rule: Any, mean: Any, n: Any, log_t: Any, epsilon: Any) -> Any:
        clipped = min(max(0.0, mean + rule.alpha * log_t / (epsilon * n)), 1.0)
        return upper_rank(clipped, rule.alpha * log_t / n)

    return klucb


@njit(cache=True)
def adaptive_episodes(
    env: Any, rng: np.random.Generator, trace: Any, T: int, epsilon: float, rule: Any
) -> None:
    """azize2022 Algorithm 1 for the index `rule`."""
    K = number_of_arms(env)
    mean = np.empty(K)  # private mean of the last active episode
    n = np.ones(K, np.int64)  # its number of samples
    N = np.ones(K, np.int64)  # pulls of each arm
    index = np.empty(K)
    for a in range(K):  # line 3
        mean[a] = pull(env, rng, a, a + 1, 1) + rng.laplace(0.0, 1.0 / epsilon)
        record(trace, env, a + 1, a, 1)
        release(trace, a + 1, a, mean[a])
    t = K
    while t < T:  # line 4
        t_l = t + 1  # line 5
        log_t = math.log(t_l)
        for a in range(K):
            index[a] = private_index(rule, mean[a], n[a], log_t, epsilon)
        A = argmax(index, rng)  # line 6
        length = N[A]  # line 7: until N_A doubles
        if length > T - t:
            record(trace, env, t_l, A, T - t)
            return
        total = pull(env, rng, A, t_l, length)
        record(trace, env, t_l, A, length)
        t += length
        N[A] += length
        n[A] = length
        mean[A] = total / length + rng.laplace(0.0, 1.0 / (epsilon * length))
        release(trace, t, A, mean[A])


@njit(cache=True)
def adap_ucb(
    env: Any, rng: np.random.Generator, trace: Any, T: int, epsilon: float, alpha: float
) -> None:
    """AdaP-UCB: Algorithm 1 with equation (7)."""
    adaptive_episodes(env, rng, trace, T, epsilon, UCBIndex(alpha))


@njit(cache=True)
def adap_klucb(
    env: Any, rng: np.random.Generator, trace: Any, T: int, epsilon: float, alpha: float
) -> None:
    """AdaP-KLUCB: Algorithm 1 with equation (8)."""
    adaptive_episodes(env, rng, trace, T, epsilon, KLUCBIndex(alpha))


_ALPHA = Parameter(
    "alpha",
    3.1,
    low=0.0,
    low_open=True,
    meaning="width α of the confidence bound; the paper's bounds need α > 3",
)

register(
    Algorithm(
        name="adap_ucb",
        family="bandit",
        kernel=adap_ucb,
        source="azize2022 Algorithm 1, equation (7)",
        summary="doubling episodes, private UCB index",
        regret="O(Σ α ln T / min{Δ_a, ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        doubling=True,
        parameters=(_ALPHA,),
        cost=lambda T, K, epsilon: 8.0 * K * math.log2(T) * (10.0 + K),
        version=1,
    )
)

register(
    Algorithm(
        name="adap_klucb",
        family="bandit",
        kernel=adap_klucb,
        source="azize2022 Algorithm 1, equation (8)",
        summary="doubling episodes, private KL-UCB index",
        regret="O(Σ Δ_a ln T / min{d_inf, ε Δ_a})",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        doubling=True,
        parameters=(_ALPHA,),
        cost=lambda T, K, epsilon: 8.0 * K * math.log2(T) * (10.0 + 20.0 * K),
        version=1,
    )
)
