"""The tree mechanism: which node's noise is in which released sum, exactly and measured."""

from collections.abc import Callable

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from reference.bandit.dp_ucb import height, tiles

from algos.maths.tree import levels, prefix_noise
from algos.random.continuous import laplace
from algos.random.seeding import state

Floats = NDArray[np.float64]
Count = Callable[[int, int], int]

N = 1024
RUNS = 20_000
SCALE = 1.5


@njit
def noises(rng, count, L, scale):
    """The noise of the released sums 1..count of one stream."""
    stream = np.full(L, np.nan)
    out = np.empty(count)
    for n in range(1, count + 1):
        out[n - 1] = prefix_noise(stream, n, scale, rng)
    return out


@njit
def moments(rng, runs, count, L, scale, chosen):
    """Mean squares of the sums' noises (count,), mean products of those chosen (m, m)."""
    squares = np.zeros(count)
    products = np.zeros((chosen.size, chosen.size))
    for _ in range(runs):
        out = noises(rng, count, L, scale)
        squares += out * out
        some = out[chosen - 1]
        products += np.outer(some, some)
    return squares / runs, products / runs


def test_levels_are_floor_log2_plus_one() -> None:
    for T in (1, 2, 3, 4, 7, 8, 9, 1023, 1024, 1025, 5 * 10**6, 2**53 - 1, 2**53, 10**18, 2**61):
        assert levels(T) == T.bit_length() == height(T)


@pytest.mark.parametrize("T", [N, 1000, 1023])
def test_every_sum_carries_the_noise_of_its_tiles_each_drawn_once(T: int) -> None:
    """Draw number n is the noise of the node that ends at leaf n, wherever it is used again."""
    rng = state(3)
    draws = [laplace(rng, SCALE) for _ in range(T)]
    expected = [
        sum(draws[(number + 1) * 2**level - 1] for level, number in tiles(n))
        for n in range(1, T + 1)
    ]
    out = noises(state(3), T, levels(T), SCALE)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    assert max(level for n in range(1, T + 1) for level, _ in tiles(n)) == levels(T) - 1


def test_tiles_are_the_binary_digits() -> None:
    for n in range(1, N + 1):
        assert len(tiles(n)) == n.bit_count()
        leaves = [
            leaf
            for level, number in tiles(n)
            for leaf in range(number * 2**level, (number + 1) * 2**level)
        ]
        assert leaves == list(range(n))


def shared(n: int, m: int) -> int:
    """How many nodes the sums after n and after m leaves have in common."""
    return len(set(tiles(n)) & set(tiles(m)))


def largest_z(scale: float, count: Count) -> float:
    """How far measured variances and covariances are from `count` nodes' worth, in errors.

    A node has variance v = 2 scale² and fourth moment 6 v². With s nodes in common and a, b
    others, E[(S + A)² (S + B)²] = v² (3 s² + 3 s + s (a + b) + a b).
    """
    chosen = np.sort(np.random.default_rng(5).choice(N, 48, replace=False)) + 1
    squares, products = moments(state(4), RUNS, N, levels(N), SCALE, chosen.astype(np.int64))
    v = 2.0 * scale**2
    nodes = np.array([count(n, n) for n in range(1, N + 1)], float)
    z = [(squares - v * nodes) / (v * np.sqrt((2.0 * nodes**2 + 3.0 * nodes) / RUNS))]
    s = np.array([[count(n, m) for m in chosen.tolist()] for n in chosen.tolist()], float)
    own = nodes[chosen - 1]
    a, b = own[:, None] - s, own[None, :] - s
    spread = 3.0 * s**2 + 3.0 * s + s * (a + b) + a * b - s**2
    z.append(((products - v * s) / (v * np.sqrt(spread / RUNS))).ravel())
    return float(np.abs(np.concatenate(z)).max())


def test_measured_variances_and_covariances_are_those_of_the_nodes() -> None:
    """Every variance up to n = 1024, and all covariances among 48 of the sums.

    Failure probability below 4e-6 with fresh seeds: 2,200 distinct z of which each passes 6.5
    with probability 8e-11 by the normal law, and at most twenty times that with the skewness of
    squared Laplace variables at this many runs.
    """
    assert largest_z(SCALE, shared) < 6.5


@pytest.mark.parametrize(
    ("scale", "count"),
    [
        (0.5 * SCALE, shared),
        (SCALE, lambda n, m: shared(n, m) if n != m else min(n.bit_length(), 10)),
        (SCALE, lambda n, m: shared(n, m) if n == m else 0),
        (SCALE, lambda n, m: shared(n, m) if n == m else min(n, m).bit_count()),
    ],
    ids=["half the noise", "every level in every sum", "noise drawn anew", "nested sums"],
)
def test_another_mechanism_would_be_told_apart(scale: float, count: Count) -> None:
    def clipped(n: int, m: int) -> int:
        return min(count(n, m), n.bit_count() if n != m else N, m.bit_count() if n != m else N)

    assert largest_z(scale, clipped) > 6.5
