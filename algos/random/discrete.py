"""Counts: geometric, binomial, multinomial.

Binomial, for n min(p, 1 - p) ≥ 10, by transformed rejection, Hörmann 1993, "The generation of
binomial random variates", algorithm BTRS. Its acceptance needs the log of the ratio of two binomial
probabilities. As printed, by log factorials, that cancels (the error is 1e-4 at n = 1e12); here it
is the difference of two deviances (`algos.maths.stirling`), whose error stays below 1e-8 up to
n = 2^61. Else, up to 16 trials are made one by one, and longer blocks by inversion: the
probabilities from 0 on are subtracted from a uniform number.

A uniform number has 53 bits, so events rarer than 2^-53 within one draw do not occur.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import compiled
from algos.maths.stirling import deviance, stirling_error
from algos.random.generator import Rng, uniform, uniform_positive

FEW = 16  # trials that are made one by one
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
        successes = 0
        for _ in range(n):
            successes += uniform(rng) < p
        return successes
    if p <= 0.5:
        return _rarer(rng, n, p)
    return n - _rarer(rng, n, 1.0 - p)


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
def _log_chance(k: float, n: float, mean: float, difference: float) -> float:
    """The log of the chance of k = mean + difference of n, but for terms in n alone."""
    if k == 0.0:
        return n * math.log1p(-mean / n) - stirling_error(n) - 0.5 * math.log(n)
    rest = n - k
    if rest == 0.0:
        return n * math.log(mean / n) - stirling_error(n) - 0.5 * math.log(n)
    errors = stirling_error(k) + stirling_error(rest) + 0.5 * math.log(k * (rest / n) / n)
    errors += 0.5 * math.log(n)
    return -errors - deviance(k, mean, difference) - deviance(rest, n - mean, -difference)


@compiled
def _transformed_rejection(rng: Rng, n: int, p: float) -> int:
    N = float(n)
    mean = N * p
    spread = math.sqrt(mean * (1.0 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    alpha = (2.83 + 5.1 / b) * spread
    v_r = 0.92 - 4.2 / b
    mode = np.floor((N + 1.0) * p)
    part = mean - mode
    first = int(mode)
    at_mode = math.nan  # computed where it is needed
    while True:
        v = uniform_positive(rng)
        u = uniform(rng) - 0.5
        us = 0.5 - abs(u)
        if us < 1e-15:
            continue
        beyond = np.floor((2.0 * a / us + b) * u + part + 0.5)  # of the mode
        if us >= 0.07 and v <= v_r:
            return first + int(beyond)
        k = mode + beyond
        if k < 0.0 or k > N:
            continue
        if math.isnan(at_mode):
            at_mode = _log_chance(mode, N, mean, -part)
        log_v = math.log(v * alpha / (a / (us * us) + b))
        if log_v <= _log_chance(k, N, mean, beyond - part) - at_mode:
            return first + int(beyond)


@compiled
def multinomial(rng: Rng, n: int, p: np.ndarray, counts: np.ndarray) -> None:
    """Fill `counts` int64 (V,) with how often each of V outcomes comes in n trials.

    Args:
        p: float64 (V,), probabilities that sum to 1; the last outcome takes what rounding leaves.
    """
    left, mass = n, 1.0
    for v in range(p.size - 1):
        count = 0
        if left > 0 and p[v] > 0.0:
            count = left if p[v] >= mass else binomial(rng, left, p[v] / mass)
        counts[v] = count
        left -= count
        mass -= p[v]
    counts[p.size - 1] = left
