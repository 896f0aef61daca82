"""One battery for every registered algorithm, read from the registry."""

from __future__ import annotations

import numpy as np
import pytest
from reference.finding import package

import algos
from algos import InputError, algorithm, algorithms, replay, simulate
from algos.blocks import environment_of, play_block
from algos.checkpoints import grid
from algos.environments import benchmark, block_cost, block_regret
from algos.families import FAMILIES
from algos.instances import resolve
from algos.recorders import GapRecorder
from algos.work import Work

EPSILON = 0.8


def family_of(entry):
    return FAMILIES[entry.family]


def examples(entry):
    """Three instances that the algorithm can play, or fewer."""
    return family_of(entry).examples[:3]


def specimen(entry):
    """An instance that the algorithm can play."""
    return examples(entry)[0]


def counted(entry):
    """The column that counts an algorithm's actions; None where its family doesn't."""
    none = np.zeros(0, np.int64)
    recorder = family_of(entry).recorder(resolve(specimen(entry)), none, none, 0)
    return recorder.column if isinstance(recorder, GapRecorder) else None


def longest(entry, wanted):
    """So many rounds, or as many as the specimen has."""
    limit = resolve(specimen(entry)).rounds
    return wanted if limit is None else min(wanted, limit)


def each(entries):
    return pytest.mark.parametrize("entry", entries, ids=lambda entry: entry.name)


EVERY = each(algorithms())
REGRETFUL = each([entry for entry in algorithms() if family_of(entry).has_regret])
SKIPPING = each([entry for entry in algorithms() if entry.skips_ahead and counted(entry)])


def equal(one, other):
    """Whether two outcomes are the same, column for column and bit for bit."""
    assert one.keys() == other.keys()
    return all(np.array_equal(one[k], other[k], equal_nan=one[k].dtype.kind == "f") for k in one)


@EVERY
def test_a_seed_fixes_the_result(entry):
    runs = [simulate(entry.name, specimen(entry), epsilon=EPSILON, T=longest(entry, 2000),
                     replicates=4, seed=s) for s in (3, 3, 4)]  # fmt: skip
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert equal(runs[0].outcome, runs[1].outcome)


@EVERY
def test_draws_matter(entry):
    """Replicates differ somewhere in what they do or release; epochs may need a long run."""

    def differ(instance, T):
        result = simulate(entry.name, instance, epsilon=EPSILON, T=T, replicates=60, seed=3)
        if any((column != column[:1]).any() for column in result.outcome.values()):
            return True
        runs = [
            algos.messages(entry.name, instance, epsilon=EPSILON, T=T, replicate=r) for r in (0, 1)
        ]
        return not np.array_equal(runs[0].message_value, runs[1].message_value)

    lengths = (9000, 10**6) if entry.skips_ahead else (9000,)
    assert any(differ(instance, longest(entry, T)) for T in lengths for instance in examples(entry))


@EVERY
def test_replicates_do_not_depend_on_their_company(entry):
    last = longest(entry, 2000)
    work = Work.checked(entry.name, resolve(specimen(entry)), EPSILON, last, {})
    rounds, T = grid(last), np.array([last])
    together = work.play(7, range(6), rounds, T)
    alone = [work.play(7, [r], rounds, T) for r in (5, 0, 3)]
    for r, one in zip((5, 0, 3), alone, strict=True):
        assert equal({key: values[r] for key, values in together.items()},
                     {key: values[0] for key, values in one.items()})  # fmt: skip


@EVERY
def test_outcomes_have_the_declared_columns(entry):
    family = family_of(entry)
    T = longest(entry, 300)
    work = Work.checked(entry.name, resolve(specimen(entry)), EPSILON, T, {})
    outcome = work.play(0, range(3), grid(T), np.array([T]))
    regret = {"regret"} if family.has_regret else set()
    assert outcome.keys() == {column.name for column in family.columns} | regret
    for column in family.columns:
        values = outcome[column.name]
        assert values.dtype == column.dtype and values.shape[:2] == (3, 1)
        assert values.ndim == (3 if column.is_list else 2) and column.meaning


def curve(family, instance, actions, env):
    """Regret after each round, action by action."""
    if family.regret == "gaps":
        return np.cumsum([block_regret(env, action, 1) for action in actions])
    costs = [block_cost(env, action, t, 1) for t, action in enumerate(actions, 1)]
    return np.cumsum(costs) - [benchmark(env, t) for t in range(1, len(actions) + 1)]


