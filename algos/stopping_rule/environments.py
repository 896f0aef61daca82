"""Environments of the `stopping_rule` family: one stream of samples in [-R, R] with mean μ.

`pull(env, rng, 0, t, n)` is the sum of the samples t … t + n - 1; kernels read the field `R`, and
ask `quiet` how far a sum of samples can be left alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.dispatch import implements, seam
from algos.environments import pull
from algos.random.discrete import binomial
from algos.random.generator import Rng, uniform

CHANCE = 1e-20
WIDTH = math.sqrt(2.0 * math.log(2.0 / CHANCE))  # in deviations R √n


class TwoPoint(NamedTuple):
    """R with probability `up`, else -R. A block is one binomial draw: O(1)."""

    up: float  # (1 + μ/R) / 2
    R: float
    means: np.ndarray  # float64 (1,)


class BoundedUniform(NamedTuple):
    """Uniform on [low, low + width]. A block sums its draws: O(n)."""

    low: float
    width: float
    R: float
    means: np.ndarray  # float64 (1,)


class SampleTable(NamedTuple):
    """samples[t - 1] in round t: nothing is drawn. A block sums its entries: O(n)."""

    samples: np.ndarray  # float64 (rounds,) in [-R, R], read-only
    R: float
    means: np.ndarray  # float64 (1,), the samples' mean


@implements(pull, TwoPoint)
def pull_two_point(env: TwoPoint, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """One binomial draw."""
    if n == 1:  # the same law as Binomial(1, up), an order of magnitude cheaper
        return env.R if uniform(rng) < env.up else -env.R
    return env.R * float(2 * binomial(rng, n, env.up) - n)


@implements(pull, BoundedUniform)
def pull_bounded_uniform(
    env: BoundedUniform, rng: Rng, arm: int, t: int, n: int, step: int = 1
) -> float:
    """One draw a round."""
    total = 0.0
    for _ in range(n):
        total += env.low + env.width * uniform(rng)
    return total


@implements(pull, SampleTable)
def pull_sample_table(env: SampleTable, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """The sum of the samples asked for."""
    total = 0.0
    for i in range(n):
        total += env.samples[t - 1 + i * step]
    return total


@seam
def quiet(env: Any, room: float) -> float:
    """For how many rounds |sum of the samples| rises by at most `room`, but for a chance of CHANCE.

    A whole number, 0 where nothing can be said but that a sample is at most R.
    """
    raise NotImplementedError


@implements(quiet)
def never_quiet(env: Any, room: float) -> float:
    """For environments whose samples are no independent draws."""
    return 0.0


@implements(quiet, TwoPoint, BoundedUniform)
def quiet_draws(env: TwoPoint | BoundedUniform, room: float) -> float:
    """The largest n with n |μ| + WIDTH R √n ≤ room.

    The sum drifts by |μ| a round, and within n rounds departs from that by x or more with chance at
    most 2 exp(-x²/(2nR²)) (Hoeffding's maximal inequality).
    """
    if room <= 0.0:
        return 0.0
    spread = WIDTH * env.R
    root = 2.0 * room / (spread + math.sqrt(spread * spread + 4.0 * abs(env.means[0]) * room))
    return np.floor(root * root)
