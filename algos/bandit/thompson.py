"""Thompson sampling with Beta priors, and its private form Lazy-DP-TS.

Source: hu2024, Algorithms 2 (Agrawal & Goyal 2017) and 3. Both are anytime.
Guarantee: none for thompson_beta; ε-DP for lazy_dp_ts (Theorem 4).
Regret: Σ_a Δ_a ln T / d(μ_a, μ*) (1 + o(1)) on Bernoulli arms; O(Σ_a ln T / min{Δ_a, ε}) and
O(√(K T ln T) + K ln T / ε) for lazy_dp_ts (Theorem 5).

Reading of the boxes. thompson_beta has no forced first pulls: the prior Beta(1, 1) is drawn from
until rewards are in. Rewards that are no bits enter the posterior as the box prints it, by
their mean (no Bernoulli trial). lazy_dp_ts pulls each arm once, chooses the arm again in every
round, also while a batch of 2^(r+1) observations is incomplete, uses a batch once with one
Lap(1/ε) on its sum, and clips the private mean plus 3 ln t / (ε O) to [0, 1], negative values
included (the print's Clip leaves them out).

Drawing less. With draws = "all" every posterior is drawn in every round, K draws of 50 ns. The
default, "needed", has the same law (`algos.maths.posterior`). The foremost arm A is played in whole
blocks until the next round where θ_A might miss a level or another θ_j exceed it. The chances of
that are bounded over a stretch of m rounds: for thompson_beta by A's posterior after m failures
(the others rest); for lazy_dp_ts, whose posteriors only grow with ln t until a batch is full, by
A's at the stretch's start and the others' at its end. Where no arm is clearly foremost, all are
drawn. To T = 1e6 on hu_distinct and hu_equal_gap, "all" takes 70 and 21 times as long as "needed"
for thompson_beta, 11 and 1.9 times for lazy_dp_ts at ε = 0.25, 17 and 4.9 times at ε = 1. The law
is exact up to the relative error of a Beta tail, 1e-11; the actions for a seed are not those of
"all".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.blocks import play
from algos.bandit.environments import BernoulliArms, BetaArms, FiniteSupportArms, UniformArms
from algos.dispatch import compiled, implements, seam
from algos.environments import number_of_arms, pull
from algos.maths.posterior import (
    LEAST_EXPONENT,
    exponent,
    foremost,
    hazard,
    is_thinnable,
    level,
    opens,
    within,
)
from algos.maths.ties import argmax
from algos.random.continuous import beta, exponential, laplace
from algos.random.generator import Rng, uniform
from algos.registry import Algorithm, Parameter, Sizes, register
from algos.traces import record, release

DRAWS = ("needed", "all")
NEEDED = 0
# What follows sets the cost only. Posteriors are all drawn in the next rounds, WAIT of them, where
# the coins would be up more often than OFTEN a round.
WAIT = 4
OFTEN = 0.3
BLUNT = 0.5  # by how much a stretch may lower the level, in units of the rivals' tangents
RARE = 1e-20


@seam
def least_gain(env: Any, arm: int, m: int) -> tuple[float, float]:
    """(drift, lag): the sum of the next k rewards is at least drift k - lag for all k ≤ m.

    Except with chance RARE, and nothing is assumed of the rewards if not independent: (0, 0).
    """
    raise NotImplementedError


@implements(least_gain)
def no_gain(env: Any, arm: int, m: int) -> tuple[float, float]:
    """Rewards are not negative."""
    return 0.0, 0.0


_LAG = math.sqrt(-0.5 * math.log(RARE))


@implements(least_gain, BernoulliArms, FiniteSupportArms, BetaArms, UniformArms)
def gain_of_independent(env: Any, arm: int, m: int) -> tuple[float, float]:
    """Hoeffding's inequality for the largest of m partial sums (Doob)."""
    mean = env.means[arm]
    return mean, min(m * mean, _LAG * math.sqrt(m))


