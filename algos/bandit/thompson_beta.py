"""Thompson sampling with Beta priors.

Source: hu2024, Algorithm 2 (Agrawal & Goyal 2017). Anytime. Guarantee: none.
Regret: Σ_a Δ_a ln T / d(μ_a, μ*) (1 + o(1)) on Bernoulli arms.

Reading of the box. There are no forced first pulls: the prior Beta(1, 1) is drawn from until
rewards are in. Rewards that are no bits enter the posterior as the box prints it, by their mean
(no Bernoulli trial).

Drawing less. With draws = "all" every posterior is drawn in every round, K draws of 50 ns. The
default, "needed", has the same law (`algos.maths.posterior`): the foremost arm A is played in one
block to the next round where a draw may matter. A level holds for a stretch of m rounds. A rival's
posterior rests until it is played. As for A, its next k ≤ m rewards sum to at least μ_A k - c,
c = √(m ln(1e20) / 2), but for a chance of 1e-20 (`least_gain`: Hoeffding and Doob); along the line
of posteriors with just that sum Chernoff's exponent E is convex in k, so E + m min(E', 0) at its
beginning bounds it. On reward tables nothing is assumed: c = μ_A = 0.
So the law is exact but for a chance of 1e-20 a stretch and for rounding.

Floor. A round that a rival may win costs three to four logarithms and a Beta draw, and rivals win
Σ ln T / d(μ_a, μ*) rounds. Until the posteriors come apart, in about the first 16 / Δ² rounds, most
rounds are contested and all K posteriors are drawn. With equal best arms that never ends: their
posteriors stay equally wide and overlap, so the cost is K draws a round, O(T).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.costs import contested
from algos.bandit.environments import BernoulliArms, BetaArms, FiniteSupportArms, UniformArms
from algos.blocks import play
from algos.dispatch import compiled, implements, seam
from algos.environments import number_of_arms, pull
from algos.maths.posterior import (
    LEAST_EXPONENT,
    coins_up,
    contest,
    exponent,
    foremost,
    hazard,
    is_thinnable,
    level,
    rivals,
)
from algos.maths.ties import argmax
from algos.random.continuous import beta, exponential
from algos.random.generator import Rng
from algos.registry import Algorithm, Parameter, Sizes, register
from algos.traces import record

DRAWS = Parameter(
    "draws",
    "needed",
    choices=("needed", "all"),
    meaning="posteriors drawn: where they may matter, or all in every round; the law is the same",
)
NEEDED = 0  # among its choices
LOG_RARE = math.log(1e-20)
# What follows sets the cost only. The next WAIT rounds draw every posterior where coins would be
# up more often than OFTEN a round.
WAIT = 4
OFTEN = 0.3
BLUNT = 0.5  # how far a stretch may lower the level, in units of the rivals' tangents


@seam
def least_gain(env: Any, arm: int, m: int) -> tuple[float, float]:
    """(drift, lag): the next k rewards of `arm` sum to drift k - lag at least, for all k ≤ m.

    It may fail with a chance of 1e-20.
    """
    raise NotImplementedError


@implements(least_gain)
def no_gain(env: Any, arm: int, m: int) -> tuple[float, float]:
    """Rewards are not negative; no more is assumed."""
    return 0.0, 0.0


@implements(least_gain, BernoulliArms, FiniteSupportArms, BetaArms, UniformArms)
def gain_of_independent(env: Any, arm: int, m: int) -> tuple[float, float]:
    """Hoeffding's inequality for the largest of m partial sums."""
    mean = env.means[arm]
    return mean, min(m * mean, math.sqrt(-0.5 * LOG_RARE * m))


@compiled
def length(n: float, slope: float) -> int:
    """Rounds of a stretch of an arm with n observations; sets the cost only."""
    loss = BLUNT * n / slope
    return 1 + int(min(0.25 * n, max(loss, loss * loss / (-0.5 * LOG_RARE))))


