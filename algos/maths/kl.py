"""The Bernoulli relative entropy and its inverse, the index of every KL-UCB rule."""

from __future__ import annotations

import math

from algos.dispatch import compiled


@compiled
def divergence(p: float, x: float) -> float:
    """d(p, p + x) = p ln(p / q) + (1 - p) ln((1 - p) / (1 - q)), q = p + x, for 0 ≤ x ≤ 1 - p.

    Written in x so that it keeps its digits when q is close to p (n near 1e18).
    """
    d = 0.0
    if p > 0.0:
        d -= p * math.log1p(x / p)
    if p < 1.0:
        if x >= 1.0 - p:
            return math.inf
        d -= (1.0 - p) * math.log1p(-x / (1.0 - p))
    return d


@compiled
def upper_index(p: float, level: float) -> float:
    """max{q in [p, 1] : d(p, q) ≤ level}, for p in [0, 1] and level ≥ 0.

    Newton from the right of the root: d is convex and increasing in q, so the iterates fall
    monotonically to it. The start is the smaller of Pinsker's bound p + √(level / 2) and
    1 - exp(-(level + H(p)) / (1 - p)), H(p) the entropy (from p ln(p / q) ≥ p ln p).
    Exact to a few units in the last place.
    """
    if p >= 1.0:
        return 1.0
    if level <= 0.0:
        return p
    if p == 0.0:
        return -math.expm1(-level)  # d(0, q) = -ln(1 - q)
    one = 1.0 - p
    entropy = -p * math.log(p) - one * math.log1p(-p)
    x = min(math.sqrt(0.5 * level), -math.expm1(-(level + entropy) / one) - p)
    if x <= 0.0:
        return p
    for _ in range(60):
        if x >= one:
            return 1.0
        slope = x / ((p + x) * (one - x))  # d/dq d(p, q) = (q - p) / (q (1 - q))
        move = (divergence(p, x) - level) / slope
        x -= move
        if move <= 2e-16 * (p + x):
            break
    return p + x


@compiled
def lower_gap(rest: float, level: float) -> float:
    """q - min{p in [0, q] : d(p, q) ≤ level}, for q = 1 - rest in [0, 1) and level ≥ 0.

    Newton on x = q - p, in which d is convex and increasing: from the second iterate on they fall
    monotonically to the root. The start is what d's second derivative at q gives. Taken from 1 - q
    because that may have more digits than q.
    """
    if level <= 0.0:
        return 0.0
    q = 1.0 - rest
    if level >= -math.log(rest):  # d(0, q)
        return q
    x = math.sqrt(2.0 * q * rest * level)
    for i in range(60):
        x = min(x, q * (1.0 - 2.0**-50))
        up, down = math.log1p(x / (q - x)), math.log1p(-x / (rest + x))
        move = (-(q - x) * up - (rest + x) * down - level) / (up - down)
        x -= move
        if abs(move) <= 1e-9 * x or (i > 0 and move <= 0.0):
            break
    return x


@compiled
def upper_rank(p: float, level: float) -> float:
    """z = -ln(1 - q) for q = upper_index(p, level); inf for p = 1.

    It grows with q, so an arg max of it is the arg max of the indices, and it tells apart those
    that float64 rounds to 1 (level 50 at p = 0 leaves 1 - q = 2e-22), which are no ties.
    Where 1 - q is small, Newton on (1 - p) z - p ln(1 - e^-z) = level + H(p) from the right: the
    left side is convex in z, and the start drops its second term, which is positive.
    """
    if p >= 1.0:
        return math.inf
    if p == 0.0:
        return level
    one = 1.0 - p
    q = upper_index(p, level)
    if q < 0.999:
        return -math.log1p(-q)
    constant = one * math.log(one) + p * math.log(p) - level
    z = -constant / one
    for _ in range(60):
        tail = math.exp(-z)
        move = (constant + one * z - p * math.log1p(-tail)) / (one - p * tail / (1.0 - tail))
        z -= move
        if move <= 2e-16 * z:
            break
    return z
