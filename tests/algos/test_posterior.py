"""Chernoff's bound and tangents of Beta densities, draws beyond a level, and open rounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numba import njit
from scipy import special, stats

from algos.maths.posterior import (
    LEAST_EXPONENT,
    coins_up,
    contest,
    exponent,
    hazard,
    is_thinnable,
    log_density,
    opens,
    tangent,
    within,
)
from algos.random.continuous import exponential
from algos.random.seeding import state

# 12 samples, 10 chances and 3 tables of winners are tested, each at LEVEL: with fresh seeds a run
# fails with probability at most 3e-6.
LEVEL = 1e-7
TRIALS = 200_000


def shapes(rng: np.random.Generator, most: float) -> tuple[float, float, float]:
    """Two shapes, and a level below the mean."""
    a, b = 1.0 + 10.0 ** rng.uniform(-2, most, 2)
    n = a + b
    return a, b, a / n - rng.uniform(0, 8) * math.sqrt(a / n * b / n / n)


def test_densities_are_scipys() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3_000):
        a, b, x = shapes(rng, 5)
        if x > 0.0:
            expected = stats.beta.logpdf(x, a, b)
            assert log_density(x, 1.0 - x, a, b) == pytest.approx(expected, rel=1e-9, abs=1e-8)
    for a, b, x in ((1.0, 1.0, 0.3), (1.0, 9.0, 0.2), (40.0, 1.0, 0.9)):
        assert log_density(x, 1.0 - x, a, b) == pytest.approx(stats.beta.logpdf(x, a, b), abs=1e-13)


@pytest.mark.parametrize("n", [1e9, 1e12, 1e15, 1e18])
def test_densities_of_huge_posteriors_are_normal(n: float) -> None:
    a, b = 0.75 * n, 0.25 * n
    deviation = math.sqrt(0.75 * 0.25 / n)
    for z in (0.5, 2.0, 5.0):
        step = z * deviation
        got = log_density(0.75 - step, 0.25 + step, a, b) + math.log(deviation)
        assert got == pytest.approx(stats.norm.logpdf(z), rel=1e-3)


def test_tangents_and_chernoff_bound_the_tails() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5_000):
        a, b, x = shapes(rng, 4)
        if x <= 0.0:
            continue
        tail = special.betainc(a, b, x)
        assert tail <= math.exp(-exponent(x, 1.0 - x, a, b)) * (1 + 1e-9)
        assert tail <= tangent(1.0 - x, x, b, a)[0] * (1 + 1e-9)
        other = 1.0 - x
        assert special.betaincc(b, a, other) <= tangent(other, x, b, a)[0] * (1 + 1e-9)


def test_the_tangents_area_is_below_chernoffs_bound() -> None:
    """What thinning of the foremost arm's coin needs, on a grid; and that its conditions matter."""
    broken = 0
    for a in 1.0 + np.geomspace(1e-2, 1e6, 60):
        for b in 1.0 + np.geomspace(1e-2, 1e6, 60):
            for x in a / (a + b) * np.concatenate([np.linspace(0.02, 0.98, 30), [0.99, 0.999]]):
                E = exponent(x, 1.0 - x, a, b)
                if E >= LEAST_EXPONENT:
                    below = tangent(1.0 - x, x, b, a)[0] <= math.exp(-E) * (1 + 1e-9)
                    assert below or not is_thinnable(x, a, b)
                    broken += not below
    assert broken > 100


def test_hazards_grow_with_the_mean() -> None:
    """What a stretch of lazy_dp_ts needs: its rivals' coins have their chances from its end."""
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(5_000):
        n = 10.0 ** rng.uniform(0.1, 5)
        mean, later = np.sort(rng.random(2))
        x = rng.uniform(later, 1.0)
        one, _ = hazard(x, 1.0 - x, mean * n + 1.0, (1.0 - mean) * n + 1.0)
        two, _ = hazard(x, 1.0 - x, later * n + 1.0, (1.0 - later) * n + 1.0)
        assert one <= two * (1 + 1e-9)
        compared += 1e-300 < one < two < math.inf
    assert compared > 500


@njit
def openings(x, y, a, b, h, rng, count):
    """How far beyond x the draws are of coins that are up."""
    out = np.empty(count)
    for i in range(count):
        out[i] = opens(x, y, a, b, h, rng)
    return out


