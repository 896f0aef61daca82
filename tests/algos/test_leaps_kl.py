"""The leaps of kl_ucb, moss and imed: their law, their horizons, and that there are leaps.

Laws are compared with plain compiled loops that compute every index in every round. A comparison
makes three tests at level 1e-6 / (3 · comparisons), so a run with fresh seeds fails with
probability at most 1e-6 where they agree. Action for action, on tables, these kernels are compared
in test_reference_actions.py and test_reference_minimax.py; there leaps are literal, so that what is
planted here is only seen here.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from reference.distribution import disagreements
from scipy import stats

import algos.bandit.imed
import algos.bandit.kl_ucb
import algos.bandit.margins
import algos.bandit.moss
from algos import algorithm, simulate
from algos.bandit.environments import BernoulliArms, RewardTable
from algos.bandit.imed import imed_index
from algos.bandit.kl_ucb import budget_at
from algos.bandit.margins import known_mean
from algos.bandit.moss import moss_index
from algos.blocks import begin, opened, play
from algos.dispatch import implements
from algos.environments import block_regret, number_of_arms, pull
from algos.maths.kl import divergence, upper_rank
from algos.maths.ties import argmax
from algos.random.generator import uniform
from algos.random.seeding import seeds, start, state
from algos.recorders import GapRecorder
from algos.traces import ActionTrace, GapBlock, MessageTrace

SUBOPTIMAL = {"clear": [0.8, 0.3, 0.1], "close": [0.55, 0.45], "equal": [0.6, 0.6, 0.4]}
ROUNDS = {"clear": 4_000, "close": 6_000, "equal": 2_500}
NAMES = ("kl_ucb", "moss", "imed")
FAST, MANY = 800, 10_000
LEVEL = 1e-6 / (3 * 2 * len(NAMES) * len(ROUNDS))


@njit(error_model="numpy")
def fill_kl_ucb(total, n, t, T, index):
    for j in range(n.size):
        index[j] = upper_rank(total[j] / n[j], budget_at(t, 0.0) / n[j])


@njit(error_model="numpy")
def fill_moss(total, n, t, T, index):
    for j in range(n.size):
        index[j] = moss_index(total[j] / n[j], n[j], T, n.size)


@njit(error_model="numpy")
def fill_imed(total, n, t, T, index):
    best = (total / n).max()
    for j in range(n.size):
        index[j] = -imed_index(total[j] / n[j], n[j], best)


@njit(error_model="numpy")
def plain(fill, pool, replicates, means, T, pulls):
    """Every index in every round; a tie is kept while no index changes, but for KL-UCB's."""
    K = means.size
    rng = np.empty(4, np.uint64)
    total, n = np.zeros(K), np.zeros(K, np.int64)
    index, before = np.zeros(K), np.zeros(K)
    for i in range(replicates.size):
        start(rng, pool, replicates[i])
        arm = 0
        total[:] = 0.0
        n[:] = 0
        for t in range(1, T + 1):
            if t <= K:
                arm = t - 1
            else:
                fill(total, n, t, T, index)
                if not (index == before).all():
                    arm = argmax(index, rng)
                before[:] = index
            total[arm] += uniform(rng) < means[arm]
            n[arm] += 1
        pulls[i] = n


PLAIN = {"kl_ucb": fill_kl_ucb, "moss": fill_moss, "imed": fill_imed}