@compiled
def observe(
    env: Any, rng: Rng, trace: Any, t: int, J: int, n: int, a: np.ndarray, b: np.ndarray
) -> int:
    """Play J in the n rounds after t; the last of them."""
    record(trace, env, t + 1, J, n)
    X = pull(env, rng, J, t + 1, n)
    a[J] += X
    b[J] += n - X
    return t + n


class ThompsonBeta(NamedTuple):
    """The parameters of `thompson_beta`."""

    draws: int


@implements(play, ThompsonBeta)
def thompson_beta(algorithm: ThompsonBeta, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """hu2024 Algorithm 2; `draws` is the place among its choices."""
    draws = algorithm.draws
    K = number_of_arms(env)
    a = np.ones(K)  # successes + 1
    b = np.ones(K)  # failures + 1
    theta = np.empty(K)
    h = np.zeros(K)  # hazards of the coins
    up = np.empty(K, np.bool_)
    H_rivals, slope = 0.1, 10.0  # of the last stretch
    t, literal = 0, T  # the next `literal` rounds draw every posterior
    if draws == NEEDED:
        literal = 2 * K
    while t < T:  # line 3
        if literal > 0:
            literal -= 1
            for j in range(K):  # line 4
                theta[j] = beta(rng, a[j], b[j])
            t = observe(env, rng, trace, t, argmax(theta, rng), 1, a, b)  # line 5
            continue

        # A stretch of m rounds of arm A, its level and the hazards of the coins.
        A = foremost(a, b)
        n_A = a[A] + b[A]
        m = length(n_A, slope)
        drift, lag = least_gain(env, A, m)
        low, high = a[A] - lag, b[A] + lag
        x = y = 0.5
        E, H = 0.0, math.inf
        if low >= 0.5:
            x, y = level(H_rivals, slope, low, high)
            E = exponent(x, y, low, high)
            growth = drift * math.log(low / (n_A * x)) + (1.0 - drift) * math.log(high / (n_A * y))
            if growth < 0.0:
                m = 1 + int(min(float(m - 1), -0.25 * E / growth))
                E += m * growth
        if E >= LEAST_EXPONENT and is_thinnable(x, a[A], b[A]):
            H_rivals, slope = rivals(A, x, y, a, b, h)
            h[A] = -math.log1p(-math.exp(-E))
            H = H_rivals + h[A]
        if not H <= OFTEN:
            literal = WAIT
            H_rivals = 0.1
            if math.inf == H:
                slope = 10.0
            continue

        run = 0  # rounds of A that are not yet observed
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
            point = coins_up(point - (before + 1), h, H, up, rng)
            if run > 0:
                t = observe(env, rng, trace, t, A, run, a, b)
                run = 0
            J = A
            if contest(A, x, y, a, b, h, up, theta, rng):
                J = argmax(theta, rng)
            if J == A:
                run = 1
                continue
            t = observe(env, rng, trace, t, J, 1, a, b)
            h[J], _ = hazard(x, y, a[J], b[J])
            H = 0.0
            for j in range(K):
                H += h[j]
            if not H <= OFTEN:
                break
            point = exponential(rng) / H
        if run > 0 and t < T:
            t = observe(env, rng, trace, t, A, min(run, T - t), a, b)


def cost(T: float, sizes: Sizes, epsilon: float | None) -> float:
    """Per rival, rounds that it may win; K draws in each of a number of contested rounds ~ K."""
    K = sizes["K"]
    return min(100.0 * K * T, (K - 1) * (36e3 + 2e3 * math.log(T)) + 1200.0 * K * K)


register(
    Algorithm(
        name="thompson_beta",
        family="bandit",
        form=ThompsonBeta,
        source="hu2024 Algorithm 2; Agrawal & Goyal 2017",
        summary="the arm of the largest posterior draw",
        regret="Σ Δ_a ln T / d(μ_a, μ*)",
        parameters=(DRAWS,),
        skips_ahead=True,
        cost=cost,
        cost_by_gaps=contested(cost, 27.0, 0.7),
        version=2,
    )
)
