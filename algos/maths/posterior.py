"""Beta posteriors: tails, draws from one side of a level, and rounds that are settled without any.

Thompson sampling plays the arm of the largest of K posterior draws. Take an arm A and a level x. As
long as θ_A ≥ x and every other θ_j < x, A is played, whatever the draws are. A round where that
fails for some arm is `open`; arm j opens it with probability q_j, a Beta tail. Where the q_j of a
stretch of rounds stay below bounds whose sum is p, the rounds before the next that may be open
are Geometric(p) many and need no posterior draw; that next one is open with probability
P(open) / p (thinning), and then the draws are taken given that it is. The law of the arms played
is that of drawing every θ in every round, up to the relative error of a tail, about 1e-11.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import compiled
from algos.maths.kl import divergence
from algos.maths.stirling import LOG_ROOT_2PI, stirling_error
from algos.maths.ties import argmax
from algos.random.continuous import beta
from algos.random.generator import Rng, uniform


@compiled
def lower_tail(x: float, a: float, b: float) -> float:
    """P(Beta(a, b) < x) for a, b ≥ 1, to a few digits less than float64's where it is small.

    x^a (1 - x)^b / B(a, b) by Stirling's errors and a relative entropy, which cancels nothing;
    then the continued fraction of the incomplete beta function by Lentz's method.
    """
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    n = a + b
    if x * n > a:
        return 1.0 - lower_tail(1.0 - x, b, a)
    root = math.sqrt(a / n * b)
    errors = stirling_error(n) - stirling_error(a) - stirling_error(b) - LOG_ROOT_2PI
    front = root * math.exp(errors - n * divergence(b / n, a / n - x)) / a
    d = 1.0 - n * x / (a + 1.0)
    d = 1.0 / d
    c, fraction = 1.0, d
    for i in range(1, 100_000):
        even = i * (b - i) * x / ((a + 2 * i - 1.0) * (a + 2 * i))
        d = 1.0 / (1.0 + even * d)
        c = 1.0 + even / c
        fraction *= d * c
        odd = -(a + i) * (n + i) * x / ((a + 2 * i) * (a + 2 * i + 1.0))
        d = 1.0 / (1.0 + odd * d)
        c = 1.0 + odd / c
        change = d * c
        fraction *= change
        if abs(change - 1.0) < 1e-15:
            break
    return front * fraction


@compiled
def log_density_ratio(theta: float, at: float, a: float, b: float) -> float:
    """ln f(θ) - ln f(at) for the Beta(a, b) density f; at = 1 only where b = 1."""
    ratio = (a - 1.0) * math.log1p((theta - at) / at)
    if b > 1.0:
        ratio += (b - 1.0) * math.log1p((at - theta) / (1.0 - at))
    return ratio


@compiled
def draw_above(x: float, a: float, b: float, q: float, rng: Rng) -> float:
    """θ ~ Beta(a, b) given θ ≥ x, where q = P(θ ≥ x).

    Where that is rare, by rejection from the exponential that touches the log-concave density at
    x, or, where that would reach past 1, from the uniform on [x, 1].
    """
    if q > 0.1:
        while True:
            theta = beta(rng, a, b)
            if theta >= x:
                return theta
    fall = (b - 1.0) / (1.0 - x) - (a - 1.0) / x
    if fall * (1.0 - x) < 1.0:
        peak = x if fall >= 0.0 else (a - 1.0) / (a + b - 2.0)
        while True:
            theta = x + (1.0 - x) * uniform(rng)
            if math.log1p(-uniform(rng)) <= log_density_ratio(theta, peak, a, b):
                return theta
    while True:
        theta = x - math.log1p(-uniform(rng)) / fall
        if theta < 1.0:
            accepted = log_density_ratio(theta, x, a, b) + fall * (theta - x)
            if math.log1p(-uniform(rng)) <= accepted:
                return theta


@compiled
def draw_side(above: bool, x: float, a: float, b: float, q: float, rng: Rng) -> float:
    """θ ~ Beta(a, b) given θ ≥ x or given θ < x, a side of probability q."""
    if above:
        return draw_above(x, a, b, q, rng)
    return 1.0 - draw_above(1.0 - x, b, a, q, rng)


@compiled
def level(A: int, a: np.ndarray, b: np.ndarray) -> tuple[float, float, int]:
    """A level x as many deviations from A's mean as from its nearest rival's; how many; the rival.

    Only the cost depends on it. Negative: the rival's mean is above A's.
    """
    n = a[A] + b[A]
    top = a[A] / n
    deviation = math.sqrt(top * (b[A] / n) / n)
    x, least, rival = 0.0, math.inf, A
    for j in range(a.size):
        if j != A:
            m = a[j] + b[j]
            mean = a[j] / m
            own = math.sqrt(mean * (b[j] / m) / m)
            gap = (top - mean) / (deviation + own)
            if gap < least:
                x, least, rival = top - gap * deviation, gap, j
    return x, least, rival


@compiled
def open_chances(A: int, x: float, a: np.ndarray, b: np.ndarray, q: np.ndarray) -> float:
    """Fill q (K,) with each arm's chance to open the round; their sum."""
    total = 0.0
    for j in range(a.size):
        q[j] = lower_tail(x, a[j], b[j]) if j == A else lower_tail(1.0 - x, b[j], a[j])
        total += q[j]
    return total


@compiled
def chance_of_some(q: np.ndarray, first: int) -> float:
    """1 - Π_{j ≥ first} (1 - q_j), digits kept where it is small."""
    log_none = 0.0
    for j in range(first, q.size):
        log_none += math.log1p(-q[j])
    return -math.expm1(log_none)


@compiled
def winner_when_open(
    A: int,
    x: float,
    a: np.ndarray,
    b: np.ndarray,
    q: np.ndarray,
    theta: np.ndarray,
    rng: Rng,
) -> int:
    """The arm of the largest draw, all K drawn given that at least one arm opens the round."""
    opened = False
    for j in range(a.size):
        if opened:
            theta[j] = beta(rng, a[j], b[j])
            continue
        later = chance_of_some(q, j + 1)
        opened = later == 0.0 or uniform(rng) * (q[j] + (1.0 - q[j]) * later) < q[j]
        above = opened != (j == A)  # A opens from below, the others from above
        theta[j] = draw_side(above, x, a[j], b[j], q[j] if opened else 1.0 - q[j], rng)
    return argmax(theta, rng)


@compiled
def rounds_before(p: float, rng: Rng) -> float:
    """Failures before the first success of probability p: Geometric, as a float (may be huge)."""
    if p <= 0.0:
        return math.inf
    return math.floor(math.log1p(-uniform(rng)) / math.log1p(-min(p, 1.0 - 1e-16)))
