"""The binary tree mechanism: noisy prefix sums of a stream, each reward in at most L nodes.

Source: Dwork et al. 2010 and Chan, Shi & Song 2011, as in sajed2019 §1 and azize2022 §1. A stream
of at most T leaves has L = floor(log2 T) + 1 levels (the papers' log2 T is one short); node
noise is Lap(L / ε) where a leaf moves a sum by at most 1. The prefix {1..n} is tiled by the
dyadic nodes of n's binary digits: digit i stands for the node of the 2^i leaves that end at n
with its digits below i cleared. So popcount(n) noises are in the sum released after leaf n, and
two prefixes share the nodes of their common leading digits.

Only nodes that enter some prefix sum are drawn, each once, when its last leaf arrives: after leaf
n that is the node of n's lowest digit. It stands on the nodes of n's other digits, so one
number per level is kept, the noise of all nodes down to that level, and a leaf costs one draw
and O(1) operations. The exact sums are the caller's: noise and sums meet when they are released.
A stream with vector leaves keeps one such row per coordinate.
"""

from __future__ import annotations

import numpy as np

from algos.dispatch import compiled
from algos.random.continuous import laplace
from algos.random.generator import Rng


@compiled
def levels(T: int) -> int:
    """L = floor(log2 T) + 1, in integers."""
    L = 0
    while T > 0:
        T >>= 1
        L += 1
    return L


@compiled
def lowest_digit(n: int) -> int:
    """Which of the binary digits of n ≥ 1 is the lowest one, from 0."""
    digit = 0
    while n & 1 == 0:
        n >>= 1
        digit += 1
    return digit


@compiled
def prefix_noise(noise: np.ndarray, n: int, scale: float, rng: Rng) -> float:
    """The noise of the prefix sum that is released after leaf n; call once for n = 1, 2, …

    Args:
        noise: float64 (L,), the stream's state: at each digit of n the noise of the
            tiles from the largest down to that digit's. Anything at the start.
        n: the number of leaves, at most 2^L - 1.
        scale: of a node's Laplace noise, L / ε for leaves in [0, 1].
        rng: one draw is taken from it.
    """
    digit = lowest_digit(n)
    value = laplace(rng, scale)
    above = n & (n - 1)
    if above:
        value += noise[lowest_digit(above)]
    noise[digit] = value
    return value
