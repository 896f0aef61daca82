"""ucb1's leaps against plain loops: the same law, exact tables, and horizons no loop reaches.

Each comparison of samples makes three tests (Welch's z, two of Kolmogorov and Smirnov) at level
1e-6 / (3 · comparisons), so that fresh seeds would fail a run with probability at most 1e-6.
"""

import math
from typing import Any

import numpy as np
import pytest
from numba import njit
from reference.compare import Case
from reference.distribution import disagreements
from reference.tables import bits, fractions, ladder
from scipy import stats

from algos import simulate
from algos.bandit.environments import BernoulliArms
from algos.bandit.failures import COLUMNS, LOG_CHANCE, TABLES, _build, stay, tables_for
from algos.random.generator import uniform
from algos.random.seeding import state

REPLICATES = 10_000
INSTANCES = ((0.8, 0.1, 0.1, 0.1, 0.1), (0.75, 0.625, 0.5, 0.375, 0.25), (0.5, 0.5, 0.4))
WALKS = (
    # mean, margin, toll, room: short and long margins, a cut by `room`, a toll above 1
    (0.8, 0.3, 0.81, 10**6),
    (0.8, 40.0, 0.82, 10**6),
    (0.8, 700.0, 0.83, 10**6),
    (0.5, 60.0, 0.51, 3_000),
    (0.5, 400.0, 0.51, 10**6),
    (0.1, 5.0, 0.101, 2_000),
    (0.3, 20.0, 0.25, 500),
    (0.9, 30.0, 1.2, 10**6),
    (0.999, 3.0, 0.9995, 20_000),
)
LEVEL = 1e-6 / (3 * (len(INSTANCES) + len(WALKS) + 1))


# These loops are not kept in Numba's cache, which would not see a change of what they call.


@njit
def plain_ucb1(means: np.ndarray, rng: np.ndarray, T: int, pulls: np.ndarray) -> None:
    """One replicate, round by round; `pulls` (K,) is filled."""
    K = means.size
    total = np.zeros(K)
    for t in range(1, T + 1):
        arm, best, tied = 0, -1.0, 0
        for j in range(K):
            if t <= K:
                value = 1.0 if j == t - 1 else 0.0
            else:
                value = total[j] / pulls[j] + math.sqrt(2.0 * math.log(t) / pulls[j])
            if value > best:
                arm, best, tied = j, value, 1
            elif value == best:
                tied += 1
                if uniform(rng) * tied < 1.0:
                    arm = j
        total[arm] += uniform(rng) < means[arm]
        pulls[arm] += 1


@njit
def plain_sample(means: np.ndarray, rng: np.ndarray, T: int, pulls: np.ndarray) -> None:
    """Replicates, one a row of `pulls` (replicates, K)."""
    for i in range(pulls.shape[0]):
        plain_ucb1(means, rng, T, pulls[i])


@njit
def plain_walks(
    mean: float, margin: float, toll: float, room: int, rng: np.ndarray, out: np.ndarray
) -> None:
    """The rounds and the successes of walks, made round by round; `out` is (walks, 2)."""
    for i in range(out.shape[0]):
        left, n = margin, 0
        while n == 0 or (left > 0.0 and n < room):
            x = 1.0 if uniform(rng) < mean else 0.0
            n += 1
            left += x - toll
            out[i, 1] += x
        out[i, 0] = n


@njit
def leaping_walks(
    env: Any, margin: float, toll: float, room: int, rng: np.ndarray, out: np.ndarray
) -> None:
    """The same by `stay`."""
    tables = tables_for(env)
    for i in range(out.shape[0]):
        n, total = stay(env, tables, rng, 0, 1, margin, toll, room, 1 << 60)
        out[i, 0], out[i, 1] = n, total


def bernoulli(*means: float) -> BernoulliArms:
    """The environment."""
    return BernoulliArms(np.array(means), max(means) - np.array(means))