@pytest.mark.parametrize("slack", [1.0, 3.0])
@pytest.mark.parametrize(
    ("x", "a", "b"),
    [(0.7, 3.0, 4.0), (0.99, 30.0, 4.0), (0.6, 500.0, 500.0), (0.3, 1.0, 9.0), (0.9, 1.0, 2.0)],
)
def test_an_arm_opens_with_the_tail_as_its_chance(x, a, b, slack) -> None:
    """The chance and the law of the draw, also where the coin is up more often than need be."""
    y = 1.0 - x
    h = slack * hazard(x, y, a, b)[0]
    steps = openings(x, y, a, b, h, state(3), TRIALS)
    tail = special.betaincc(a, b, x)
    draws = x + steps[steps >= 0.0]
    chance = tail / -math.expm1(-h)
    assert stats.binomtest(len(draws), TRIALS, chance).pvalue > LEVEL
    assert stats.kstest(special.betaincc(a, b, draws) / tail, "uniform").pvalue > LEVEL
    # a mistake of 3 % in the chance would be seen
    assert stats.binomtest(len(draws), TRIALS, 0.97 * chance).pvalue < LEVEL


@njit
def open_winners(A, x, y, a, b, h, rng, count):
    """How often each arm wins, and in how many rounds no coin is up or none opens."""
    H = h.sum()
    up, theta = np.empty(a.size, np.bool_), np.empty(a.size)
    wins = np.zeros(a.size)
    t, rests = 0, 0
    point = exponential(rng) / H
    while True:
        before = int(point)
        t += before + 1
        rests += before
        if t > count:
            return wins, rests
        point = coins_up(point - (before + 1), h, H, up, rng)
        if contest(A, x, y, a, b, h, up, theta, rng):
            wins[np.argmax(theta)] += 1
        else:
            rests += 1


@pytest.mark.parametrize(
    ("A", "x", "a", "b"),
    [
        (0, 0.6, [19.0, 4.0, 3.0], [3.0, 7.0, 8.0]),
        (2, 0.65, [3.0, 2.0, 60.0, 5.0], [9.0, 5.0, 20.0, 9.0]),
        (1, 0.45, [5.0, 50.0], [15.0, 50.0]),
    ],
)
def test_winners_are_those_of_all_draws(A, x, a, b) -> None:
    """Rounds of every posterior drawn, and rounds with coins; a χ² test each."""
    shape_a, shape_b = np.array(a), np.array(b)
    h = np.array([hazard(x, 1.0 - x, *pair)[0] if j != A else 0.0
                  for j, pair in enumerate(zip(a, b, strict=True))])  # fmt: skip
    h[A] = -math.log1p(-math.exp(-exponent(x, 1.0 - x, a[A], b[A])))
    assert h.sum() < 3.0
    wins, rests = open_winners(A, x, 1.0 - x, shape_a, shape_b, h, state(4), TRIALS)
    wins[A] += rests
    h[A] = 0.0
    without, rests = open_winners(A, x, 1.0 - x, shape_a, shape_b, h, state(4), TRIALS)
    without[A] += rests
    theta = np.random.default_rng(5).beta(shape_a, shape_b, (TRIALS, len(a)))
    expected = np.bincount(theta.argmax(axis=1), minlength=len(a))
    assert stats.chi2_contingency(np.array([wins, expected])).pvalue > LEVEL
    if len(a) == 2:  # where arm A's own openings are seen too
        assert stats.chi2_contingency(np.array([without, expected])).pvalue < LEVEL


@njit
def sides(x, above, a, b, rng, count):
    """Draws from one side."""
    out = np.empty(count)
    for i in range(count):
        out[i] = within(x, above, a, b, rng)
    return out


@pytest.mark.parametrize("above", [True, False])
def test_a_side_has_the_law_of_the_whole_cut_there(above) -> None:
    draws = sides(0.4, above, 3.0, 4.0, state(6), TRIALS)
    low, high = (
        (special.betainc(3.0, 4.0, 0.4), 1.0) if above else (0.0, special.betainc(3, 4, 0.4))
    )
    uniform = (special.betainc(3.0, 4.0, draws) - low) / (high - low)
    assert stats.kstest(uniform, "uniform").pvalue > LEVEL
