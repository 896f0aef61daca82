"""thompson_beta and lazy_dp_ts by stretches: their law against plain loops, and rounds without end.

The plain loops draw every posterior in every round, from NumPy's generator, and share no code with
the kernels. Each comparison makes K + 2 tests (Welch's z on the mean regret, Kolmogorov-Smirnov on
the regret and on each arm's pulls) at level 1e-8: with fresh seeds a run of this file fails with
probability below 1e-6.
"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import math
import re
import sys
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from scipy import stats

from algos import simulate
from algos.bandit import lazy_dp_ts, thompson_beta
from algos.bandit.environments import BernoulliArms
from algos.bandit.lazy_dp_ts import LazyDPTS
from algos.bandit.thompson_beta import ThompsonBeta, least_gain
from algos.blocks import opened, play_block
from algos.dispatch import implements
from algos.maths import posterior
from algos.random.seeding import seeds
from algos.traces import record

LEVEL = 1e-8
EASY = (0.8, 0.1, 0.1, 0.1, 0.1)
HARD = (0.75, 0.625, 0.5, 0.375, 0.25)
TWINS = (0.5, 0.5, 0.3)
NEEDED = 0


class CountBlock(NamedTuple):
    """Pulls and blocks of rounds of each replicate."""

    pulls: np.ndarray  # out: int64 (R, K)
    blocks: np.ndarray  # out: int64 (R,)
    most: int


class CountTrace(NamedTuple):
    """The same of one replicate; it refuses more than `most` blocks."""

    pulls: np.ndarray
    blocks: np.ndarray
    most: int


@implements(opened, CountBlock)
def open_count(block, i):
    return CountTrace(block.pulls[i], block.blocks[i : i + 1], block.most)


@implements(record, CountTrace)
def record_count(trace, env, t, action, n):
    trace.pulls[action] += n
    trace.blocks[0] += 1
    if trace.blocks[0] > trace.most:
        raise ValueError("too many blocks")


def played(form: Any, means: tuple[float, ...], T: int, runs: int, most: int = 10**9) -> np.ndarray:
    """Pulls (runs, K) of a kernel."""
    mu = np.array(means)
    block = CountBlock(np.zeros((runs, mu.size), np.int64), np.zeros(runs, np.int64), most)
    play_block(form, BernoulliArms(mu, mu.max() - mu), seeds(7, [1], range(runs)), block, T)
    assert (block.pulls.sum(axis=1) == T).all()
    return block.pulls


@njit
def plain_thompson(epsilon, means, T, runs, rng):
    K = means.size
    pulls = np.zeros((runs, K), np.int64)
    for run in range(runs):
        wins, n = np.zeros(K), pulls[run]
        for _ in range(T):
            best, J = -1.0, 0
            for j in range(K):
                theta = rng.beta(wins[j] + 1.0, n[j] - wins[j] + 1.0)
                if theta > best:
                    best, J = theta, j
            n[J] += 1
            wins[J] += rng.random() < means[J]
    return pulls


@njit
def plain_lazy(epsilon, means, T, runs, rng):
    K = means.size
    pulls = np.zeros((runs, K), np.int64)
    for run in range(runs):
        O, N, total, private = np.ones(K), np.zeros(K), np.zeros(K), np.zeros(K)
        for t in range(1, T + 1):
            best, J = -1.0, 0
            if t <= K:
                J = t - 1
            else:
                for j in range(K):
                    c = min(max(private[j] + 3.0 * math.log(t) / (epsilon * O[j]), 0.0), 1.0)
                    theta = rng.beta(c * O[j] + 1.0, (1.0 - c) * O[j] + 1.0)
                    if theta > best or (theta == best and rng.random() < 0.5):
                        best, J = theta, j
            pulls[run, J] += 1
            X = 1.0 if rng.random() < means[J] else 0.0
            if t <= K:
                private[J] = X + rng.laplace(0.0, 1.0) / epsilon
                continue
            N[J] += 1
            total[J] += X
            if N[J] == 2 * O[J]:
                O[J] *= 2
                private[J] = (total[J] + rng.laplace(0.0, 1.0) / epsilon) / O[J]
                N[J] = total[J] = 0.0
    return pulls


def disagreements(form: Any, means: tuple[float, ...], T: int, runs: int) -> list[str]:
    """What differs between a kernel and the plain loop."""
    plain = plain_lazy if hasattr(form, "epsilon") else plain_thompson
    epsilon = getattr(form, "epsilon", 0.0)
    gaps = max(means) - np.array(means)
    samples = []
    for pulls in (
        played(form, means, T, runs),
        plain(epsilon, np.array(means), T, runs, np.random.default_rng(1)),
    ):
        samples.append(np.column_stack([np.round(pulls @ gaps, 6), pulls]))
    found = []
    for i, (got, expected) in enumerate(zip(*(sample.T for sample in samples), strict=True)):
        if np.unique(expected).size > 1:
            p = stats.ks_2samp(got, expected, method="asymp").pvalue
            if p < LEVEL:
                found.append(f"column {i}: p = {p:.2g}")
    means_differ = stats.ttest_ind(samples[0][:, 0], samples[1][:, 0], equal_var=False)
    if means_differ.pvalue < LEVEL:
        found.append(f"mean regret: p = {means_differ.pvalue:.2g}")
    return found


LONG = [
    *itertools.product(
        [ThompsonBeta(NEEDED), LazyDPTS(1.0, NEEDED), LazyDPTS(8.0, NEEDED), LazyDPTS(inf, NEEDED)],
        [EASY, HARD, TWINS],
        [3_000],
    ),
    (ThompsonBeta(NEEDED), (1.0, 0.9), 1_000),
    (ThompsonBeta(NEEDED), (0.02, 0.01, 0.001), 3_000),
    (LazyDPTS(0.1, NEEDED), HARD, 3_000),
    (LazyDPTS(0.3, NEEDED), TWINS, 300),
    (LazyDPTS(0.3, NEEDED), (0.75, 0.7), 2_000),
    (LazyDPTS(1.0, NEEDED), (1.0, 0.0), 2_000),
]


@pytest.mark.parametrize(
    ("form", "means"), [(ThompsonBeta(NEEDED), EASY), (LazyDPTS(4.0, NEEDED), EASY)], ids=str
)
def test_the_law_is_that_of_a_plain_loop_briefly(form, means) -> None:
    assert disagreements(form, means, 500, 4_000) == []


@pytest.mark.slow
@pytest.mark.parametrize(("form", "means", "T"), LONG, ids=str)
def test_the_law_is_that_of_a_plain_loop(form, means, T) -> None:
    assert disagreements(form, means, T, 10_000) == []


def mutant(right: str, wrong: str, folder: Path, which: Any) -> Any:
    """The form of a kernel where `right` became `wrong`, in its module or in the shared one."""
    shared, own = inspect.getsource(posterior), inspect.getsource(which)
    assert (shared + own).count(right) == 1, right
    names = []
    for name, text in (
        ("shared", shared),
        ("own", own.partition("\nregister(")[0]),
    ):
        unique = f"{name}_{folder.name}".replace("-", "_")
        names.append(unique)
        text = text.replace(right, wrong).replace("algos.maths.posterior", names[0])
        for form in ("ThompsonBeta", "LazyDPTS"):  # Numba tells tuples apart by name and fields
            text = re.sub(rf"\b{form}\b", f"{form}_{unique}", text)
        (folder / f"{unique}.py").write_text(text)
    changed = [load(folder / f"{name}.py") for name in names][1]
    return next(
        value for name, value in vars(changed).items() if name.startswith(("Thompson", "LazyDPTS"))
    )


def load(path: Path) -> Any:
    """The module of a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


