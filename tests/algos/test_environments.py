"""Environments: blocks have the law of the rounds they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import stats

from algos.environments import block_regret, number_of_arms, pull
from algos.full_information.environments import observe
from algos.instances import resolve
from algos.random.seeding import state


@njit
def block(env, rng, arm, t, n, step):
    return pull(env, rng, arm, t, n, step)


@njit
def observed(env, rng, t, n, out):
    observe(env, rng, t, n, out)


@njit
def facts(env, arm, n):
    return number_of_arms(env), block_regret(env, arm, n)


SPECIFICATIONS = [
    {"name": "bernoulli", "means": [0.3, 0.8]},
    {"name": "finite_support", "values": [[0.0, 0.25, 1.0], [0.5, 0.9]],
     "probabilities": [[0.5, 0.2, 0.3], [1.0, 0.0]]},
    {"name": "beta", "a": [2.0, 0.5], "b": [1.0, 0.5]},
    {"name": "uniform", "low": [0.2, 0.0], "high": [0.6, 0.5]},
]  # fmt: skip
VARIANCES = [(0.21, 0.16), (0.5 * 0 + 0.2 * 0.0625 + 0.3 - 0.35**2, 0.0),
             (1 / 18, 1 / 8), (0.16 / 12, 0.25 / 12)]  # fmt: skip


@pytest.mark.parametrize("case", range(4), ids=lambda i: SPECIFICATIONS[i]["name"])
@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("n", [1, 2, 50])
def test_a_block_has_the_mean_and_variance_of_its_rounds(case, arm, n):
    """Each z statistic exceeds 6 with probability < 1e-8 (variance: chi-square, same level)."""
    instance = resolve(SPECIFICATIONS[case])
    rng = state(1000 * case + 10 * arm + n)
    draws = np.array([block(instance.environment, rng, arm, 1, n, 1) for _ in range(4000)])
    mean, variance = n * instance.means[arm], n * VARIANCES[case][arm]
    if variance == 0.0:
        np.testing.assert_allclose(draws, mean, rtol=1e-12)
        return
    assert abs(draws.mean() - mean) < 6 * np.sqrt(variance / len(draws))
    kurtosis = stats.kurtosis(draws, fisher=False)
    spread = variance * np.sqrt((kurtosis - 1) / len(draws))
    assert abs(draws.var() - variance) < 7 * spread + 1e-12
    assert draws.min() >= 0.0 and draws.max() <= n


def test_finite_support_block_is_a_multinomial():
    """The block's distribution, exact by enumeration, against 20,000 draws (p > 1e-9)."""
    instance = resolve(
        {
            "name": "finite_support",
            "values": [[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]],
            "probabilities": [[0.2, 0.5, 0.3], [0.5, 0.5, 0.0]],
        }
    )
    rng = state(5)
    draws = [block(instance.environment, rng, 0, 1, 3, 1) for _ in range(20_000)]
    sums: dict[float, float] = {}
    for a, b, c in np.ndindex(3, 3, 3):
        p = np.prod([[0.2, 0.5, 0.3][i] for i in (a, b, c)])
        total = 0.5 * (a + b + c)
        sums[total] = sums.get(total, 0.0) + p
    observed = [draws.count(value) for value in sorted(sums)]
    assert sum(observed) == len(draws)
    expected = [len(draws) * sums[value] for value in sorted(sums)]
    assert stats.chisquare(observed, expected).pvalue > 1e-9


@pytest.mark.parametrize("n", [10**12, 10**18])
def test_a_huge_binomial_block(n):
    """z statistics of 2,000 draws; each exceeds 6 with probability < 1e-8."""
    instance = resolve(SPECIFICATIONS[0])
    rng = state(8)
    draws = np.array([block(instance.environment, rng, 0, 1, n, 1) for _ in range(2000)])
    z = (draws - 0.3 * n) / np.sqrt(0.21 * n)
    assert abs(z.mean()) < 6 / np.sqrt(2000)
    assert abs(z.var() - 1) < 6 * np.sqrt(2 / 2000)


def test_a_table_sums_its_column():
    rewards = np.random.default_rng(0).random((40, 3))
    env = resolve({"name": "reward_table", "rewards": rewards.tolist()}).environment
    rng = state(1)
    before = rng.tolist()
    assert block(env, rng, 1, 5, 7, 1) == pytest.approx(rewards[4:11, 1].sum(), rel=1e-14)
    assert block(env, rng, 2, 4, 6, 5) == pytest.approx(rewards[3:29:5, 2].sum(), rel=1e-14)
    assert rng.tolist() == before  # nothing is drawn


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=lambda s: s["name"])
def test_all_arms_are_observed_as_if_each_was_pulled(specification):
    env = resolve(specification).environment
    rng, same = state(4), state(4)
    for n in (1, 2, 50):
        out = np.array([10.0, 20.0])
        observed(env, rng, 1, n, out)
        one_by_one = [block(env, same, arm, 1, n, 1) for arm in (0, 1)]
        assert out.tolist() == [10.0 + one_by_one[0], 20.0 + one_by_one[1]]


def test_a_table_is_observed_row_by_row():
    rewards = np.random.default_rng(0).random((40, 3))
    env = resolve({"name": "reward_table", "rewards": rewards.tolist()}).environment
    out = np.ones(3)
    observed(env, state(1), 5, 7, out)
    np.testing.assert_allclose(out, 1.0 + rewards[4:11].sum(axis=0), rtol=1e-14)


@pytest.mark.parametrize("specification", SPECIFICATIONS, ids=lambda s: s["name"])
def test_regret_of_a_block(specification):
    instance = resolve(specification)
    for arm in (0, 1):
        K, regret = facts(instance.environment, arm, 10)
        assert K == 2
        assert regret == pytest.approx(10 * (max(instance.means) - instance.means[arm]))
