"""What the full-information kernels leave out: the bounds it rests on, its law, and far horizons.

The law of a kernel that skips is compared with that of a plain compiled loop, or of the kernel that
draws in every round, over 10^4 replicates on three instances, one with two equal best actions:
Welch's z on the mean regret, and Kolmogorov-Smirnov tests on regret and on the pulls that vary
most, each at level 1e-6/27. With fresh seeds right kernels fail with probability at most 1e-6.
"""

from __future__ import annotations

from importlib import import_module
from inspect import getsource
from math import exp, inf, isnan, log, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray
from reference.distribution import disagreements
from scipy import integrate, stats

from algos import algorithm, resolve_instance, simulate
from algos.blocks import opened, play_block
from algos.dispatch import implements
from algos.full_information import decreasing_hedge, settled
from algos.full_information.rnm_ftnl import certain_length
from algos.full_information.settled import CHANCE, decline, lasts, log_odds
from algos.identity import words
from algos.maths.ties import argmax
from algos.random.generator import Rng, uniform
from algos.random.seeding import Seeds, seeds, state
from algos.traces import record

RUNS = 10_000
LEVEL = 1e-6 / 27
INSTANCES: dict[str, tuple[list[float], int]] = {  # means and T
    "clear": ([0.9, 0.2, 0.1], 1_000),
    "sajed_c2": ([0.75, 0.625, 0.5, 0.375, 0.25], 1_000),
    "two best": ([0.6, 0.6, 0.4], 600),
}
Sample = tuple[NDArray[np.float64], NDArray[np.float64]]


def kernel(name: str, means: list[float], T: int, seed: int, **parameters: Any) -> Sample:
    """Regret and pulls at T of RUNS replicates."""
    instance = {"name": "bernoulli", "means": means}
    result = simulate(
        name, instance, T=T, replicates=RUNS, seed=seed, checkpoints=[T], **parameters
    )
    return result.regret[:, -1], result.pulls.astype(np.float64)


@njit
def follow_the_leader(
    rng: Rng, means: NDArray[np.float64], T: int, counts: NDArray[np.float64], memory: int
) -> None:
    """The box of ftl on Bernoulli arms, round by round; after `memory` rounds sums start anew."""
    total = np.zeros(means.size)
    for run in range(counts.shape[0]):
        total[:] = 0.0
        J, changed = 0, True
        for t in range(T):
            if changed:
                J = argmax(total, rng)
            counts[run, J] += 1.0
            if t == memory:
                total[:] = 0.0
            changed = False
            for j in range(means.size):
                if uniform(rng) < means[j]:
                    total[j] += 1.0
                    changed = True


def plain_leader(means: list[float], T: int, memory: int = -1) -> Sample:
    """Regret and pulls of `follow_the_leader`."""
    arms, counts = np.array(means), np.zeros((RUNS, len(means)))
    follow_the_leader(state(7), arms, T, counts, memory)
    return counts @ (arms.max() - arms), counts


@pytest.mark.parametrize("name", INSTANCES)
def test_ftl_has_the_law_of_the_plain_loop(name: str) -> None:
    means, T = INSTANCES[name]
    assert disagreements(kernel("ftl", means, T, 1), plain_leader(means, T), LEVEL) == []