def plain_sample(name: str, instance: str, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """Regret (replicates,) and pulls (replicates, K) of the plain loop."""
    means = np.array(SUBOPTIMAL[instance])
    pulls = np.zeros((replicates, means.size), np.int64)
    drawn = seeds(1, (2026, *name.encode()), range(replicates))
    plain(PLAIN[name], drawn.pool, drawn.replicates, means, ROUNDS[instance], pulls)
    return pulls @ (means.max() - means), pulls.astype(np.float64)


@njit
def play_all(form, env, drawn, block, T):
    """As `play_block`, but not kept on disk."""
    rng = np.empty(4, np.uint64)
    for i in range(drawn.replicates.size):
        begin(drawn, i, rng)
        play(form, env, rng, opened(block, i), T)


def kernel_sample(form: Any, instance: str, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of a kernel."""
    means = np.array(SUBOPTIMAL[instance])
    env = BernoulliArms(means, means.max() - means)
    block = gap_block(means.size, ROUNDS[instance], replicates)
    with np.errstate(over="ignore"):
        play_all(form, env, seeds(7, (1,), range(replicates)), block, ROUNDS[instance])
    return block.regret[:, -1], block.counts_at[:, 0].astype(np.float64)


def gap_block(K: int, T: int, replicates: int) -> GapBlock:
    """What replicates record at T."""
    at = np.array([T], np.int64)
    return GapRecorder(at, at, replicates, K, "pulls").block


HOMES = {"kl_ucb": algos.bandit.kl_ucb, "moss": algos.bandit.moss, "imed": algos.bandit.imed}
NUMBERS = itertools.count()
MARGINS = algos.bandit.margins


def form_of(name: str) -> Any:
    """The kernel's parameters."""
    return algorithm(name).fill(1, None, algorithm(name).check_parameters({}))


@pytest.mark.parametrize("name", NAMES)
def test_leaps_keep_the_law_where_best_arms_are_equal(name: str) -> None:
    expected = plain_sample(name, "equal", FAST)
    assert disagreements(kernel_sample(form_of(name), "equal", FAST), expected, LEVEL) == []


@pytest.mark.slow
@pytest.mark.parametrize("instance", ROUNDS)
@pytest.mark.parametrize("name", NAMES)
def test_leaps_keep_the_law(name: str, instance: str) -> None:
    expected = plain_sample(name, instance, MANY)
    assert disagreements(kernel_sample(form_of(name), instance, MANY), expected, LEVEL) == []


Change = tuple[ModuleType, str, str]


def mutant(name: str, *changes: Change) -> dict[str, Any]:
    """The names of `name`'s module and of margins, with each change made where it fits once."""
    form = type(form_of(name))
    # Numba's symbols have the names of types in them: two of one name would share their code.
    other = f"{form.__name__}{next(NUMBERS)}"
    changed: dict[str, Any] = {"__name__": "mutant", "njit": njit}
    for source in (MARGINS, HOMES[name]):
        text = inspect.getsource(source).split("\nregister(\n")[0]
        for module, right, wrong in changes:
            if source is module:
                assert text.count(right) == 1, f"{right!r} occurs {text.count(right)} times"
                text = text.replace(right, wrong)
        text = re.sub(rf"\b{form.__name__}\b", other, text)
        text = re.sub(r"^from (__future__|algos.bandit.margins) import .*$", "", text, flags=re.M)
        # What is compiled here has no file that Numba could key its cache by.
        text = re.sub(r"^@compiled$", '@njit(error_model="numpy")', text, flags=re.M)
        exec(compile(text, "mutant", "exec"), changed)
    return changed | {"form": changed[other](*form_of(name))}


WALKS = (  # mean, toll, margin, room
    (0.6, 0.6, 20.0, 3_000),
    (0.6, 0.6, 60.0, 20_000),
    (0.6, 0.59, 20.0, 20_000),
    (0.8, 0.75, 30.0, 5_000),
    (0.3, 0.35, 90.0, 5_000),
    (0.5, 0.9, 200.0, 5_000),
)
WALKERS = 20_000


@njit
def walked(play_on, env, drawn, margin, toll, room, rounds, total):
    """How long the margins of all replicates last, and what is paid meanwhile."""
    rng = np.empty(4, np.uint64)
    for i in range(rounds.size):
        begin(drawn, i, rng)
        rounds[i], total[i], _ = play_on(env, rng, 0, 1, margin, toll, room)


@njit(error_model="numpy")
def plain_play_on(env, rng, arm, t, margin, toll, room):
    """Round by round."""
    n, total = 0, 0.0
    while n < room:
        n += 1
        total += uniform(rng) < env.means[arm]
        if margin + total - toll * n <= 0.0:
            break
    return n, total, True


def walks(play_on: Any, walk: tuple[float, float, float, int], seed: int) -> np.ndarray:
    """Rounds and rewards (2, WALKERS) by `play_on`."""
    mean, toll, margin, room = walk
    env = BernoulliArms(np.array([mean, 0.0]), np.array([0.0, mean]))
    found = np.zeros((2, WALKERS))
    walked(play_on, env, seeds(seed, (1,), range(WALKERS)), margin, toll, room, found[0], found[1])
    return found


def walks_differ(play_on: Any) -> bool:
    """Whether `play_on` differs in law from the plain walk in some walk, at level 1e-6 in all."""
    for walk in WALKS:
        pairs = zip(walks(play_on, walk, 1), walks(plain_play_on, walk, 2), strict=True)
        for one, other in pairs:
            if stats.ks_2samp(one, other, method="asymp").pvalue < 1e-6 / (2 * len(WALKS)):
                return True
    return False


def test_a_margin_lasts_as_long_in_leaps_as_round_by_round() -> None:
    assert not walks_differ(algos.bandit.margins.play_on)


@njit
def crossings(means, tolls, margins, rounds, drawn, counts):
    """In how many walks a margin is used up before the last of so many rounds."""
    rng = np.empty(4, np.uint64)
    for w in range(means.size):
        for i in range(drawn.replicates.size):
            begin(drawn, i, rng)
            margin = margins[w]
            for _ in range(rounds[w] - 1):
                margin += (uniform(rng) < means[w]) - tolls[w]
                if margin <= 0.0:
                    counts[w] += 1
                    break


def chances(*changes: Change) -> np.ndarray:
    """The chance of a crossing within a leap of each walk where it should be at most 1e-2."""
    changed = mutant("moss", (MARGINS, "math.log(1e20)", "math.log(100.0)"), *changes)
    mean, toll, margin, room = (np.array(column) for column in zip(*WALKS, strict=True))
    ahead = [changed["safe_rounds"](*x) for x in zip(margin, toll, mean, strict=True)]
    rounds = np.minimum(1.0 + np.floor(ahead), room).astype(np.int64)
    counts = np.zeros(mean.size, np.int64)
    crossings(mean, toll, margin, rounds, seeds(1, (1,), range(WALKERS)), counts)
    return counts / WALKERS


def test_the_inequality_behind_leaps() -> None:
    found = chances()
    assert (found < 1e-2).all()
    assert (found > 2e-4).any(), "nothing would be noticed"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("HALF_LOG = 0.5", "HALF_LOG = 0.1"),
        ("max(0.0, margin / toll)", "max(0.0, 3.0 * margin / toll)"),
        ("gain = mean - toll", "gain = mean - 0.9 * toll"),
        ("HALF_LOG - 4.0 * margin", "HALF_LOG - 40.0 * margin"),
    ],
)
def test_a_leap_too_long_is_noticed(right: str, wrong: str) -> None:
    assert (chances((MARGINS, right, wrong)) > 1e-2).any()


