"""The leaps of kl_ucb, moss and imed: their law, their horizons, and that there are leaps.

Laws are compared with plain compiled loops that compute every index in every round. A comparison
makes three tests at level 1e-6 / (3 · comparisons), so a run with fresh seeds fails with
probability at most 1e-6 where they agree. Action for action, on tables, these kernels are compared
in test_reference_actions.py and test_reference_minimax.py; there leaps are literal, so that what is
planted here is only seen here.
"""

from __future__ import annotations

import inspect
import math
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import njit
from reference.distribution import disagreements

import algos.bandit.imed
import algos.bandit.kl_ucb
import algos.bandit.margins
import algos.bandit.moss
from algos import simulate
from algos.bandit.environments import BernoulliArms
from algos.bandit.imed import imed_index
from algos.bandit.kl_ucb import budget_at
from algos.bandit.margins import known_mean
from algos.bandit.moss import moss_index
from algos.blocks import play_block
from algos.dispatch import implements
from algos.environments import block_regret, number_of_arms, pull
from algos.maths.kl import divergence, upper_rank
from algos.maths.ties import argmax
from algos.random.generator import uniform
from algos.random.seeding import seeds, start
from algos.traces import GapBlock

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


def kernel_sample(form: Any, instance: str, replicates: int) -> tuple[np.ndarray, np.ndarray]:
    """The same of a kernel."""
    means = np.array(SUBOPTIMAL[instance])
    env = BernoulliArms(means, means.max() - means)
    block = gap_block(means.size, ROUNDS[instance], replicates)
    with np.errstate(over="ignore"):
        play_block(form, env, seeds(7, (1,), range(replicates)), block, ROUNDS[instance])
    return block.regret[:, -1], block.counts_at[:, 0].astype(np.float64)


def gap_block(K: int, T: int, replicates: int) -> GapBlock:
    at = np.array([T], np.int64)
    return GapBlock(
        at,
        at,
        np.zeros((replicates, 1)),
        np.zeros((replicates, 1, K), np.int64),
        np.zeros(K, np.int64),
        np.zeros(3, np.int64),
    )


def form_of(name: str) -> Any:
    """The kernel's parameters."""
    return {
        "kl_ucb": algos.bandit.kl_ucb.KLUCB(0.0),
        "moss": algos.bandit.moss.MOSS(),
        "imed": algos.bandit.imed.IMED(),
    }[name]


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


def mutant(name: str, module: ModuleType, right: str, wrong: str) -> Any:
    """The form of `name`'s kernel with `right` replaced where it occurs once, in it or margins."""
    home = {"kl_ucb": algos.bandit.kl_ucb, "moss": algos.bandit.moss, "imed": algos.bandit.imed}[
        name
    ]
    texts = [inspect.getsource(algos.bandit.margins), inspect.getsource(home)]
    place = 0 if module is algos.bandit.margins else 1
    assert texts[place].count(right) == 1, f"{right!r} occurs {texts[place].count(right)} times"
    texts[place] = texts[place].replace(right, wrong)
    changed: dict[str, Any] = {"__name__": "mutant"}
    for text in texts:
        body = text.split("\nregister(\n")[0].replace("from __future__ import annotations", "")
        lines = body.split("\n")
        # What is compiled here has no file that Numba could key its cache by.
        body = "\n".join("@njit(error_model='numpy')" if x == "@compiled" else x for x in lines)
        kept = (
            {} if text is texts[0] else {x: changed[x] for x in ("play_on", "HALF_LOG", "COARSE")}
        )
        imports = "from algos.bandit.margins import"
        body = "\n".join(x for x in body.split("\n") if not x.startswith(imports))
        changed.update(kept, njit=njit)
        exec(compile(body, "mutant", "exec"), changed)
    return {"kl_ucb": lambda: changed["KLUCB"](0.0), "moss": lambda: changed["MOSS"](),
            "imed": lambda: changed["IMED"]()}[name]()  # fmt: skip


MARGINS = algos.bandit.margins
MISTAKES = [
    (name, instance, MARGINS, "math.log(1e20)", "math.log(1.5)")
    for name, instance in (("kl_ucb", "close"), ("moss", "equal"), ("imed", "close"))
] + [
    ("kl_ucb", "close", algos.bandit.kl_ucb, "slope[j] * later", "slope[j] * 0.97 * budget"),
    ("moss", "close", algos.bandit.moss, "ceiling - slope, room", "ceiling - 4.0 * slope, room"),
    ("imed", "close", algos.bandit.imed, "n[arm] + far)", "n[arm] + 0.0)"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "instance", "module", "right", "wrong"), MISTAKES)
def test_a_planted_mistake_changes_the_law(
    name: str, instance: str, module: ModuleType, right: str, wrong: str
) -> None:
    expected = plain_sample(name, instance, MANY)
    wrong_one = mutant(name, module, right, wrong)
    assert disagreements(kernel_sample(wrong_one, instance, MANY), expected, LEVEL) != []


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
            play_block(form_of(name), env, seeds(1, (1,), range(4)), block, T)
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