def walks(leap: bool, walk: tuple[float, float, float, int], seed: int) -> np.ndarray:
    """Rounds and successes of 10,000 walks, float64 (10,000, 2)."""
    mean, margin, toll, room = walk
    out = np.zeros((REPLICATES, 2))
    if leap:
        leaping_walks(bernoulli(mean), margin, toll, room, state(seed), out)
    else:
        plain_walks(mean, margin, toll, room, state(seed), out)
    return out


@pytest.mark.parametrize("walk", WALKS, ids=str)
def test_a_margin_lasts_as_long_as_round_by_round(walk: tuple[float, float, float, int]) -> None:
    got, expected = walks(True, walk, 1), walks(False, walk, 2)
    assert disagreements((got[:, 0], got[:, 1:]), (expected[:, 0], expected[:, 1:]), LEVEL) == []


@pytest.mark.parametrize(
    "wrong", [(0.8, 40.0, 0.822, 10**6), (0.8, 41.5, 0.82, 10**6), (0.802, 40.0, 0.82, 10**6)]
)
def test_walks_tell_apart_what_differs_little(wrong: tuple[float, float, float, int]) -> None:
    got, expected = walks(True, wrong, 1), walks(False, (0.8, 40.0, 0.82, 10**6), 2)
    assert disagreements((got[:, 0], got[:, 1:]), (expected[:, 0], expected[:, 1:]), LEVEL) != []


def law(tables: Any, arm: int, r: int) -> tuple[np.ndarray, np.ndarray]:
    """The rounds to the 2^r-th failure and their chances, as the table draws them."""
    own = tables.arms[arm]
    start, number = int(own["start"][r]), int(own["last"][r]) + 1
    columns = tables.columns[start : start + number]
    kept = (columns >> np.uint64(12)).astype(np.float64) / 2.0**52
    chance = kept.copy()
    np.add.at(chance, (columns & np.uint64(COLUMNS - 1)).astype(int), 1.0 - kept)
    return int(own["first"][r]) + np.arange(number), chance / number


@pytest.mark.parametrize("mean", [0.0, 2.0**-30, 0.1, 0.5, 0.8, 0.98])
def test_tables_hold_the_negative_binomial_law(mean: float) -> None:
    env = bernoulli(mean, 0.5)
    tables = tables_for(env)
    _build(tables, 0, mean, TABLES - 1)
    assert tables.arms[0]["built"] == tables.arms[0]["fitting"] >= 1
    for r in range(int(tables.arms[0]["built"])):
        rounds, chance = law(tables, 0, r)
        exact = stats.nbinom.pmf(rounds - 2**r, 2**r, 1.0 - mean)
        assert np.allclose(chance, exact, rtol=1e-10, atol=1e-14)


def test_tables_begin_anew_where_room_ends() -> None:
    """The draws don't depend on what was kept."""
    means = np.linspace(0.6, 0.9, 40)
    env = bernoulli(*means)
    kept = tables_for(env)
    for _ in range(3):
        for arm in range(means.size):
            fresh = tables_for(env)
            one, other = state(arm), state(arm)
            got = stay(env, kept, one, arm, 1, 500.0, means[arm] + 0.01, 10**6, 10**6)
            expected = stay(env, fresh, other, arm, 1, 500.0, means[arm] + 0.01, 10**6, 10**6)
            assert got == expected
            assert np.array_equal(one, other)


@pytest.mark.parametrize("mean", [0.1, 0.5, 0.8, 0.98])
def test_a_leap_errs_with_a_chance_of_at_most_1e_20(mean: float) -> None:
    """The bound at a fixed chance, against the exact chance that the margin is used up at the end.

    The chance at the end of the leap is below that of a crossing inside, which is what is bounded,
    but not by much: so it must be below 1e-20, and a bound that were halved would not hold it.
    """
    tables = tables_for(bernoulli(mean))
    _build(tables, 0, mean, TABLES - 1)
    for r in range(int(tables.arms[0]["built"])):
        k = 2**r
        fall = float(tables.arms[0]["fall"][r])
        mean_rise = k * mean  # successes less their toll, for toll = mean
        for part, holds in ((1.0, True), (0.5, False)):
            # (1 - mean) G - k mean ≤ -fall, G the successes before failure k
            most = (mean_rise - part * fall) / (1.0 - mean)
            log_chance = stats.nbinom.logcdf(math.floor(most), k, 1.0 - mean) if most >= 0 else -9e9
            if holds:
                assert log_chance < -LOG_CHANCE
            elif k >= 256:
                assert log_chance > -LOG_CHANCE