@njit
def play_one(form, env, rng, trace, T):
    """One replicate from a state."""
    play(form, env, rng, trace, T)


# A line that keeps an arm for too long, with a parameter of the kernel where it has one.
MISTAKES = [
    ("kl_ucb", "slope[j] * later", "slope[j] * budget"),
    (
        "kl_ucb",
        "(rest + lower_gap(rest, budget / N))",
        "(rest + 1.2 * lower_gap(rest, budget / N))",
    ),
    ("kl_ucb", "above >= sure", "above > 1.1 * sure"),
    ("moss", "ceiling - slope, room", "ceiling - 2.0 * slope, room"),
    ("imed", "index[j] - log_far", "index[j] - 0.8 * log_far"),
    ("imed", "margin, toll = S - border", "margin, toll = 1.0 + S - border"),
]


def actions(form: Any, table: np.ndarray, T: int, seed: int) -> list[int]:
    """What a kernel plays on a table."""
    env = RewardTable(table, table.mean(axis=0), table.mean(axis=0))
    none = np.zeros(0, np.int64)
    trace = ActionTrace(
        np.zeros(T, np.int64), MessageTrace(none, none, np.zeros(0), np.zeros(1, np.int64))
    )
    with np.errstate(over="ignore"):
        play_one(form, env, state(seed), trace, T)
    return trace.actions.tolist()


def table_of(number: int) -> tuple[np.ndarray, int]:
    """A table on which leaders lead for long."""
    rng = np.random.default_rng([2026, number])
    means = np.array([[0.8, 0.3, 0.2], [0.6, 0.5, 0.5], [0.9, 0.85, 0.1]])[number % 3]
    return (rng.random((3_000, 3)) < means).astype(np.float64), 3_000