@compiled
def next_arm(h: np.ndarray, H: float, rng: Rng) -> int:
    """An arm with chance h[j] / H."""
    u = uniform(rng) * H
    last = 0
    for j in range(h.size):
        if h[j] > 0.0:
            last = j
            u -= h[j]
            if u < 0.0:
                return j
    return last


class ThompsonBeta(NamedTuple):
    """The parameters of `thompson_beta`."""

    draws: int


@implements(play, ThompsonBeta)
def thompson_beta(algorithm: ThompsonBeta, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 2; `draws` is the place in DRAWS."""
    draws = algorithm.draws
    K = number_of_arms(env)
    a = np.ones(K)  # successes + 1
    b = np.ones(K)  # failures + 1
    theta = np.empty(K)
    h = np.empty(K)  # hazards of the coins
    met = np.empty(K, np.bool_)  # coins seen up in this round
    H_rivals, slope = 0.1, 10.0  # of the last stretch
    t, literal = 0, T  # the next `literal` rounds draw every posterior
    if draws == NEEDED:
        literal = 2 * K
    while t < T:  # line 3
        if literal > 0:
            t += 1
            literal -= 1
            for j in range(K):  # line 4
                theta[j] = beta(rng, a[j], b[j])
            J = argmax(theta, rng)  # line 5
            X = pull(env, rng, J, t, 1)
            a[J] += X
            b[J] += 1.0 - X
            record(trace, env, t, J, 1)
            continue

        # A stretch of m rounds of the foremost arm A, a level and hazards of the coins.
        A = foremost(a, b)
        n_A = a[A] + b[A]
        loss = BLUNT * n_A / slope
        m = 1 + int(min(0.25 * n_A, max(loss, (loss / _LAG) ** 2)))
        drift, lag = least_gain(env, A, m)
        wanted = -math.log(H_rivals * min(1.0, slope / math.sqrt(n_A)))
        low, high = a[A] - lag, b[A] + lag
        E = 0.0
        x = y = 0.5
        if low >= 0.5:
            x, y = level(min(max(wanted, 1.5), 50.0), low, high)
            E = exponent(x, y, low, high)
            growth = drift * math.log(low / (n_A * x)) + (1.0 - drift) * math.log(high / (n_A * y))
            if growth < 0.0:
                m = 1 + int(min(float(m), -0.25 * E / growth))
                E += m * growth
        p_A = math.exp(-E)
        H = math.inf
        if E >= LEAST_EXPONENT and is_thinnable(x, a[A], b[A]):
            h[A] = -math.log1p(-p_A)
            H_rivals = steepness = 0.0
            for j in range(K):
                if j != A:
                    h[j], rate = hazard(x, y, a[j], b[j])
                    H_rivals += h[j]
                    steepness += h[j] * rate
            H = H_rivals + h[A]
            slope = max(steepness / H_rivals, 1.0)
            H_rivals = max(H_rivals, 1e-22)
        if not H <= OFTEN:
            literal = WAIT
            H_rivals, slope = 0.1, 10.0 if not H < math.inf else slope
            continue

        run = 0  # rounds of A whose rewards are not in yet
        point = exponential(rng) / H  # where the next coin is up, in rounds from here
        while m > 0:
            if not point < m:
                run += m
                break
            before = int(point)
            run += before
            if t + run >= T:
                break
            m -= before + 1
            point -= before + 1
            # Some coins are up in the round that is just over for `m` and `point`.
            opened = False
            met[:] = False
            theta[:] = -1.0
            while point < 0.0:
                j = next_arm(h, H, rng)
                if not met[j]:
                    met[j] = True
                    if j == A:
                        if run > 0:
                            X = pull(env, rng, A, t + 1, run)
                            a[A] += X
                            b[A] += run - X
                            record(trace, env, t + 1, A, run)
                            t += run
                            run = 0
                        step = opens(y, x, b[A], a[A], h[A], rng)
                        if step >= 0.0:
                            theta[A] = x - step
                            opened = True
                    else:
                        step = opens(x, y, a[j], b[j], h[j], rng)
                        if step >= 0.0:
                            theta[j] = x + step
                            opened = True
                point += exponential(rng) / H
            if not opened:
                run += 1
                continue
            if run > 0:
                X = pull(env, rng, A, t + 1, run)
                a[A] += X
                b[A] += run - X
                record(trace, env, t + 1, A, run)
                t += run
                run = 0
            if theta[A] < 0.0:
                theta[A] = within(x, True, a[A], b[A], rng)
            else:  # so others may win from below
                for j in range(K):
                    if theta[j] < 0.0:
                        theta[j] = within(x, False, a[j], b[j], rng)
            J = argmax(theta, rng)
            t += 1
            X = pull(env, rng, J, t, 1)
            a[J] += X
            b[J] += 1.0 - X
            record(trace, env, t, J, 1)
            if J != A:
                h[J], _ = hazard(x, y, a[J], b[J])
                H = 0.0
                for j in range(K):
                    H += h[j]
                if not H <= OFTEN:
                    break
                point = exponential(rng) / H
        if run > 0:
            n = min(run, T - t)
            record(trace, env, t + 1, A, n)
            if n < run or t + n == T:
                return
            X = pull(env, rng, A, t + 1, n)
            a[A] += X
            b[A] += n - X
            t += n


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
    """Play J in the n rounds after t, no more than its batch has room for; whether that is full."""
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
def one_of(leads: np.ndarray, a: np.ndarray, total: float, rng: Rng) -> int:
    """The arm of the largest draw of those that lead, Beta(a[j], 1) each: chance a[j] / total."""
    u = uniform(rng) * total
    last = 0
    for j in range(a.size):
        if leads[j]:
            last = j
            u -= a[j]
            if u < 0.0:
                return j
    return last


class LazyDPTS(NamedTuple):
    """The parameters of `lazy_dp_ts`."""

    epsilon: float
    draws: int


@implements(play, LazyDPTS)
def lazy_dp_ts(algorithm: LazyDPTS, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 3; `draws` is the place in DRAWS."""
    epsilon, draws = algorithm
    K = number_of_arms(env)
    mean = np.empty(K)
    O = np.ones(K, np.int64)  # observations behind the private mean, 2^r
    N = np.zeros(K, np.int64)  # unprocessed observations
    Phi = np.zeros(K)  # and their sum
    a = np.empty(K)
    b = np.empty(K)
    theta = np.empty(K)
    h = np.empty(K)  # hazards of the coins
    met = np.empty(K, np.bool_)  # coins seen up in this round
    leads = np.empty(K, np.bool_)
    for j in range(K):  # line 2
        mean[j] = pull(env, rng, j, j + 1, 1) + laplace(rng, 1.0 / epsilon)
        record(trace, env, j + 1, j, 1)
        release(trace, j + 1, j, mean[j])
    H_rivals, slope, reach = 0.1, 10.0, 0.1
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

        # Who leads: the arms clipped at 1, whose largest draw is Beta(Σ a, 1), or one arm A.
        A = foremost(a, b)
        a_A, b_A = a[A], b[A]
        leads[:] = False
        leads[A] = True
        alone = True
        if b_A == 1.0:
            for j in range(K):
                if j != A and b[j] == 1.0:
                    leads[j] = True
                    alone = False
                    a_A += a[j]

        # A stretch of m rounds, a level and hazards of the coins. Posteriors grow with t: those
        # of the rivals are largest at the end, the leader's is smallest at the beginning.
        m = 1 + int(reach * t)
        if alone:
            m = min(m, 2 * O[A] - N[A])
        wanted = -math.log(H_rivals * min(1.0, slope / math.sqrt(a_A + b_A)))
        x, y = level(min(max(wanted, 1.5), 50.0), a_A, b_A)
        E = exponent(x, y, a_A, b_A)
        H = math.inf
        if E >= LEAST_EXPONENT and is_thinnable(x, a_A, b_A):
            posteriors(t + m, epsilon, mean, O, a, b)
            H_rivals = steepness = 0.0
            if not alone or is_thinnable(x, a[A], b[A]):
                for j in range(K):
                    h[j] = 0.0
                    if not leads[j]:
                        h[j], rate = hazard(x, y, a[j], b[j])
                        H_rivals += h[j]
                        steepness += h[j] * rate
                h[A] = -math.log1p(-math.exp(-E))
                H = H_rivals + h[A]
                slope = max(steepness / H_rivals, 1.0) if H_rivals > 0.0 else 1.0
            H_rivals = max(H_rivals, 1e-22)
        if not H <= OFTEN:
            H_rivals, slope = 0.1, 10.0 if not H < math.inf else slope
            if m > 8:
                reach = 0.125 * m / t
            else:
                literal = WAIT
            continue

        run = 0  # rounds of the single leader that are not recorded yet
        failed = 0
        filled = False
        point = exponential(rng) / H  # where the next coin is up, in rounds from here
        while m > 0 and t + run < T and not filled:
            before = m if not point < m else int(point)
            if alone:
                run += before
            else:
                for _ in range(min(before, T - t)):
                    J = one_of(leads, a, a_A, rng)
                    filled = observe(env, rng, trace, t, J, 1, epsilon, mean, O, N, Phi)
                    t += 1
                    if filled:
                        break
                if filled:
                    break
            if before == m:
                reach = min(2.0 * reach, 1.0)
                break
            if t + run >= T:
                break
            m -= before + 1
            point -= before + 1
            # Some coins are up in the round that is just over for `m` and `point`.
            posteriors(t + run + 1, epsilon, mean, O, a, b)
            if alone:
                a_A, b_A = a[A], b[A]
            opened = False
            met[:] = False
            theta[:] = -1.0
            while point < 0.0:
                j = next_arm(h, H, rng)
                if not met[j]:
                    met[j] = True
                    if j == A:
                        step = opens(y, x, b_A, a_A, h[A], rng)
                        if step >= 0.0:
                            theta[A] = x - step
                            opened = True
                    else:
                        step = opens(x, y, a[j], b[j], h[j], rng)
                        if step >= 0.0:
                            theta[j] = x + step
                            opened = True
                point += exponential(rng) / H
            J = A
            if opened:
                if theta[A] < 0.0:
                    theta[A] = within(x, True, a_A, b_A, rng)
                else:  # so others may win from below
                    for j in range(K):
                        if theta[j] < 0.0 and not leads[j]:
                            theta[j] = within(x, False, a[j], b[j], rng)
                J = argmax(theta, rng)
            if J == A and alone:
                run += 1
            else:
                if J == A:
                    J = one_of(leads, a, a_A, rng)
                if run > 0:
                    observe(env, rng, trace, t, A, run, epsilon, mean, O, N, Phi)
                    t += run
                    run = 0
                filled = observe(env, rng, trace, t, J, 1, epsilon, mean, O, N, Phi)
                t += 1
            if not opened:
                failed += 1
                if failed == 4:
                    reach *= 0.5
                    break
        if run > 0 and t < T:
            n = min(run, T - t)
            observe(env, rng, trace, t, A, n, epsilon, mean, O, N, Phi)
            t += n


def _lazy_cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    return sizes["K"] * min(60.0 * T, 5e5 * math.log(T) * (1.0 + 1.0 / (epsilon or math.inf)))


_DRAWS = Parameter(
    "draws",
    "needed",
    choices=DRAWS,
    meaning="posteriors drawn: where they may matter, or all in every round; the law is the same",
)

register(
    Algorithm(
        name="thompson_beta",
        family="bandit",
        form=ThompsonBeta,
        source="hu2024 Algorithm 2; Agrawal & Goyal 2017",
        summary="the arm of the largest posterior draw",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        parameters=(_DRAWS,),
        cost=lambda T, sizes, epsilon: sizes["K"] * min(60.0 * T, 4e5 * math.log(T)),
        version=1,
    )
)

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
        parameters=(_DRAWS,),
        cost=_lazy_cost,
        version=1,
    )
)