@pytest.mark.parametrize("means", INSTANCES, ids=str)
def test_the_law_is_that_of_a_plain_loop(means: tuple[float, ...]) -> None:
    T = 3_000
    assert compared(means, T) == []


@pytest.mark.slow
@pytest.mark.parametrize("means", INSTANCES, ids=str)
def test_the_law_is_that_of_a_longer_plain_loop(means: tuple[float, ...]) -> None:
    assert compared(means, 30_000) == []


@pytest.mark.parametrize("table", [fractions, bits, ladder])
def test_the_same_actions_on_a_longer_table(table: Any) -> None:
    """The line that leaps stay above is an exact bound: stretches of up to thousands of rounds."""
    case = Case("ucb1", table, T=(60_000, 60_000), K=(3, 3))
    rewards, T = case.draw(1)
    assert case.difference(rewards, T, 1, case.reference(rewards, T, 1)) == ""


def test_the_law_of_a_wrong_loop_is_told_apart() -> None:
    assert compared(INSTANCES[1], 3_000, played=(0.75, 0.62, 0.5, 0.375, 0.25)) != []


def compared(
    means: tuple[float, ...], T: int, played: tuple[float, ...] | None = None
) -> list[str]:
    """What tells ucb1 from the plain loop, which plays arms of the means `played`."""
    gaps = max(means) - np.array(means)
    instance = {"name": "bernoulli", "means": list(means)}
    got = simulate("ucb1", instance, T=T, replicates=REPLICATES, seed=3, checkpoints=[T])
    pulls = np.zeros((REPLICATES, len(means)))
    plain_sample(np.array(played or means), state(4), T, pulls)
    kernel = (got.regret[:, -1], got.pulls.astype(float))
    return disagreements(kernel, (pulls @ gaps, pulls), LEVEL)


@pytest.mark.parametrize("T", [10**10, 10**12, 10**15])
@pytest.mark.parametrize("instance", ["azize_fig3", "sajed_c2"])
def test_horizons_that_no_loop_reaches(instance: str, T: int) -> None:
    """With n_j = 2 ln T / Δ_j² to first order, and less: a pulled arm's mean is mostly too low."""
    got = simulate("ucb1", instance, T=T, replicates=100, seed=0)
    means = {"azize_fig3": (0.8, 0.1, 0.1, 0.1, 0.1), "sajed_c2": INSTANCES[1]}[instance]
    gaps = max(means) - np.array(means)
    assert (got.pulls.sum(axis=1) == T).all()
    assert (np.diff(got.regret, axis=1) >= 0.0).all()
    first_order = 2.0 * math.log(T) / gaps[1:] ** 2
    ratio = got.pulls[:, 1:].mean(axis=0) / first_order
    assert (ratio > 0.7).all()
    assert (ratio < 1.05).all()
    # 1 + 2 ln T / Δ² + O(1) is not exceeded by more than the fluctuation of an arm's mean
    assert (got.pulls[:, 1:] < 1.6 * first_order + 60.0).all()


def test_a_shorter_horizon_is_the_start_of_a_longer_one() -> None:
    for instance in ("azize_fig3", "sajed_c2", "hu_equal_gap"):
        long = simulate("ucb1", instance, T=10**9, replicates=5)
        for T in (1_000, 54_321, 10**7):
            short = simulate("ucb1", instance, T=T, replicates=5)
            same = np.isin(short.checkpoints, long.checkpoints)
            place = np.searchsorted(long.checkpoints, short.checkpoints[same])
            assert np.array_equal(short.regret[:, same], long.regret[:, place])