@REGRETFUL
def test_regret_is_what_the_actions_cost(entry):
    family, T = family_of(entry), longest(entry, 2500)
    result = simulate(entry.name, specimen(entry), epsilon=EPSILON, T=T, replicates=5)
    for replicate in (0, 4):
        one = replay(entry.name, specimen(entry), epsilon=EPSILON, T=T, replicate=replicate)
        instance = resolve(specimen(entry))
        work = Work.checked(entry.name, instance, EPSILON, T, {})
        env = environment_of(work.environments(0, [replicate]), 0)
        expected = curve(family, instance, one.actions, env)[result.checkpoints - 1]
        np.testing.assert_allclose(result.regret[replicate], expected, rtol=1e-9, atol=1e-9)
    column = counted(entry)
    if column is not None:
        counts = result.outcome[column]
        assert (counts.sum(axis=1) == T).all() and (np.diff(result.regret, axis=1) >= 0).all()
        assert np.bincount(one.actions, minlength=counts.shape[1]).tolist() == counts[4].tolist()


@SKIPPING
@pytest.mark.parametrize("T", [10**12, 10**18])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, float("inf")])
def test_counts_sum_to_T_exactly(entry, T, epsilon):
    for instance in examples(entry)[1:2]:
        result = simulate(entry.name, instance, epsilon=epsilon, T=T, replicates=5)
        counts = result.outcome[counted(entry)]
        assert counts.dtype == result.checkpoints.dtype == np.int64
        assert [sum(row) for row in counts.tolist()] == [T] * 5
        # where a family needs as many rounds as there are actions, each is played once or more
        least = family_of(entry).least_T(resolve(instance))
        assert ((counts > 0).sum(axis=1) >= least).all()
        assert np.isfinite(result.regret).all() and (np.diff(result.regret, axis=1) >= 0).all()


@SKIPPING
@pytest.mark.parametrize("T", [10**10, 10**12, 10**15])
@pytest.mark.parametrize("instance", ["azize_fig3", "sajed_c2"])
def test_a_hundred_seeds_come_back_from_far_horizons(entry, instance, T):
    """A kernel that paid for single rounds anywhere would not come back."""
    if entry.family not in resolve(instance).families:
        return
    result = simulate(entry.name, instance, epsilon=1.0, T=T, replicates=100, seed=T)
    counts = result.outcome[counted(entry)]
    assert [sum(row) for row in counts.tolist()] == [T] * 100
    assert np.isfinite(result.regret).all() and (np.diff(result.regret, axis=1) >= 0).all()
    if entry.regret != "O(T)":
        assert result.regret[:, -1].mean() < 1e-4 * T


@REGRETFUL
@pytest.mark.parametrize("epsilon", [0.05, 2.0])
def test_the_curve_to_a_smaller_T_is_the_start_of_a_longer_one(entry, epsilon):
    given = specimen(entry)
    if not entry.anytime:
        streams = {simulate(entry.name, given, epsilon=epsilon, T=T).stream for T in (50, 60)}
        assert len(streams) == 2
        return
    last = longest(entry, 10**9 if entry.skips_ahead else 30_000)
    long = simulate(entry.name, given, epsilon=epsilon, T=last, replicates=4)
    least = family_of(entry).least_T(resolve(given))
    for T in (least, 4, 10, 97, 1024, 12_345):
        if not least <= T <= last:
            continue
        short = simulate(entry.name, given, epsilon=epsilon, T=T, replicates=4)
        shared = np.isin(short.checkpoints, long.checkpoints)
        at = np.searchsorted(long.checkpoints, short.checkpoints[shared])
        assert np.array_equal(short.regret[:, shared], long.regret[:, at])
        exact = simulate(entry.name, given, epsilon=epsilon, T=last, replicates=4, checkpoints=[T])
        assert np.array_equal(exact.regret[:, 0], short.regret[:, -1])


@EVERY
def test_one_run_serves_every_smaller_horizon(entry):
    if not entry.anytime:
        return
    last = longest(entry, 9000)
    horizons = np.array([T for T in (5, 64, 1000, 5000, 9000) if last >= T])
    work = Work.checked(entry.name, resolve(specimen(entry)), EPSILON, last, {})
    columns = {column.name for column in family_of(entry).columns}
    long = work.play(0, range(4), horizons, horizons)
    for h, T in enumerate(horizons):
        short = simulate(entry.name, specimen(entry), epsilon=EPSILON, T=int(T), replicates=4)
        assert equal({name: long[name][:, h] for name in columns}, dict(short.outcome))


