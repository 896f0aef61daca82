"""Lazy-DP-TS: optimistic posterior draws of private means, batches of doubling size.

Source: hu2024, Algorithm 3. Anytime. Guarantee: ε-DP (Theorem 4).
Regret: O(Σ_a ln T / min{Δ_a, ε}) and O(√(K T ln T) + K ln T / ε) (Theorem 5).

Reading of the box. Each arm is pulled once. The arm is chosen again in every round, also while a
batch of 2^(r+1) observations is incomplete; a batch is used once, with one Lap(1/ε) on its sum. The
private mean plus 3 ln t / (ε O) is clipped to [0, 1], negative values included (the print's Clip
leaves them out).

Drawing less. With draws = "all" every posterior is drawn in every round, K draws of 50 ns. The
default, "needed", has the same law (`algos.maths.posterior`): the leader is played in one block to
the next round where a draw may matter. Until a batch is full, posteriors only grow with ln t, so
over a stretch of m rounds the leader's coin has its chance from the first round and the rivals'
from the last: with n = a + b fixed, E grows with a, and so does the tangent's area f(x) / λ where
mean and mode stay below x, since ln(x / (1 - x)) is above ψ(a) - ψ(b) there.
Arms clipped at 1 lead together: the largest of their draws from Beta(O_j + 1, 1) has the law
Beta(Σ (O_j + 1), 1), and it is arm j's with chance (O_j + 1) / Σ (O_i + 1). A round among them
costs a uniform number.
No rewards are assumed to be random, so nothing here errs but by rounding.

Floor. Every pull of a suboptimal arm is a contest of its own, three to four logarithms and a Beta
draw, and there are about max(ln T / d(μ_a, μ*), 6 ln T / (ε Δ_a)) of them, in doubling batches.
Where posteriors overlap all K are drawn, in some tens of rounds for each of these. With equal best
arms posteriors overlap in a constant share of all rounds, and the cost is O(T).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.costs import contested
from algos.bandit.thompson_beta import DRAWS, NEEDED, OFTEN, WAIT, cost
from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import number_of_arms, pull
from algos.maths.posterior import (
    LEAST_EXPONENT,
    coins_up,
    contest,
    exponent,
    foremost,
    is_thinnable,
    level,
    rivals,
)
from algos.maths.ties import argmax
from algos.random.continuous import beta, exponential, laplace
from algos.random.generator import Rng, uniform
from algos.registry import Algorithm, Sizes, register
from algos.traces import record, release

# What follows sets the cost only.
SHORT = 8  # rounds of a stretch that is not worth a shorter one
PATIENCE = 4  # coins up in vain, after which stretches get shorter


@compiled
def posteriors(
    t: int, epsilon: float, mean: np.ndarray, O: np.ndarray, a: np.ndarray, b: np.ndarray
) -> None:
    """Fill a and b (K,) with line 4's Beta parameters in round t."""
    bonus = 3.0 * math.log(t) / epsilon
    for j in range(mean.size):
        clipped = min(max(mean[j] + bonus / O[j], 0.0), 1.0)
        a[j] = clipped * O[j] + 1.0
        b[j] = (1.0 - clipped) * O[j] + 1.0


@compiled
def observe(
    env: Any,
    rng: Rng,
    trace: Any,
    t: int,
    J: int,
    n: int,
    epsilon: float,
    mean: np.ndarray,
    O: np.ndarray,
    N: np.ndarray,
    Phi: np.ndarray,
) -> bool:
    """Play J in the n rounds after t, for which its batch has room; whether that is full."""
    record(trace, env, t + 1, J, n)
    N[J] += n  # line 6
    Phi[J] += pull(env, rng, J, t + 1, n)
    if N[J] < 2 * O[J]:
        return False
    O[J] *= 2  # lines 7-8
    mean[J] = (Phi[J] + laplace(rng, 1.0 / epsilon)) / O[J]
    N[J], Phi[J] = 0, 0.0
    release(trace, t + n, J, mean[J])
    return True


@compiled
def one_of(A: int, h: np.ndarray, O: np.ndarray, total: float, rng: Rng) -> int:
    """The leader whose draw is largest: A, or an arm with h < 0; O + 1 sum to `total`."""
    u = uniform(rng) * total
    last = A
    for j in range(O.size):
        if j == A or h[j] < 0.0:
            last = j
            u -= O[j] + 1.0
            if u < 0.0:
                break
    return last


class LazyDPTS(NamedTuple):
    """The parameters of `lazy_dp_ts`."""

    epsilon: float
    draws: int