def test_a_leader_that_could_still_fall_is_noticed() -> None:
    """Sums that start anew halfway let a settled leader fall: the comparison rejects."""
    means, T = INSTANCES["sajed_c2"]
    assert disagreements(kernel("ftl", means, T, 1), plain_leader(means, T, T // 2), LEVEL) != []


@pytest.mark.parametrize("name", INSTANCES)
def test_decreasing_hedge_has_the_law_of_the_kernel_that_draws_all(name: str) -> None:
    means, T = INSTANCES[name]
    every = kernel("decreasing_hedge", means, T, 2, draws="all")
    assert disagreements(kernel("decreasing_hedge", means, T, 1), every, LEVEL) == []


def test_a_leader_that_falls_as_fast_as_it_can_has_the_same_law() -> None:
    """A table on which one action leads and then another is paid: stretches must allow for it."""
    rewards = np.zeros((500, 3))
    rewards[:200, 0] = rewards[200:, 1] = rewards[::3, 2] = 1.0
    table = {"name": "reward_table", "rewards": rewards}
    needed, every = (
        simulate("decreasing_hedge", table, T=500, replicates=RUNS, seed=i, draws=draws)
        for i, draws in enumerate(("needed", "all"))
    )
    pairs = [(run.regret[:, -1], run.pulls.astype(np.float64)) for run in (needed, every)]
    assert disagreements(*pairs, LEVEL) == []
    assert 50 < needed.pulls[:, 1].mean() < 250


def test_candidates_that_are_thinned_wrongly_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a candidate another action is played with probability p instead of p/B."""
    text = getsource(decreasing_hedge).partition("register(\n")[0]
    right = "uniform(rng) * B * total"
    assert text.count(right) == 1
    (tmp_path / "unthinned.py").write_text(text.replace(right, "uniform(rng) * total"))
    monkeypatch.syspath_prepend(tmp_path)
    form = import_module("unthinned").DecreasingHedge(0)
    means, T = INSTANCES["sajed_c2"]
    pulls = played(form, means, T, seeds(1, [], range(RUNS)))
    wrong = pulls @ (max(means) - np.array(means)), pulls.astype(np.float64)
    assert disagreements(kernel("decreasing_hedge", means, T, 1), wrong, LEVEL) != []


class Counts(NamedTuple):
    """A trace that counts actions and, as it doesn't say otherwise, wants to hear everything."""

    counts: NDArray[np.int64]  # (R, K)
    row: NDArray[np.int64]  # (1,)


@implements(opened, Counts)
def open_counts(block: Counts, i: int) -> Counts:
    block.row[0] = i
    return block


@implements(record, Counts)
def count(trace: Counts, env: Any, t: int, action: int, n: int) -> None:
    trace.counts[trace.row[0], action] += n


def played(form: Any, means: list[float], T: int, numbered: Seeds) -> NDArray[np.int64]:
    """How often each action is played, by a kernel whose released numbers are wanted."""
    env = resolve_instance({"name": "bernoulli", "means": means}).environment
    counts = np.zeros((numbered.replicates.size, len(means)), np.int64)
    play_block(form, env, numbered, Counts(counts, np.zeros(1, np.int64)), T)
    return counts


@pytest.mark.parametrize("name", ["ftnl", "rnm_ftnl"])
@pytest.mark.parametrize("case", INSTANCES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, inf])
def test_an_epoch_that_is_certain_is_what_is_drawn(name: str, case: str, epsilon: float) -> None:
    """Equal seeds, once with every sum drawn and once without those that are certain: equal pulls.

    One of 10^4 replicates differs with probability 1e-16.
    """
    T, means = 100_000, INSTANCES[case][0]
    instance = {"name": "bernoulli", "means": means}
    left_out = simulate(name, instance, epsilon=epsilon, T=T, replicates=RUNS, checkpoints=[T])
    form = algorithm(name).fill(T, epsilon, {"noise": 1.0})
    drawn = played(form, means, T, seeds(0, words(left_out.stream), range(RUNS)))
    assert np.array_equal(drawn, left_out.pulls)
    assert len(np.unique(drawn[:, 0])) > 1


PAIRS = [(0.8, 0.1), (0.75, 0.625), (0.999, 0.3), (0.02, 0.01), (1.0, 0.5), (0.5, 0.0), (1.0, 0.0)]


def moment(p: float, q: float, x: float) -> float:
    """E e^(-x (X - Y)) of bits of means p and q."""
    return (1.0 - p + p * exp(-x)) * (1.0 - q + q * exp(x))


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_a_lead_declines_no_slower_than_bits_do(p: float, q: float) -> None:
    """κ is right and the largest: at the end of its range the bound is met, before it slack."""
    steep, kappa = decline(p, q)
    for x in np.linspace(0.0, steep, 50):
        assert moment(p, q, x) <= exp(-kappa * x) * (1.0 + 1e-12)
    assert moment(p, q, steep) == pytest.approx(exp(-kappa * steep), rel=1e-12)
    assert moment(p, q, steep) > exp(-1.01 * kappa * steep)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.4, 0.6), (float("nan"), 0.5), (1.0, 1.0)])
def test_no_decline_is_claimed_where_there_is_none(p: float, q: float) -> None:
    assert decline(p, q) == (0.0, 0.0)
    theta = log_odds(p) - log_odds(q)
    assert lasts(1e9, theta, 2) == (1e18 / (-log(CHANCE) + log(2)) if theta == 0.0 else 1e9)


def test_a_table_has_no_known_means() -> None:
    table = {"name": "reward_table", "rewards": [[1.0, 0.0]] * 9}
    assert isnan(settled.known_mean(resolve_instance(table).environment, 0))


def made_up(p: float, q: float, lead: int, rounds: int, runs: int) -> float:
    """How often a lead of bits is made up within so many rounds."""
    rng = np.random.default_rng([lead, rounds])
    steps = (rng.random((runs, rounds)) < p).astype(np.int8)
    steps -= rng.random((runs, rounds)) < q
    return float((steps.cumsum(axis=1, dtype=np.int32).min(axis=1) <= -lead).mean())


