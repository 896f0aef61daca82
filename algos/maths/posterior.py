"""Contests of Beta posteriors, settled without drawing them: coins that bound their tails.

Thompson sampling plays the arm of the largest of K posterior draws. Take the foremost arm A and a
level x. As long as θ_A ≥ x and every other θ_j < x, A is played, whatever the draws are; arm j
*opens* the round where that fails for it. Over a stretch of rounds each arm gets a coin that shows
up with a constant chance q_j, at least its chance to open. Rounds where no coin is up need no
draw. Where arm j's coin is up, it opens with its true chance divided by q_j (thinning), and what
decides that is a draw θ_j which then has the law of the posterior beyond x:

- A rival j. A Beta density f with both shapes ≥ 1 is log-concave, so where it falls at x, at the
  rate λ = (b - 1)/(1 - x) - (a - 1)/x > 0, it stays below f(x) exp(-λ(θ - x)). The area under that
  tangent is f(x)/λ (`tangent`); a point from under it lies under f with the tail's share of it.
- The arm A. P(θ < x) ≤ exp(-E) by Chernoff's bound on two gamma variables, with
  E = n d(a/n, x), n = a + b, x ≤ a/n (`exponent`). E is convex in (a, b), grows with a and falls
  as b grows, so a lower bound of it follows for all that may happen in a stretch. Thinning takes
  the tangent at x again, now towards 0. By Stirling's formula its area is below
  exp(-E) s / √(2π) / (n(a/n - x) - 1 + 2x), s² = ab/n. Where E ≥ 1, and x ≥ 1/2 or s ≥ 2
  (`is_thinnable`), that is below exp(-E): else n(a/n - x) < 1 - 2x + 0.4 s; but
  E ≤ (n(a/n - x))² / 2v, v the least of n z(1 - z) for z from x to a/n, which is s² for x ≥ 1/2
  and at least s² - 1 - 0.4 s for s ≥ 2; either way E would be below 1.

No incomplete beta function is needed. What it costs in law is the rounding of f(x): a relative
error of 1e-12 in the chance of an open round up to 1e9 observations, 1e-7 at 1e18.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import compiled
from algos.maths.stirling import LOG_ROOT_2PI, deviance, stirling_error
from algos.random.continuous import beta, exponential
from algos.random.generator import Rng, uniform, uniform_positive

LEAST_EXPONENT = 1.0


@compiled
def exponent(x: float, y: float, a: float, b: float) -> float:
    """n d(a/n, x), n = a + b: P(Beta(a, b) < x) is at most exp(-that) where x ≤ a/n; y = 1 - x."""
    n = a + b
    difference = a * y - b * x
    return deviance(a, n * x, difference) + deviance(b, n * y, -difference)


@compiled
def log_density(x: float, y: float, a: float, b: float) -> float:
    """ln of the Beta(a, b) density at x, 0 < x < 1, a, b ≥ 1; y = 1 - x."""
    n = a + b
    errors = stirling_error(n) - stirling_error(a) - stirling_error(b) - LOG_ROOT_2PI
    return errors - exponent(x, y, a, b) + 0.5 * math.log(a / n * b) - math.log(x * y)


@compiled
def tangent(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """The area under the exponential that touches the Beta(a, b) density at x, and its rate.

    The area bounds P(Beta(a, b) > x); inf where the density does not fall at x. With (y, x, b, a)
    in place of (x, y, a, b) it bounds P(Beta(a, b) < x).
    """
    rate = (b - 1.0) / y - (a - 1.0) / x
    if rate <= 0.0:
        return math.inf, rate
    return math.exp(log_density(x, y, a, b)) / rate, rate


@compiled
def beyond(x: float, y: float, a: float, b: float, rate: float, rng: Rng) -> float:
    """How far beyond x a point under the tangent lies, or -1 if it is not under the density."""
    step = exponential(rng) / rate
    if step >= y:
        return -1.0
    excess = (a - 1.0) * math.log1p(step / x) + rate * step
    if b > 1.0:
        excess += (b - 1.0) * math.log1p(-step / y)
    return step if math.log(uniform_positive(rng)) <= excess else -1.0


@compiled
def hazard(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """-ln(1 - q) for a rival's coin of chance q, and the tangent's rate; inf where there is none.

    Where both mean and mode lie below x, q is larger for a larger a and an equally smaller b.
    """
    if a * y > b * x:
        return math.inf, 0.0
    area, rate = tangent(x, y, a, b)
    return (-math.log1p(-area) if area < 1.0 else math.inf), rate


@compiled
def opens(x: float, y: float, a: float, b: float, hazard: float, rng: Rng) -> float:
    """Of an arm whose coin of this hazard is up: how far beyond x its draw is, or -1 if below."""
    area, rate = tangent(x, y, a, b)
    if uniform_positive(rng) * -math.expm1(-hazard) > area:
        return -1.0
    return beyond(x, y, a, b, rate, rng)


@compiled
def is_thinnable(x: float, a: float, b: float) -> bool:
    """Whether Chernoff's bound exp(-E), E ≥ LEAST_EXPONENT, is above the tangent's area."""
    return x >= 0.5 or a / (a + b) * b >= 4.0


@compiled
def level(H: float, slope: float, a: float, b: float) -> tuple[float, float]:
    """A level x and 1 - x for the foremost arm's Beta(a, b); only the cost depends on it.

    P(θ < x) is about what the rivals' hazards gain where x is a deviation of θ lower: they were H
    in all, and rise at the rate `slope`, at the last level.
    """
    n = a + b
    E = -math.log(max(H, 1e-22) * min(1.0, slope / math.sqrt(n)))
    E = min(max(E, 1.5), 50.0)
    skew = max((a - b) / n, 0.0) / 1.5
    depth = (math.sqrt(2.0 * E * (a / n) * b) + skew * E) / n
    depth = min(depth, 0.9375 * a / n)
    return a / n - depth, b / n + depth


@compiled
def rivals(
    A: int, x: float, y: float, a: np.ndarray, b: np.ndarray, h: np.ndarray
) -> tuple[float, float]:
    """Fill h (K,) with the hazards of A's rivals; their sum, and its rate of decrease in x, ≥ 1.

    Arms with h < 0 are left out: their draws count as A's.
    """
    H = steepness = 0.0
    for j in range(a.size):
        if j != A and h[j] >= 0.0:
            h[j], rate = hazard(x, y, a[j], b[j])
            H += h[j]
            steepness += h[j] * rate
    return H, (max(steepness / H, 1.0) if 0.0 < H < math.inf else 1.0)


@compiled
def coins_up(point: float, h: np.ndarray, H: float, up: np.ndarray, rng: Rng) -> float:
    """Fill up (K,) with the coins that are up in a round with one at least; the next such point.

    Points of a Poisson process of rate H, each of arm j with chance h[j] / H: a coin is up in a
    round with a point of its own. The first lies at `point` < 0, counted from the round's end.
    """
    for j in range(h.size):
        up[j] = False
    while point < 0.0:
        u = uniform(rng) * H
        last = 0
        for j in range(h.size):
            if h[j] > 0.0:
                last = j
                u -= h[j]
                if u < 0.0:
                    break
        up[last] = True
        point += exponential(rng) / H
    return point


@compiled
def contest(
    A: int,
    x: float,
    y: float,
    a: np.ndarray,
    b: np.ndarray,
    h: np.ndarray,
    up: np.ndarray,
    theta: np.ndarray,
    rng: Rng,
) -> bool:
    """Whether some arm whose coin is up opens the round; if so, theta (K,) is filled with draws.

    They are -1 for arms that cannot have the largest.
    """
    opened = False
    for j in range(a.size):
        theta[j] = -1.0
        if up[j]:
            if j == A:
                step = opens(y, x, b[A], a[A], h[A], rng)
            else:
                step = opens(x, y, a[j], b[j], h[j], rng)
            if step >= 0.0:
                theta[j] = x - step if j == A else x + step
                opened = True
    if opened:
        if theta[A] < 0.0:
            theta[A] = within(x, True, a[A], b[A], rng)
        else:  # so others may win from below the level
            for j in range(a.size):
                if theta[j] < 0.0 and h[j] >= 0.0:
                    theta[j] = within(x, False, a[j], b[j], rng)
    return opened


@compiled
def within(x: float, above: bool, a: float, b: float, rng: Rng) -> float:
    """θ ~ Beta(a, b) given θ ≥ x, or given θ < x; for a side that is not rare."""
    while True:
        theta = beta(rng, a, b)
        if (theta >= x) == above:
            return theta


@compiled
def foremost(a: np.ndarray, b: np.ndarray) -> int:
    """The arm of the largest posterior mean; any of them if tied."""
    best = 0
    for j in range(1, a.size):
        if a[j] * (a[best] + b[best]) > a[best] * (a[j] + b[j]):
            best = j
    return best