@implements(play, LazyDPTS)
def lazy_dp_ts(algorithm: LazyDPTS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 3; `draws` is the place among its choices."""
    epsilon, draws = algorithm
    K = number_of_arms(env)
    mean = np.empty(K)
    O = np.ones(K, np.int64)  # observations behind the private mean, 2^r
    N = np.zeros(K, np.int64)  # unprocessed observations
    Phi = np.zeros(K)  # and their sum
    a = np.empty(K)
    b = np.empty(K)
    theta = np.empty(K)
    h = np.empty(K)  # hazards of the coins; negative for arms that lead beside A
    up = np.empty(K, np.bool_)
    for j in range(K):  # line 2
        mean[j] = pull(env, rng, j, j + 1, 1) + laplace(rng, 1.0 / epsilon)
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, mean[j])
    H_rivals, slope, reach = 0.1, 10.0, 0.1  # of the last stretch; its length in units of t
    t, literal = K, T  # the next `literal` rounds draw every posterior
    if draws == NEEDED:
        literal = 0
    while t < T:  # line 3
        posteriors(t + 1, epsilon, mean, O, a, b)
        if literal > 0:
            literal -= 1
            for j in range(K):  # line 4
                theta[j] = beta(rng, a[j], b[j])
            J = argmax(theta, rng)  # line 5
            observe(env, rng, trace, t, J, 1, epsilon, mean, O, N, Phi)
            t += 1
            continue

        # The leader: Beta(a_A, b_A) for arm A, or for all arms clipped at 1.
        A = foremost(a, b)
        a_A, b_A = a[A], b[A]
        alone = True
        for j in range(K):
            h[j] = 0.0
            if j != A and b_A == 1.0 and b[j] == 1.0:
                h[j] = -1.0
                a_A += a[j]
                alone = False

        # A stretch of m rounds, its level and the hazards of the coins.
        m = 1 + int(reach * t)
        if alone:
            m = min(m, 2 * O[A] - N[A])
        x, y = level(H_rivals, slope, a_A, b_A)
        E, H = exponent(x, y, a_A, b_A), math.inf
        posteriors(t + m, epsilon, mean, O, a, b)
        thinnable = is_thinnable(x, a_A, b_A) and (not alone or is_thinnable(x, a[A], b[A]))
        if E >= LEAST_EXPONENT and thinnable:
            H_rivals, slope = rivals(A, x, y, a, b, h)
            h[A] = -math.log1p(-math.exp(-E))
            H = H_rivals + h[A]
        if not H <= OFTEN:
            H_rivals = 0.1
            if math.inf == H:
                slope = 10.0
            if m > SHORT:
                reach = 0.125 * m / t
            else:
                literal = WAIT
            continue

        run = 0  # rounds of A alone that are not yet observed
        vain = 0
        point = exponential(rng) / H  # where the next coin is up, in rounds from here
        filled = False
        while not filled and t + run < T:
            before = int(point) if point < m else m
            if alone:
                run += before
            else:
                for _ in range(min(before, T - t)):
                    J = one_of(A, h, O, a_A, rng)
                    filled = observe(env, rng, trace, t, J, 1, epsilon, mean, O, N, Phi)
                    t += 1
                    if filled:
                        break
            m -= before + 1
            if m < 0:
                reach = min(2.0 * reach, 1.0)
            if m < 0 or filled or t + run >= T:
                break
            point = coins_up(point - (before + 1), h, H, up, rng)
            posteriors(t + run + 1, epsilon, mean, O, a, b)
            if not alone:
                a[A] = a_A
            opened = contest(A, x, y, a, b, h, up, theta, rng)
            J = argmax(theta, rng) if opened else A
            if J == A and not alone:
                J = one_of(A, h, O, a_A, rng)
            if J == A and alone:
                run += 1
            else:
                if run > 0:
                    observe(env, rng, trace, t, A, run, epsilon, mean, O, N, Phi)
                    t += run
                    run = 0
                filled = observe(env, rng, trace, t, J, 1, epsilon, mean, O, N, Phi)
                t += 1
            if not opened:
                vain += 1
                if vain == PATIENCE:
                    reach *= 0.5
                    break
        if run > 0 and t < T:
            n = min(run, T - t)
            observe(env, rng, trace, t, A, n, epsilon, mean, O, N, Phi)
            t += n


def _cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    """Batches of the rivals until their bonus ~ 1/(ε O) is small; before, arms clipped at 1."""
    K, noise = sizes["K"], 1.0 / (epsilon or math.inf)
    settled = T / (T + 1.5e4 * noise)
    batches = K * (250e3 + 18e3 * K) * noise**0.75 * settled
    each = 25.0 + 45.0 * K / max(1.0, 0.25 * noise) ** 2
    return min(each * T, cost(T, sizes, None) + 2800.0 * K * K + batches)


register(
    Algorithm(
        name="lazy_dp_ts",
        family="bandit",
        form=LazyDPTS,
        source="hu2024 Algorithm 3",
        summary="optimistic posterior draws, doubling batches",
        regret="O(Σ ln T / min{Δ_a, ε})",
        guarantee="ε-DP",
        uses_epsilon=True,
        doubling=True,
        parameters=(DRAWS,),
        skips_ahead=True,
        cost=_cost,
        cost_by_gaps=contested(_cost, 27.0, 0.6),
        version=2,
    )
)