@EVERY
def test_a_kernel_compiles_once(entry):
    first, *others = examples(entry)
    simulate(entry.name, first, epsilon=EPSILON, T=longest(entry, 100))
    before = len(play_block.signatures)
    for epsilon, instance in zip((float("inf"), 3), others, strict=False):
        simulate(entry.name, instance, epsilon=epsilon, T=12345, replicates=2, seed=9)
        simulate(entry.name, instance, epsilon=epsilon, T=1e3, checkpoints=[10, 1000])
    assert len(play_block.signatures) == before


@EVERY
def test_the_actions_are_those_of_the_family(entry):
    played, T = resolve(specimen(entry)), longest(entry, 500)
    one = replay(entry.name, specimen(entry), epsilon=EPSILON, T=T)
    assert one.actions.shape == (T, *family_of(entry).action_shape(played.sizes))
    heard = algos.messages(entry.name, specimen(entry), epsilon=EPSILON, T=T)
    for name in ("message_round", "message_arm", "message_value"):
        assert np.array_equal(getattr(heard, name), getattr(one, name))
    assert (np.diff(heard.message_round) >= 0).all()


@EVERY
def test_without_noise_it_is_its_noiseless_form(entry):
    if entry.noiseless is None:
        return
    clear = package(entry.family).CLEAR
    # Large failure probabilities, so that within the table something is decided.
    shared = {p.name: 0.9 for p in algorithm(entry.noiseless).parameters if p.derive is not None}
    for seed in range(5):
        private = replay(entry.name, clear, epsilon=float("inf"), T=9000, seed=seed, **shared)
        plain = replay(entry.noiseless, clear, T=9000, seed=seed, **shared)
        assert np.array_equal(private.actions, plain.actions)
        assert len(np.unique(private.actions[-100:], axis=0)) < 3


def test_distinct_algorithms_play_differently():
    seen = {}
    for entry in algorithms():
        table = package(entry.family).table(np.random.default_rng(11), 9000)
        runs = [replay(entry.name, instance, epsilon=3.0, T=longest(entry, 9000))
                for instance in (specimen(entry), table)]  # fmt: skip
        seen[entry.name] = tuple(
            column.tobytes() for run in runs for column in (run.actions, run.message_value)
        )
    assert len(set(seen.values())) == len(seen)


@EVERY
def test_epsilon_enters_only_where_it_is_used(entry):
    streams = {simulate(entry.name, specimen(entry), epsilon=e, T=50).stream for e in (0.1, 1.0)}
    assert len(streams) == (2 if entry.uses_epsilon else 1)
    assert entry.uses_epsilon == (entry.guarantee != "none")


@EVERY
def test_the_registry_says_what_a_reader_needs(entry):
    family = family_of(entry)
    assert entry.source and entry.summary and family.summary and family.action
    assert entry.regret or not family.has_regret
    assert entry.kernel.__doc__ and entry.version >= 1
    played = resolve(specimen(entry))
    assert tuple(played.sizes) == family.sizes
    costs = [entry.cost(float(T), played.sizes, 1.0) for T in (10**3, 10**6)]
    assert 0 < costs[0] < costs[1]
    if entry.skips_ahead:
        assert entry.cost(1e12, played.sizes, 1.0) < 1e3 * costs[1]  # as √T, at most
    for parameter in entry.parameters:
        assert parameter.meaning
        for wrong in (float("nan"), "wide", -1.0):
            with pytest.raises(InputError, match=parameter.name):
                simulate(entry.name, specimen(entry), epsilon=1.0, T=50, **{parameter.name: wrong})


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_a_family_describes_itself(family):
    described = family.describe()
    assert described["sizes"] == list(family.sizes) and described["regret"] == family.regret
    assert [column["name"] for column in described["columns"]] == [c.name for c in family.columns]
    for instance in map(resolve, family.examples):
        assert family.name in instance.families and tuple(instance.sizes) == family.sizes


def test_every_public_name_is_documented():
    for name in algos.__all__:
        assert getattr(algos, name).__doc__, name