MISTAKES = [
    ("arms open whenever their coin is up", lazy_dp_ts, (8.0,), EASY,
     "    if uniform_positive(rng) * -math.expm1(-hazard) > area:", "    if False:"),
    ("the tangent's points are not thinned", thompson_beta, (), HARD,
     "return step if math.log(uniform_positive(rng)) <= excess else -1.0", "return step"),
    ("coins of rivals are up half as often", thompson_beta, (), HARD,
     "h[j], rate = hazard(x, y, a[j], b[j])",
     "h[j], rate = hazard(x, y, a[j], b[j]); h[j] *= 0.5"),
    ("the leader's draw is the level", thompson_beta, (), HARD,
     "theta[A] = within(x, True, a[A], b[A], rng)", "theta[A] = x"),
    ("the failures of blocks are lost", thompson_beta, (), HARD,
     "b[J] += n - X", "b[J] += 1.0 - X / n"),
    ("arms clipped at 1 share evenly", lazy_dp_ts, (0.3,), (0.75, 0.7),
     "u -= O[j] + 1.0", "u -= total / 5.0"),
    ("posteriors do not grow", lazy_dp_ts, (8.0,), EASY,
     "posteriors(t + run + 1, epsilon, mean, O, a, b)", "posteriors(K, epsilon, mean, O, a, b)"),
    ("batches may be overdrawn", lazy_dp_ts, (8.0,), EASY,
     "m = min(m, 2 * O[A] - N[A])", "m = min(m, 3 * O[A])"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "epsilon", "means", "right", "wrong"),
    [pytest.param(*mistake[1:], id=mistake[0]) for mistake in MISTAKES],
)
def test_a_planted_mistake_is_noticed(module, epsilon, means, right, wrong, tmp_path: Path) -> None:
    form = mutant(right, wrong, tmp_path, module)(*epsilon, NEEDED)
    assert disagreements(form, means, 2_000, 10_000) != []


