"""Bounds on the regret of ε-DP stochastic bandits, as plain functions.

Source: Azize and Basu 2022, "When privacy meets partial information". Gaps Δ_a = μ* - μ_a are
in units of reward, regret in units of reward, ε is dimensionless and log is natural.

The problem-dependent quantities are those of Bernoulli rewards, over the class M of Bernoulli
distributions: d_inf = kl(μ_a, μ*) and t_inf = Δ_a (paper, text after Theorem 3). For other
distributions callers report NaN rather than a bound that was not proved for them. With μ* = 1
no distribution of M has a larger mean, so both infima run over an empty set and are infinite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class LowerBoundKnee(NamedTuple):
    """Where Theorem 3's two terms are equal.

    per_arm: d_inf/(6·t_inf) of every suboptimal arm, shape (suboptimal arms,).
    low, high: the smallest and the largest of them.
    pooled: the ε at which the sums over the arms, Σ Δ/d_inf and Σ Δ/(6 ε t_inf), are equal.
    """

    per_arm: Floats
    low: float
    high: float
    pooled: float


def kl_bernoulli(p: ArrayLike, q: ArrayLike) -> Floats:
    """Return kl(Bernoulli(p), Bernoulli(q)) in nats, elementwise, with 0·log 0 = 0."""
    p, q = np.broadcast_arrays(np.asarray(p, float), np.asarray(q, float))
    if not (np.all((p >= 0) & (p <= 1)) and np.all((q >= 0) & (q <= 1))):
        raise ValueError("kl_bernoulli: p and q must lie in [0, 1]")
    with np.errstate(divide="ignore", invalid="ignore"):
        ones = np.where(p > 0, p * np.log(p / q), 0.0)
        zeros = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.maximum(ones + zeros, 0.0)


def gaps(means: Sequence[float] | Floats) -> Floats:
    """Return the positive gaps μ* - μ_a, in the order of the arms; best arms are left out."""
    return _suboptimal(means)[2]


def d_inf(means: Sequence[float] | Floats) -> Floats:
    """Return kl(μ_a, μ*) of every suboptimal arm: the KL-distinguishability gap."""
    best, worse, _ = _suboptimal(means)
    return kl_bernoulli(worse, best)


def t_inf(means: Sequence[float] | Floats) -> Floats:
    """Return Δ_a of every suboptimal arm: the total-variation distinguishability gap."""
    best, _, gap = _suboptimal(means)
    return gap if best < 1 else np.full(gap.shape, math.inf)


def lower_bound_slope(means: Sequence[float] | Floats, epsilon: float = math.inf) -> float:
    """Return lim inf of regret/log T for consistent ε-DP policies (Theorem 3, equation (4)).

    The value is Σ_a Δ_a / min(d_inf, 6 ε t_inf) over the suboptimal arms; ε = inf gives the
    bound of Lai and Robbins. It is 0 when every arm is best, and when μ* = 1.
    """
    if not epsilon > 0:
        raise ValueError(f"lower_bound_slope: epsilon must be positive, got {epsilon}")
    return float(np.sum(gaps(means) / np.minimum(d_inf(means), 6 * epsilon * t_inf(means))))


def lower_bound_knee(means: Sequence[float] | Floats) -> LowerBoundKnee:
    """Return the ε at which the two terms of Theorem 3's bound are equal, per arm and pooled.

    The bound does not depend on ε above `high`, and goes as 1/ε below `low`. In between, where
    `pooled` is too, it depends on ε through some of the arms.

    It is a property of the bound, whose factor 6 comes from its proof: an algorithm has a knee
    of its own.

    NaN when no arm is suboptimal or μ* = 1, where the bound has no transition.
    """
    gap, kl, tv = gaps(means), d_inf(means), t_inf(means)
    if gap.size == 0 or not np.all(np.isfinite(tv)):
        return LowerBoundKnee(np.full(gap.shape, math.nan), math.nan, math.nan, math.nan)
    per_arm = kl / (6 * tv)
    pooled = float(np.sum(gap / (6 * tv)) / np.sum(gap / kl))
    return LowerBoundKnee(per_arm, float(per_arm.min()), float(per_arm.max()), pooled)


def minimax_lower_bound(K: int, T: float, epsilon: float = math.inf) -> float:
    """Return max{√(T(K-1))/27, (K-1)/(131 ε)} (Theorem 2, equation (3)).

    The instances behind it are unit-variance Gaussians: for rewards in [0, 1] the second term
    can exceed T, the largest regret there is.
    """
    _check_minimax(K, T)
    if not epsilon > 0:
        raise ValueError(f"minimax_lower_bound: epsilon must be positive, got {epsilon}")
    return max(math.sqrt(T * (K - 1)) / 27, (K - 1) / (131 * epsilon))


def minimax_threshold(K: int, T: float) -> float:
    """Return (27/131)·√((K-1)/T), the ε at which the two terms of equation (3) are equal.

    The text after Theorem 2 prints the constant inverted, 131/27; equating the two terms of
    equation (3) gives 27/131.
    """
    _check_minimax(K, T)
    return 27 / 131 * math.sqrt((K - 1) / T)


def adap_ucb_upper_bound(
    means: Sequence[float] | Floats, T: float, epsilon: float, alpha: float = 3.1
) -> float:
    """Return Theorem 7's bound on the regret of AdaP-UCB at T; rewards in [0, 1], alpha > 3.

    Σ_a (24 alpha log T / min{Δ_a, ε} + 3 alpha/(alpha - 3)). The paper prints 16, which its
    proof reaches by bounding 2/Δ² + 4/(Δε) by 4/(Δ min{ε, 2Δ}); that holds only with another
    factor of up to 2. With min{Δ, ε} the sum is at most 6/(Δ min{Δ, ε}), and doubling and
    forgetting multiply it by 4.
    """
    if not alpha > 3:
        raise ValueError(f"adap_ucb_upper_bound: alpha must exceed 3, got {alpha}")
    if not epsilon > 0:
        raise ValueError(f"adap_ucb_upper_bound: epsilon must be positive, got {epsilon}")
    leading = 24 * alpha * math.log(T) / np.minimum(gaps(means), epsilon)
    return float(np.sum(leading + 3 * alpha / (alpha - 3)))


def _suboptimal(means: Sequence[float] | Floats) -> tuple[float, Floats, Floats]:
    """Return (best mean, means of the suboptimal arms, their gaps)."""
    values = np.asarray(means, float)
    if values.ndim != 1 or values.size == 0:
        raise ValueError("means must be a non-empty list of numbers")
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("means must lie in [0, 1]")
    best = float(values.max())
    worse = values[values < best]
    return best, worse, best - worse


def _check_minimax(K: int, T: float) -> None:
    if K < 2 or T < K - 1:
        raise ValueError(f"Theorem 2 needs K > 1 and T >= K - 1, got K = {K}, T = {T}")
