"""Beta tails, draws from one side of a level, and the winner of a round that is open."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import special, stats

from algos.maths.posterior import (
    chance_of_some,
    draw_side,
    lower_tail,
    open_chances,
    rounds_before,
    winner_when_open,
)

# 14 samples, two statistics and 3 winners are tested, each at LEVEL: with fresh seeds a run fails
# with probability at most 2e-6.
LEVEL = 1e-7
DRAWS = 20_000


def test_tails_are_scipys() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5_000):
        a, b = 1.0 + 10.0 ** rng.uniform(-2, 5, 2)
        mean, n = a / (a + b), a + b
        x = mean - np.sqrt(mean * (1 - mean) / n) * rng.uniform(-8, 8)
        expected = special.betainc(a, b, x) if 0 < x < 1 else float(x >= 1)
        if expected > 1e-30:
            assert lower_tail(x, a, b) == pytest.approx(expected, rel=1e-9)


def test_tails_of_huge_posteriors_are_normal() -> None:
    a, b = 3e11, 1e11
    sd = np.sqrt(a / (a + b) * b / (a + b) / (a + b))
    for z in (0.5, 2.0, 5.0):
        assert lower_tail(0.75 - z * sd, a, b) == pytest.approx(stats.norm.cdf(-z), rel=1e-4)


@njit
def sides(above, x, a, b, q, rng, count):
    """Draws from one side."""
    out = np.empty(count)
    for i in range(count):
        out[i] = draw_side(above, x, a, b, q, rng)
    return out


@pytest.mark.parametrize(
    ("above", "x", "a", "b"),
    [
        (True, 0.5, 3.0, 4.0),
        (True, 0.9, 3.0, 4.0),
        (True, 0.99, 30.0, 4.0),
        (True, 0.9995, 129.0, 1.0),
        (True, 0.9999, 40.0, 1.02),
        (True, 0.6, 500.0, 500.0),
        (True, 0.501, 1.0, 9.0),
        (False, 0.5, 3.0, 4.0),
        (False, 0.05, 3.0, 4.0),
        (False, 0.01, 1.0, 1.0),
        (False, 0.003, 1.0, 20.0),
        (False, 0.4, 500.0, 500.0),
        (False, 0.8, 900.0, 100.0),
        (False, 0.74, 3e5, 1e5),
    ],
)
def test_a_side_has_the_law_of_the_whole_cut_there(above, x, a, b) -> None:
    below = special.betainc(a, b, x)
    q = special.betaincc(a, b, x) if above else below
    draws = sides(above, x, a, b, q, np.random.default_rng(1), DRAWS)
    assert ((draws >= x) if above else (draws <= x)).all()
    if above:  # uniform on (0, 1) if the law is right; from the tail, where digits are kept
        uniform = special.betaincc(a, b, draws) / q
    else:
        uniform = special.betainc(a, b, draws) / q
    assert stats.kstest(uniform, "uniform").pvalue > LEVEL


@njit
def open_winners(A, x, a, b, rng, count):
    """How often each arm wins an open round."""
    q, theta = np.empty(a.size), np.empty(a.size)
    open_chances(A, x, a, b, q)
    wins = np.zeros(a.size)
    for _ in range(count):
        wins[winner_when_open(A, x, a, b, q, theta, rng)] += 1
    return wins, chance_of_some(q, 0)


@pytest.mark.parametrize(
    ("A", "x", "a", "b"),
    [
        (0, 0.6, [9.0, 4.0, 3.0], [3.0, 5.0, 6.0]),
        (2, 0.7, [3.0, 2.0, 60.0, 5.0], [4.0, 2.0, 20.0, 5.0]),
        (1, 0.45, [5.0, 50.0], [15.0, 50.0]),
    ],
)
def test_the_winner_of_an_open_round(A, x, a, b) -> None:
    """Against all posteriors drawn, rounds that are not open thrown away: a χ² test each."""
    shapes = np.array(a), np.array(b)
    theta = np.random.default_rng(2).beta(*shapes, (400_000, len(a)))
    over = theta > x
    over[:, A] = ~over[:, A]
    opened = over.any(axis=1)
    expected = np.bincount(theta[opened].argmax(axis=1), minlength=len(a))
    wins, chance = open_winners(A, x, *shapes, np.random.default_rng(3), 100_000)
    assert stats.chi2_contingency(np.array([wins, expected])).pvalue > LEVEL
    assert stats.binomtest(int(opened.sum()), len(opened), chance).pvalue > LEVEL


def test_rounds_before_a_success_are_geometric() -> None:
    rng = np.random.default_rng(4)
    for p in (0.3, 1e-3):
        waits = np.array([rounds_before(p, rng) for _ in range(DRAWS)])
        bins = np.unique(stats.geom.ppf(np.linspace(0, 1, 9)[1:-1], p) - 1)
        counts = np.bincount(np.searchsorted(bins, waits), minlength=len(bins) + 1)
        edges = stats.geom.cdf(bins + 1, p)
        expected = np.diff(np.concatenate([[0.0], edges, [1.0]])) * DRAWS
        assert stats.chisquare(counts, expected).pvalue > LEVEL
    assert rounds_before(0.0, rng) == np.inf
