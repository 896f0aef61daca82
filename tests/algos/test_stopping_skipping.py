"""Long leaps of the stopping rules: the bound they rest on, their law, and far horizons.

The law: rounds used and estimate of 10^4 replicates against a plain compiled loop over every
sample, two Kolmogorov-Smirnov tests each at level 1e-6/12. With fresh seeds right kernels fail with
probability at most 1e-6; the seeds are fixed.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from scipy import stats

from algos import simulate
from algos.instances import resolve
from algos.random.continuous import laplace
from algos.random.generator import Rng, uniform
from algos.random.seeding import state
from algos.stopping_rule.environments import CHANCE, WIDTH, quiet

RUNS = 10_000
LEVEL = 1e-6 / 12


@njit
def stops(
    rng: Rng, mu: float, alpha: float, beta: float, epsilon: float, noise: float, T: int
) -> tuple[int, float]:
    """The boxes of nas (epsilon = inf) and dp_nas, sample by sample, on a two-point stream.

    `noise` scales the noise of the tests, for a planted mistake.
    """
    sigma, sigma_3, S = 12.0 / epsilon, 4.0 / epsilon, 0.0
    private = sigma > 0.0
    wide = 16.0 if private else 4.0
    B = laplace(rng, noise * sigma)
    for t in range(1, T + 1):
        S += 1.0 if uniform(rng) < 0.5 + 0.5 * mu else -1.0
        barrier = sqrt(2.0 * t * log(wide * float(t) ** 2 / beta)) * (1.0 + 1.0 / alpha)
        if private:
            barrier += sigma * (log(4.0 / beta) + log(8.0 * float(t) ** 2 / beta))
            barrier += sigma_3 / alpha * log(4.0 / beta)
        if abs(S) >= barrier + B + laplace(rng, noise * sigma):
            return t, (S + laplace(rng, sigma_3)) / t
    return T, np.nan


@njit
def many_stops(
    rng: Rng, mu: float, alpha: float, beta: float, epsilon: float, noise: float, T: int, runs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    times, estimates = np.empty(runs), np.empty(runs)
    for run in range(runs):
        times[run], estimates[run] = stops(rng, mu, alpha, beta, epsilon, noise, T)
    return times, estimates


# μ, α, β, ε; of nas with μ = 0.12 a part is cut off
LAWS = {
    "nas": [(0.5, 0.3, 0.05, np.inf), (-0.3, 0.6, 0.3, np.inf), (0.12, 0.9, 0.9, np.inf)],
    "dp_nas": [(0.5, 0.5, 0.3, 3.0), (-0.8, 0.7, 0.05, 0.3), (0.2, 0.9, 0.9, 5.0)],
}
CUT = 10_000


def rejected(name: str, case: int, noise: float = 1.0, mu: float | None = None) -> list[str]:
    """The tests that reject that kernel and plain loop have one law."""
    right, alpha, beta, epsilon = LAWS[name][case]
    times, estimates = many_stops(
        state(9), right if mu is None else mu, alpha, beta, epsilon, noise, CUT, RUNS
    )
    given = {"name": "two_point", "mu": right}
    keywords = {"alpha": alpha, "beta": beta} | ({"epsilon": epsilon} if name == "dp_nas" else {})
    got = simulate(name, given, T=CUT, replicates=RUNS, seed=1, **keywords)
    assert len(np.unique(times)) > 100, "the setting leaves nothing to compare"
    assert np.isfinite(estimates).mean() > 0.05
    found = []
    for what, one, other in (
        ("rounds", got.stop_time.astype(float), times),
        ("estimate", got.estimate[got.halted], estimates[np.isfinite(estimates)]),
    ):
        ks = stats.ks_2samp(np.round(one, 12), np.round(other, 12), method="asymp")
        if ks.pvalue < LEVEL:
            found.append(f"{what}: KS distance {ks.statistic:.3f}, p = {ks.pvalue:.2g}")
    return found


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("case", range(3))
def test_long_leaps_keep_the_law(name: str, case: int) -> None:
    assert rejected(name, case) == []


def test_planted_mistakes_are_noticed() -> None:
    assert rejected("nas", 0, mu=0.505) != []
    assert rejected("dp_nas", 1, noise=1.5) != []


@pytest.mark.parametrize("mu", [0.0, 0.003, -0.4])
@pytest.mark.parametrize("R", [1.0, 3.0])
def test_the_sum_stays_within_its_room(mu: float, R: float) -> None:
    """By twice the exact tail at the end (reflection); a width smaller by a tenth does not do."""
    env = resolve({"name": "two_point", "mu": mu * R, "R": R}).environment
    room = 1e6 * R
    n = quiet(env, room)
    assert n > 10 * room / R * (mu == 0.0) and n * abs(mu) < 1e6
    beyond = 1e6 - n * abs(mu)  # in R
    for width, enough in ((1.0, True), (0.9, False)):
        heads = n * (0.5 + 0.5 * abs(mu)) + 0.5 * width * beyond
        chance = 4.0 * stats.binom.sf(heads, int(n), 0.5 + 0.5 * abs(mu))
        assert (chance < CHANCE) == (enough or mu == -0.4)  # a variance below R² is no loss
    assert beyond == pytest.approx(WIDTH * sqrt(n), rel=1e-4)


@pytest.mark.parametrize("room", [-5.0, 0.0, 0.5, 50.0])
def test_little_room_is_no_leap(room: float) -> None:
    env = resolve({"name": "two_point", "mu": 0.1}).environment
    assert 0.0 <= quiet(env, room) < max(1.0, room)
    table = resolve({"name": "sample_table", "samples": [0.5, 0.1]}).environment
    assert quiet(table, 1e9) == 0.0


@pytest.mark.parametrize("name", ["nas", "dp_nas", "dp_exp_nas"])
def test_mean_zero_is_played_to_the_end(name: str) -> None:
    """Leaps are in proportion to t: 100 seeds at each horizon are a matter of microseconds."""
    for T in (10**10, 10**12, 10**15, 10**18):
        result = simulate(name, {"name": "two_point", "mu": 0.0}, epsilon=1.0, T=T, replicates=100)
        assert (result.stop_time == T).all() and not result.halted.any()


@pytest.mark.parametrize("name", ["nas", "dp_nas"])
@pytest.mark.parametrize("mu", [0.3, -0.01, 1e-4])
def test_far_horizons(name: str, mu: float) -> None:
    """The halt comes where |μ| t meets the barrier, and does not depend on the horizon."""
    alpha, beta, replicates = 0.1, 0.05, 100
    given = {"name": "two_point", "mu": mu}
    runs = [
        simulate(name, given, epsilon=10.0, T=T, replicates=replicates, alpha=alpha, beta=beta)
        for T in (10**15, 10**18)
    ]
    assert np.array_equal(runs[0].stop_time, runs[1].stop_time) and runs[0].halted.all()
    t = 1e3
    for _ in range(60):  # the fixed point of t = (barrier / |μ|) of nas at β, or at β/4
        t = 2.0 * log((4.0 if name == "nas" else 16.0) * t * t / beta) * ((1 + 1 / alpha) / mu) ** 2
    assert 0.9 < np.median(runs[0].stop_time) / t < (1.1 if name == "nas" else 1.5)
    assert (np.abs(runs[0].estimate - mu) < alpha * abs(mu)).all()


def test_a_tiny_budget_costs_no_more() -> None:
    """Candidates are few also where the noise exceeds all samples: a replicate takes microseconds.

    The halt waits for |μ| t to reach c_t, about (24 + 15) σ with ln t inside.
    """
    result = simulate(
        "dp_nas", {"name": "two_point", "mu": 0.5}, epsilon=1e-9, T=10**18, replicates=200
    )
    assert result.halted.all()
    assert 20 * 12e9 < np.median(result.stop_time) * 0.5 < 150 * 12e9
