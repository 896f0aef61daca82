"""Choosing an arm from indices, with the project's rule for ties.

Ties are uniform among the tied arms and draw from the replicate's generator only when there
is a tie, so a run without ties consumes no randomness for choosing.
"""

from __future__ import annotations

import math

import numpy as np

from algos.dispatch import allocating, compiled
from algos.random.generator import Rng, uniform


@compiled
def largest(values: np.ndarray) -> float:
    """The largest of `values` (K,), in four strands that a processor follows at once."""
    a = b = c = d = -math.inf
    whole = values.size & ~3
    for j in range(0, whole, 4):
        a = max(a, values[j])
        b = max(b, values[j + 1])
        c = max(c, values[j + 2])
        d = max(d, values[j + 3])
    for j in range(whole, values.size):
        a = max(a, values[j])
    return max(max(a, b), max(c, d))


@compiled
def argmax(index: np.ndarray, rng: Rng) -> int:
    """Position of the largest of `index` (K,); ties by one uniform draw from `rng`."""
    first, tied, top = 0, 0, -math.inf
    for j in range(index.size):  # without branches: who leads is hard to predict
        more = index[j] > top
        tied = 1 if more else tied + (index[j] == top)
        first = j if more else first
        top = index[j] if more else top
    return first if tied <= 1 else among(index, first, tied, rng)


@compiled
def among(index: np.ndarray, first: int, tied: int, rng: Rng) -> int:
    """One of the `tied` positions from `first` on where `index` is what it is there."""
    wanted = int(uniform(rng) * tied)
    for j in range(first, index.size):
        if index[j] == index[first]:
            if wanted == 0:
                return j
            wanted -= 1
    return first


@compiled
def argmin(index: np.ndarray, rng: Rng) -> int:
    """Position of the smallest of `index` (K,); ties as in `argmax`."""
    best, tied = 0, 1
    for j in range(1, index.size):
        if index[j] < index[best]:
            best, tied = j, 1
        elif index[j] == index[best]:
            tied += 1
    return best if tied == 1 else among(index, best, tied, rng)


@allocating
def draw_order(rank: np.ndarray, rng: Rng) -> None:
    """Fill `rank` (K,) int64 with the arms' places in a uniform order (Fisher–Yates)."""
    K = rank.size
    order = np.arange(K)
    for i in range(K - 1, 0, -1):
        j = int(uniform(rng) * (i + 1))
        order[i], order[j] = order[j], order[i]
    for position in range(K):
        rank[order[position]] = position
