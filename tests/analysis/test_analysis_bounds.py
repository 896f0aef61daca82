"""Bounds against numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis import bounds

AZIZE_FIG3 = [0.8, 0.1, 0.1, 0.1, 0.1]
# kl(0.1, 0.8) = 0.1 ln(1/8) + 0.9 ln(4.5) = -0.207944 + 1.353670
KL = 1.1457256


def test_kl_bernoulli() -> None:
    assert bounds.kl_bernoulli(0.1, 0.8) == pytest.approx(KL, abs=1e-6)
    assert bounds.kl_bernoulli(0.3, 0.3) == 0
    assert bounds.kl_bernoulli(0.0, 0.5) == pytest.approx(math.log(2))
    assert bounds.kl_bernoulli(1.0, 0.5) == pytest.approx(math.log(2))
    assert bounds.kl_bernoulli(0.5, 1.0) == math.inf
    assert bounds.kl_bernoulli([0.2, 0.4], 0.5).shape == (2,)
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        bounds.kl_bernoulli(1.1, 0.5)


@pytest.mark.parametrize(
    ("epsilon", "expected"),
    [
        (math.inf, 4 * 0.7 / KL),  # low privacy: 2.443866
        (1.0, 4 * 0.7 / KL),  # 6 * 0.7 = 4.2 > kl: still the bound without privacy
        (0.1, 4 / 0.6),  # 6 * 0.1 * 0.7 = 0.42 < kl: each arm 0.7 / 0.42 = 1 / 0.6
    ],
)
def test_lower_bound_of_azize_fig3(epsilon: float, expected: float) -> None:
    assert bounds.lower_bound_slope(AZIZE_FIG3, epsilon) == pytest.approx(expected, rel=1e-6)


def test_knee_of_the_lower_bound() -> None:
    found = bounds.lower_bound_knee(AZIZE_FIG3)
    assert found.low == pytest.approx(KL / 4.2, rel=1e-6)  # 0.272792
    assert (found.high, found.pooled) == pytest.approx((found.low, found.low))
    # Gaps 0.1 and 0.4 to 0.6: pooled solves 0.1/kl1 + 0.4/kl2 = 2/(6 eps).
    mixed = bounds.lower_bound_knee([0.6, 0.5, 0.2])
    first = 0.5 * math.log(0.5 / 0.6) + 0.5 * math.log(0.5 / 0.4)
    second = 0.2 * math.log(0.2 / 0.6) + 0.8 * math.log(0.8 / 0.4)
    assert mixed.per_arm == pytest.approx([first / 0.6, second / 2.4])
    assert mixed.pooled == pytest.approx(2 / (6 * (0.1 / first + 0.4 / second)))
    assert mixed.low < mixed.pooled < mixed.high


def test_bound_is_continuous_at_its_knee() -> None:
    """The two terms of equation (4) are equal at its knee, arm by arm."""
    epsilon = bounds.lower_bound_knee(AZIZE_FIG3).low
    gap = bounds.gaps(AZIZE_FIG3)
    assert bounds.d_inf(AZIZE_FIG3) == pytest.approx(6 * epsilon * bounds.t_inf(AZIZE_FIG3))
    assert bounds.lower_bound_slope(AZIZE_FIG3, epsilon) == pytest.approx(
        np.sum(gap / (6 * epsilon * gap))
    )


def test_without_suboptimal_arms_or_room_above() -> None:
    assert bounds.lower_bound_slope([0.5, 0.5], 0.1) == 0
    assert math.isnan(bounds.lower_bound_knee([0.5, 0.5]).pooled)
    # No Bernoulli mean exceeds 1: both infima run over an empty set.
    assert bounds.lower_bound_slope([1.0, 0.5], 0.1) == 0
    assert math.isnan(bounds.lower_bound_knee([1.0, 0.5]).low)


def test_minimax() -> None:
    assert bounds.minimax_threshold(100, 1e6) == pytest.approx(0.00205075, rel=1e-5)
    threshold = bounds.minimax_threshold(5, 10**6)
    terms = math.sqrt(4e6) / 27, 4 / (131 * threshold)
    assert terms[0] == pytest.approx(terms[1])
    assert bounds.minimax_lower_bound(5, 10**6, threshold) == pytest.approx(terms[0])
    assert bounds.minimax_lower_bound(5, 10**6, threshold / 10) == pytest.approx(10 * terms[0])
    assert bounds.minimax_lower_bound(5, 10**6) == pytest.approx(2000 / 27)


def test_adap_ucb_upper_bound() -> None:
    # 4 arms of gap 0.7 at eps = 0.1: 4 (24 * 3.1 * ln(1e7) / 0.1 + 3 * 3.1 / 0.1)
    expected = 4 * (744 * math.log(1e7) + 93)
    assert bounds.adap_ucb_upper_bound(AZIZE_FIG3, 1e7, 0.1) == pytest.approx(expected)
    # Above the gap, eps no longer matters.
    assert bounds.adap_ucb_upper_bound(AZIZE_FIG3, 1e7, 5.0) == pytest.approx(
        4 * (74.4 / 0.7 * math.log(1e7) + 93)
    )


def test_constant_of_theorem_7_follows_from_its_proof() -> None:
    """4x the smallest 2^l with gamma >= 0 stays below 24 alpha log T/(gap min{gap, eps})."""
    alpha_log = 3.1 * math.log(1e7)
    for gap in np.geomspace(1e-3, 1, 20):
        for epsilon in np.geomspace(1e-3, 10, 20):
            root = math.sqrt(alpha_log / (2 * gap**2)) * (1 + math.sqrt(1 + 4 * gap / epsilon))
            assert 4 * root**2 <= 24 * alpha_log / (gap * min(gap, epsilon)) * (1 + 1e-12)


@pytest.mark.parametrize("means", [[], [0.5, 1.2], [0.5, float("nan")]])
def test_means_are_checked(means: list[float]) -> None:
    with pytest.raises(ValueError, match="means"):
        bounds.lower_bound_slope(means)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_epsilon_is_checked(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        bounds.lower_bound_slope(AZIZE_FIG3, epsilon)
