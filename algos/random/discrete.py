"""Counts: geometric, binomial, multinomial, and integers below a bound.

Binomial: up to 8 trials are made one by one, and up to 64 side by side, each bit of a word being
the next bit of one trial's uniform number until it differs from p's. For more trials, with
n min(p, 1 - p) < 10 by inversion (the probabilities from 0 on are subtracted from a uniform
number), else by transformed rejection: Hörmann 1993, "The generation of binomial random variates",
algorithm BTRS. Its acceptance needs the log of the ratio of two binomial probabilities. As printed,
by log factorials, that cancels (the error is 1e-4 at n = 1e12). Here it is a difference of
deviances as in Loader 2000 (`algos.maths.stirling`), but about counts with 1/2 added, where
Stirling's formula is ln Γ(x + 1/2) ≈ x ln x - x + ln √(2π): no half logarithms and no special
cases at 0 and n remain. Its error is below 1e-13 up to n = 2^61 for a p that differs from the one
given by one rounding (p n is rounded to a float), which moves the mean by less than 2e-7 standard
deviations.

A uniform number has 53 bits: within one draw, chances are exact to about 2^-53 and events rarer
than that do not occur (side by side, 2^-64). Counts of transformed rejection have chances exact to
a part in 10^6 even at n = 2^61, where a count has 10^6 of the 2^53 uniform numbers.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import compiled, inlined
from algos.maths.stirling import deviance, half_error
from algos.random.generator import Rng, next_word, uniform, uniform_positive

_NONE, _ALL = np.uint64(0), np.uint64(2**64 - 1)
_1, _2, _4, _8, _16, _32, _56, _63 = (np.uint64(bits) for bits in (1, 2, 4, 8, 16, 32, 56, 63))
_PAIRS, _FOURS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_EIGHTS, _BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
FEW = 8  # trials that are made one by one
REJECTION = 10.0  # the smallest n min(p, 1 - p) for transformed rejection


@compiled
def geometric(rng: Rng, p: float) -> float:
    """Failures before the first success of probability p, as a float; inf where p is 0."""
    if p >= 1.0:
        return 0.0
    if p <= 0.0:
        return math.inf
    return np.floor(math.log(uniform_positive(rng)) / math.log1p(-p))


@compiled
def binomial(rng: Rng, n: int, p: float) -> int:
    """Successes among n trials of probability p, 0 ≤ n ≤ 2^61."""
    if n <= 0 or p <= 0.0:
        return 0
    if p >= 1.0:
        return n
    if n <= FEW:
        return _one_by_one(rng, n, p)
    if n <= 64:
        return _side_by_side(rng, n, p)
    if p <= 0.5:
        return _rarer(rng, n, p)
    return n - _rarer(rng, n, 1.0 - p)


@compiled
def _one_by_one(rng: Rng, n: int, p: float) -> int:
    successes = 0
    for _ in range(n):
        if uniform(rng) < p:
            successes += 1
    return successes


@compiled
def _side_by_side(rng: Rng, n: int, p: float) -> int:
    """Up to 64 trials: bits of as many uniform numbers against those of p, from the highest on."""
    bits = np.uint64(p * 2.0**64)
    undecided = _ALL >> np.uint64(64 - n)
    won = _NONE
    while undecided != _NONE and bits != _NONE:
        bit = _NONE - (bits >> _63)  # the highest bit, 64 times
        differs = (next_word(rng) ^ bit) & undecided
        won |= differs & bit
        undecided ^= differs
        bits <<= _1
    return _ones(won)


@compiled
def _ones(x: np.uint64) -> int:
    """How many bits are 1."""
    x -= (x >> _1) & _PAIRS
    x = (x & _FOURS) + ((x >> _2) & _FOURS)
    x = (x + (x >> _4)) & _EIGHTS
    return int(np.int64((x * _BYTES) >> _56))  # int of a uint64 alone would stay one


@compiled
def _rarer(rng: Rng, n: int, p: float) -> int:
    """For p ≤ 1/2."""
    if n * p < REJECTION:
        return _inversion(rng, n, p)
    return _transformed_rejection(rng, n, p)


@compiled
def _inversion(rng: Rng, n: int, p: float) -> int:
    odds = p / (1.0 - p)
    none = math.exp(n * math.log1p(-p))
    while True:
        u, chance = uniform(rng), none
        for k in range(1, 201):  # the chance of more than 200 is below 1e-180
            if u < chance:
                return k - 1
            u -= chance
            chance *= odds * (float(n - k + 1) / k)
            if chance == 0.0:
                break  # u is among what rounding left over


@compiled
def _log_chance(z: float, M: float, Q: float) -> float:
    """The log of the chance of k, but for terms in n and p, from z = k + 1/2 - M.

    M = (n + 1) p and Q = (n + 1) (1 - p).
    """
    k, rest = M + z, Q - z  # each with 1/2 added
    return -deviance(k, M, z) - deviance(rest, Q, -z) - half_error(k) - half_error(rest)


@inlined
def _hat(p: float, spread: float) -> tuple[float, float, float, float]:
    """Hörmann's a, b, α and v_r for n p ≥ 10 and the standard deviation `spread`."""
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    return a, b, (2.83 + 5.1 / b) * spread, 0.92 - 4.2 / b


@compiled
def _transformed_rejection(rng: Rng, n: int, p: float) -> int:
    N = float(n)
    mean = N * p
    a, b, alpha, v_r = _hat(p, math.sqrt(mean * (1.0 - p)))
    mode = np.floor((N + 1.0) * p)
    part = mean - mode
    while True:
        v = uniform_positive(rng)
        u = uniform(rng) - 0.5
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        beyond = np.floor((2.0 * a / us + b) * u + part + 0.5)  # of the mode
        if us >= 0.07 and v <= v_r:
            break
        if not -mode <= beyond <= N - mode:
            continue
        M, Q, z = mean + p, N - mean + (1.0 - p), 0.5 - p - part
        log_v = math.log(v * alpha / (a / (us * us) + b))
        if log_v <= _log_chance(beyond + z, M, Q) - _log_chance(z, M, Q):
            break
    return int(mode) + int(beyond)


@compiled
def multinomial(rng: Rng, n: int, p: np.ndarray, counts: np.ndarray) -> None:
    """Fill `counts` int64 (V,) with how often each of V outcomes comes in n trials.

    Args:
        p: float64 (V,), probabilities that sum to 1; the last positive one takes what rounding
            leaves.
    """
    last = p.size - 1
    while last > 0 and p[last] <= 0.0:
        counts[last] = 0
        last -= 1
    left, mass = n, 1.0
    for v in range(last):
        count = 0
        if left > 0 and p[v] > 0.0:
            count = left if p[v] >= mass else binomial(rng, left, p[v] / mass)
        counts[v] = count
        left -= count
        mass -= p[v]
    counts[last] = left


@compiled
def below(rng: Rng, n: int) -> int:
    """Uniform on 0, …, n - 1, for 1 ≤ n < 2^63. One word where n is a power of 2, else at most 2
    on average."""
    most = np.uint64(n - 1)
    mask = most
    for shift in (_1, _2, _4, _8, _16, _32):
        mask |= mask >> shift
    while True:
        word = next_word(rng) & mask
        if word <= most:
            return int(np.int64(word))