@pytest.mark.parametrize(("name", "right", "wrong"), MISTAKES)
def test_a_line_that_keeps_an_arm_too_long_is_noticed(name: str, right: str, wrong: str) -> None:
    form = mutant(name, (HOMES[name], right, wrong))["form"]
    tables = [table_of(number) for number in range(30)]
    assert any(
        actions(form, table, T, i) != actions(form_of(name), table, T, i)
        for i, (table, T) in enumerate(tables)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_mutant_without_mistakes_plays_as_the_kernel(name: str) -> None:
    form = mutant(name)["form"]
    for i in range(3):
        table, T = table_of(i)
        assert actions(form, table, T, i) == actions(form_of(name), table, T, i)


class Counted(NamedTuple):
    """Bernoulli arms that count how often they are asked for rewards."""

    means: np.ndarray
    gaps: np.ndarray
    asked: np.ndarray  # int64 (1,)


@implements(known_mean, Counted)
def counted_mean(env, arm):
    return env.means[arm]


@implements(number_of_arms, Counted)
def counted_arms(env):
    return env.means.size


@implements(block_regret, Counted)
def counted_regret(env, action, n):
    return env.gaps[action] * n


@implements(pull, Counted)
def counted_pull(env, rng, arm, t, n, step=1):
    env.asked[0] += 1
    return pull(BernoulliArms(env.means, env.gaps), rng, arm, t, n, step)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_most_rounds_are_played_in_leaps(name: str) -> None:
    for instance, T, most in (("clear", 4_000, 0.6), ("close", 10**7, 0.02)):
        means = np.array(SUBOPTIMAL[instance])
        env = Counted(means, means.max() - means, np.zeros(1, np.int64))
        block = gap_block(means.size, T, 4)
        with np.errstate(over="ignore"):
            play_all(form_of(name), env, seeds(1, (1,), range(4)), block, T)
        assert env.asked[0] < 4 * most * T


def expected_pulls(name: str, T: int, means: np.ndarray) -> np.ndarray:
    """What makes the index of a worse arm with its true mean that of the best with its own."""
    found = []
    for mean in means[1:]:
        d, n = divergence(mean, means[0] - mean), 1.0
        for _ in range(100):
            if name == "moss":
                n = math.log(T / (means.size * n)) / (means[0] - mean) ** 2
            else:
                n = (math.log(T) - (math.log(n) if name == "imed" else 0.0)) / d
            n = max(n, 1.0)
        found.append(n)
    return np.array(found)


def far_horizon(name: str, instance: str, T: int, replicates: int) -> None:
    means = np.array({"azize_fig3": [0.8, 0.1, 0.1, 0.1, 0.1],
                      "sajed_c2": [0.75, 0.625, 0.5, 0.375, 0.25]}[instance])  # fmt: skip
    result = simulate(name, instance, T=T, replicates=replicates, seed=3)
    assert (result.pulls.sum(axis=1) == T).all()
    assert np.isfinite(result.regret).all()
    assert (np.diff(result.regret) >= 0.0).all()
    ratio = result.pulls[:, 1:] / expected_pulls(name, T, means)
    assert (ratio > 0.1).all() and (ratio < 3.0).all()
    # The mean over replicates and arms; one ratio deviates by 0.35 at most.
    room = 0.12 + 5.0 * 0.35 / math.sqrt(ratio.size)
    assert abs(ratio.mean() - 1.0) < room


@pytest.mark.parametrize("T", [10**12, 10**15])
@pytest.mark.parametrize("name", NAMES)
def test_far_horizons(name: str, T: int) -> None:
    far_horizon(name, "azize_fig3", T, 20)


@pytest.mark.slow
@pytest.mark.parametrize("T", [10**10, 10**12, 10**15])
@pytest.mark.parametrize("instance", ["azize_fig3", "sajed_c2"])
@pytest.mark.parametrize("name", NAMES)
def test_far_horizons_with_a_hundred_seeds(name: str, instance: str, T: int) -> None:
    far_horizon(name, instance, T, 100)


@pytest.mark.parametrize("name", NAMES)
def test_the_longest_horizon_ends(name: str) -> None:
    result = simulate(name, "azize_fig3", T=10**18, replicates=2)
    assert (result.pulls.sum(axis=1) == 10**18).all()


@pytest.mark.parametrize("name", NAMES)
def test_arms_that_always_or_never_pay_need_no_rounds(name: str) -> None:
    means = {"name": "bernoulli", "means": [1.0, 0.9, 0.0]}
    result = simulate(name, means, T=10**15, replicates=3)
    assert (result.pulls.sum(axis=1) == 10**15).all()
    assert (result.pulls[:, 0] > 10**15 - 10**5).all()


@pytest.mark.parametrize("name", ["kl_ucb", "imed"])
def test_leaps_do_not_depend_on_the_horizon(name: str) -> None:
    at = [1_000, 9_999, 10_000, 77_777]
    long = simulate(name, "hu_equal_gap", T=100_000, replicates=5, checkpoints=[*at, 100_000])
    for i, T in enumerate(at):
        short = simulate(name, "hu_equal_gap", T=T, replicates=5, checkpoints=at[: i + 1])
        assert np.array_equal(short.regret, long.regret[:, : i + 1])