def test_sums_of_rewards_stay_above_what_stretches_assume() -> None:
    """The bound is far: what Hoeffding and Doob give at 1e-2 in place of 1e-20 holds in 99 %."""
    rng = np.random.default_rng(1)
    for mean, m in ((0.5, 400), (0.9, 1_000), (0.05, 2_000)):
        env = BernoulliArms(np.array([mean]), np.zeros(1))
        drift, lag = least_gain(env, 0, m)
        assert drift == mean
        assert lag == pytest.approx(min(m * mean, math.sqrt(m * math.log(1e20) / 2)))
        sums = np.cumsum(rng.random((2_000, m)) < mean, axis=1)
        deficit = (mean * np.arange(1, m + 1) - sums).max(axis=1)
        assert (deficit > math.sqrt(m * math.log(1e2) / 2)).mean() < 0.02
        assert deficit.max() < lag


# Blocks that a replicate may take: ten times what it takes on average at T = 1e15.
FOREVER = [
    (ThompsonBeta(NEEDED), EASY, 4_000),
    (ThompsonBeta(NEEDED), HARD, 40_000),
    (LazyDPTS(1.0, NEEDED), EASY, 100_000),
    (LazyDPTS(1.0, NEEDED), HARD, 400_000),
]


@pytest.mark.parametrize(("form", "means", "most"), FOREVER, ids=str)
@pytest.mark.parametrize("T", [10**10, 10**12, 10**15])
def test_long_runs_take_few_blocks_and_pull_what_theory_says(form, means, most, T) -> None:
    """A round-by-round stretch, such as an overflow makes, exceeds the blocks within seconds."""
    pulls = played(form, means, T, 100, most).mean(axis=0)
    best = means[0]
    for mean, n in zip(means[1:], pulls[1:], strict=True):
        d = mean * math.log(mean / best) + (1 - mean) * math.log((1 - mean) / (1 - best))
        if isinstance(form, ThompsonBeta):
            assert 0.6 * math.log(T) / d < n < 1.3 * math.log(T) / d
        else:
            private = 3 * math.log(T) / (best - mean)
            assert max(math.log(T) / d, private) / 4 < n < 8 * private


@pytest.mark.parametrize("algorithm", ["thompson_beta", "lazy_dp_ts"])
def test_two_horizons_share_their_beginning(algorithm) -> None:
    long = simulate(algorithm, "sajed_c2", epsilon=1.0, T=10**7, replicates=20, seed=5)
    for T in (10, 777, 4_096, 10**5):
        short = simulate(algorithm, "sajed_c2", epsilon=1.0, T=T, replicates=20, seed=5)
        shared = [t for t in short.checkpoints if t in long.checkpoints]
        for t in shared:
            assert np.array_equal(
                short.regret[:, short.checkpoints == t], long.regret[:, long.checkpoints == t]
            )


@pytest.mark.parametrize("algorithm", ["thompson_beta", "lazy_dp_ts"])
@pytest.mark.parametrize(
    "kind",
    [
        "table",
        pytest.param("beta", marks=pytest.mark.slow),
        pytest.param("uniform", marks=pytest.mark.slow),
        "finite_support",
    ],
)
def test_rewards_that_are_no_bits(algorithm, kind) -> None:
    rng = np.random.default_rng(3)
    instance = {
        "table": {"name": "reward_table", "rewards": rng.random((2_000, 3)) * [1.0, 0.8, 0.6]},
        "beta": {"name": "beta", "a": [3.0, 1.0], "b": [1.0, 1.0]},
        "uniform": {"name": "uniform", "low": [0.4, 0.0], "high": [1.0, 1.0]},
        "finite_support": {
            "name": "finite_support",
            "values": [[0.0, 0.5, 1.0], [0.0, 0.5, 1.0]],
            "probabilities": [[0.1, 0.2, 0.7], [0.5, 0.2, 0.3]],
        },
    }[kind]
    regrets = []
    for draws in ("needed", "all"):
        result = simulate(
            algorithm, instance, epsilon=4.0, T=2_000, replicates=800, seed=2, draws=draws
        )
        assert (result.pulls.sum(axis=1) == 2_000).all()
        regrets.append(np.round(result.regret[:, -1], 6))
    assert stats.ks_2samp(*regrets, method="asymp").pvalue > LEVEL