@pytest.mark.parametrize(("p", "q", "lead"), [(0.6, 0.4, 2), (0.75, 0.625, 4), (0.3, 0.2, 3)])
def test_the_chance_that_a_lead_is_ever_made_up(p: float, q: float, lead: int) -> None:
    """e^(-θD) is the ruin probability of bits, and `lasts` is for good where it is below CHANCE/K.

    5 standard errors of 20,000 runs: 1e-6 a case. A θ larger by a fifth is noticed.
    """
    theta, runs = log_odds(p) - log_odds(q), 20_000
    ruin = exp(-theta * lead)
    seen = made_up(p, q, lead, 700, runs)
    error = sqrt(ruin * (1.0 - ruin) / runs)
    assert abs(seen - ruin) < 5 * error < exp(-theta * lead) - exp(-1.2 * theta * lead)
    enough = (log(5) - log(CHANCE)) / theta
    assert lasts(1.0001 * enough, theta, 5) == inf > lasts(0.9999 * enough, theta, 5)


@pytest.mark.parametrize("rounds", [100, 400])
def test_an_even_lead_lasts_for_its_square(rounds: int) -> None:
    """Hoeffding: made up within n with chance at most e^(-D²/n); for fair bits e^(-D²/n)/1.6 is."""
    for lead in (10, 20, 30):
        bound = exp(-(lead**2) / rounds)
        seen = made_up(0.5, 0.5, lead, rounds, 20_000)
        assert seen <= bound + 5 * sqrt(bound / 20_000)
    leap = lasts(1e6, 0.0, 3)
    assert exp(-1e12 / leap) == pytest.approx(CHANCE / 3, rel=1e-9)


@pytest.mark.parametrize(("p", "q"), [(0.8, 0.1), (0.75, 0.625), (0.5, 0.48)])
@pytest.mark.parametrize("K", [2, 50])
def test_the_chances_after_the_settling_round_are_negligible(p: float, q: float, K: int) -> None:
    """Σ over s > t of e^(-2√ln K κ √s) is below CHANCE/K, and not by more than a factor 10^4."""
    steep, kappa = decline(p, q)
    t = decreasing_hedge.settling_round(log(K), steep, kappa)
    c, root = 2.0 * kappa * sqrt(log(K)), sqrt(t)
    # in u = √s - √t the integral is e^(-c√t) ∫ 2 (u + √t) e^(-cu) du
    rest, _ = integrate.quad(lambda u: 2.0 * (u + root) * exp(-c * u), 0.0, 60.0 / c)
    assert CHANCE / K / 1e4 < rest * exp(-c * root) < CHANCE / K
    assert 2.0 * sqrt(log(K) / t) <= steep


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_the_chance_that_an_epoch_errs(scale: float) -> None:
    """A twentieth of the certain length: errors are rarer than the same bound says, and happen."""
    means = [0.6, 0.4]
    env = resolve_instance({"name": "bernoulli", "means": means}).environment
    length = certain_length(env, 2, 0, scale)
    rng, runs, n = np.random.default_rng(5), 200_000, int(length / 20)
    sums = [rng.binomial(n, mean, runs) + rng.laplace(0.0, scale, runs) for mean in means]
    seen = float((sums[0] <= sums[1]).mean())
    assert 0.0 < seen < (4 * CHANCE) ** (1 / 20) * 5.3
    assert certain_length(env, 2, 1, scale) == inf  # the other one is not the best


FAR = ["ftl", "decreasing_hedge", "ftnl", "rnm_ftnl"]


@pytest.mark.parametrize("instance", ["azize_fig3", "sajed_c2"])
@pytest.mark.parametrize("name", FAR)
def test_far_horizons(name: str, instance: str) -> None:
    """100 seeds each to 1e10, 1e12 and 1e15: pulls sum to T, and regret is what it was at 1e6.

    All of it is paid at the start, c ln K/Δ_min with noise of order K/ε or 1/ε.
    """
    gap = 0.7 if instance == "azize_fig3" else 0.125
    noise = {"ftnl": 5.0, "rnm_ftnl": 1.0}.get(name, 0.0)
    theory = log(5) * (1.0 / gap + noise)
    for T in (10**10, 10**12, 10**15):
        result = simulate(
            name, instance, epsilon=1.0, T=T, replicates=100, checkpoints=[10**6, T], seed=3
        )
        assert [sum(row) for row in result.pulls.tolist()] == [T] * 100
        assert np.isfinite(result.regret).all()
        assert np.array_equal(result.regret[:, 0], result.regret[:, 1])
        assert 0.05 * theory < result.regret[:, 1].mean() < 5.0 * theory


def test_two_best_actions_share_a_long_run() -> None:
    """The leader's share of the rounds follows the arcsine law, roughly: both ends are likely.

    P(share < 0.1) is 0.205 for a fair walk; 5 standard errors of 2000 runs.
    """
    instance = {"name": "bernoulli", "means": [0.5, 0.5]}
    result = simulate("ftl", instance, T=10**5, replicates=2_000, seed=1)
    share = result.pulls[:, 0] / 1e5
    expected = stats.arcsine.cdf(0.1)
    for seen in ((share < 0.1).mean(), (share > 0.9).mean()):
        assert abs(seen - expected) < 5 * sqrt(expected / 2_000)
