"""The KL index against a root finder in extended precision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from algos.maths.kl import divergence, lower_gap, upper_index, upper_rank


def plain(p: float, q: float) -> np.longdouble:
    """d(p, q) from its definition, in extended precision."""
    p, q = np.longdouble(p), np.longdouble(q)
    first = p * np.log(p / q) if p > 0 else np.longdouble(0)
    second = (1 - p) * np.log((1 - p) / (1 - q)) if p < 1 else np.longdouble(0)
    return first + second


def bisected(p: float, level: float) -> float:
    """max{q in [p, 1] : d(p, q) ≤ level} by bisection."""
    low, high = np.longdouble(p), np.longdouble(1)
    for _ in range(120):
        middle = (low + high) / 2
        if middle < 1 and plain(p, middle) <= level:
            low = middle
        else:
            high = middle
    return float(low)


@pytest.mark.parametrize("p", [0.0, 1e-12, 1e-3, 0.1, 0.5, 0.8, 0.999, 1 - 1e-12, 1.0])
@pytest.mark.parametrize("level", [0.0, 1e-9, 1e-4, 0.03, 0.5, 3.0, 40.0, 1e4])
def test_index_is_the_root(p, level):
    found = upper_index(p, level)
    assert p <= found <= 1.0
    assert found == pytest.approx(bisected(p, level), rel=1e-9, abs=1e-13)


def test_index_keeps_its_digits_for_huge_samples():
    # For small levels d(p, p + x) = x² / (2 p (1 - p)) (1 + O(x)).
    for p in (0.1, 0.5, 0.8):
        for level in (1e-14, 1e-16):
            x = upper_index(p, level) - p
            assert x == pytest.approx(math.sqrt(2 * p * (1 - p) * level), rel=1e-6)


def test_index_grows_with_its_arguments():
    means = np.linspace(0, 1, 201)
    for level in (1e-3, 0.1, 2.0):
        index = [upper_index(p, level) for p in means]
        assert (np.diff(index) >= 0).all()
    levels = np.geomspace(1e-8, 10, 400)
    assert (np.diff([upper_index(0.37, level) for level in levels]) > 0).all()


def test_divergence_at_its_ends():
    assert divergence(0.3, 0.0) == 0.0
    assert divergence(0.3, 0.7) == math.inf
    assert divergence(1.0, 0.0) == 0.0
    assert divergence(0.0, 0.5) == pytest.approx(math.log(2))
    assert divergence(0.25, 0.5) == pytest.approx(float(plain(0.25, 0.75)))


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("level", [1e-12, 1e-3, 0.5, 5.0, 50.0, 300.0])
def test_rank_is_the_index_past_the_resolution_of_one(p, level):
    z = np.longdouble(upper_rank(p, level))
    q = -np.expm1(-z)  # d(p, q) with ln(1 - q) = -z exactly
    value = (1 - np.longdouble(p)) * (np.log1p(-np.longdouble(p)) + z)
    if p > 0:
        value += p * np.log(p / q)
    assert float(value) == pytest.approx(level, rel=1e-9, abs=1e-15)


def test_rank_orders_what_rounds_to_one():
    assert upper_index(0.9, 5.0) == upper_index(0.99, 5.0) == upper_index(0.9, 6.0) == 1.0
    assert upper_rank(0.9, 5.0) < upper_rank(0.9, 6.0) < upper_rank(0.99, 5.0) < math.inf
    assert upper_rank(1.0, 5.0) == math.inf


@pytest.mark.parametrize("rest", [1e-12, 1e-4, 0.1, 0.25, 0.5, 0.9, 1 - 1e-6])
@pytest.mark.parametrize("level", [1e-12, 1e-9, 1e-4, 0.03, 0.5, 3.0, 30.0])
def test_lower_gap_is_the_root(rest, level):
    q = 1 - np.longdouble(rest)
    low, high = np.longdouble(0), q  # d(p, q) falls with p
    for _ in range(200):
        middle = (low + high) / 2
        x = q - middle
        up, down = np.log1p(x / middle), np.log1p(x / np.longdouble(rest))
        if (np.longdouble(rest) + x) * down - middle * up <= level:
            high = middle
        else:
            low = middle
    assert lower_gap(rest, level) == pytest.approx(float(q - high), rel=1e-7, abs=1e-18)


def test_lower_gap_at_its_ends():
    assert lower_gap(0.5, 0.0) == 0.0
    assert lower_gap(0.5, 1.0) == 0.5
    assert lower_gap(0.5, math.log(2)) == 0.5
