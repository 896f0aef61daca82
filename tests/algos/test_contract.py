"""One battery for every registered algorithm, read from the registry."""

from __future__ import annotations

import numpy as np
import pytest

import algos
from algos import InputError, algorithm, algorithms, replay, simulate
from algos.checkpoints import grid
from algos.families import FAMILIES
from algos.instances import resolve
from algos.simulate import Work

MEANS = (0.9, 0.5, 0.3)
BERNOULLI = {"name": "bernoulli", "means": list(MEANS)}
EPSILON = 0.8
# Three instances of each family; what a run to T = 9000 does on the first depends on the draws.
INSTANCES = {
    "bandit": (BERNOULLI, "azize_fig3", "sajed_c1"),
    "full_information": (BERNOULLI, "azize_fig3", "sajed_c1"),
    "stopping_rule": tuple({"name": "two_point", "mu": mu} for mu in (0.9, -0.4, 0.0)),
}
EVERY = pytest.mark.parametrize("entry", algorithms(), ids=lambda entry: entry.name)
REGRETFUL = pytest.mark.parametrize(
    "entry",
    [a for a in algorithms() if FAMILIES[a.family].has_regret],
    ids=lambda entry: entry.name,
)
SKIPPING = pytest.mark.parametrize(
    "entry",
    [a for a in algorithms() if a.skips_ahead and FAMILIES[a.family].has_regret],
    ids=lambda entry: entry.name,
)


def specimen(entry):
    """An instance that the algorithm can play."""
    return INSTANCES[entry.family][0]


def equal(one, other):
    """Whether two outcomes are the same, column for column and bit for bit."""
    assert one.keys() == other.keys()
    return all(np.array_equal(one[k], other[k], equal_nan=one[k].dtype.kind == "f") for k in one)


def table(seed: int, rounds: int = 3000, K: int = 4) -> dict[str, object]:
    """A reward table whose columns differ in mean."""
    rng = np.random.default_rng(seed)
    rewards = rng.random((rounds, K)) * np.linspace(1.0, 0.2, K)
    return {"name": "reward_table", "rewards": rewards.tolist()}


@EVERY
def test_a_seed_fixes_the_result(entry):
    played = specimen(entry)
    runs = [simulate(entry.name, played, epsilon=EPSILON, T=2000, replicates=4, seed=s)
            for s in (3, 3, 4)]  # fmt: skip
    assert np.array_equal(runs[0].regret, runs[1].regret)
    assert equal(runs[0].outcome, runs[1].outcome)
    others = [replay(entry.name, played, epsilon=EPSILON, T=9000, seed=s) for s in range(3, 9)]
    same_actions = all(np.array_equal(others[0].actions, other.actions) for other in others)
    # Elimination and episodes may choose alike under other draws; what they release differs.
    same_values = all(np.array_equal(others[0].message_value, o.message_value) for o in others)
    if entry.name != "successive_elimination":  # releases nothing, eliminates all at once here
        assert not (same_actions and same_values)


@EVERY
def test_replicates_do_not_depend_on_their_company(entry):
    work = Work.checked(entry.name, resolve(specimen(entry)), EPSILON, 2000, {})
    rounds, T = grid(2000), np.array([2000])
    together = work.play(7, range(6), rounds, T)
    alone = [work.play(7, [r], rounds, T) for r in (5, 0, 3)]
    for r, one in zip((5, 0, 3), alone, strict=True):
        assert equal({key: values[r] for key, values in together.items()},
                     {key: values[0] for key, values in one.items()})  # fmt: skip


@REGRETFUL
def test_regret_is_what_the_pulls_cost(entry):
    result = simulate(entry.name, BERNOULLI, epsilon=EPSILON, T=2500, replicates=5)
    assert (result.pulls.sum(axis=1) == 2500).all()
    gaps = max(MEANS) - np.array(MEANS)
    np.testing.assert_allclose(result.regret[:, -1], result.pulls @ gaps, rtol=1e-12)
    assert (np.diff(result.regret, axis=1) >= 0).all()
    # the same action for action
    first = replay(entry.name, BERNOULLI, epsilon=EPSILON, T=2500)
    counts = np.bincount(first.actions, minlength=3)
    assert counts.tolist() == result.pulls[0].tolist()
    curve = np.cumsum(gaps[first.actions])[result.checkpoints - 1]
    np.testing.assert_allclose(result.regret[0], curve, rtol=1e-9)


@SKIPPING
@pytest.mark.parametrize("T", [10**12, 10**18])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, float("inf")])
def test_pulls_sum_to_T_exactly(entry, T, epsilon):
    result = simulate(entry.name, "azize_fig3", epsilon=epsilon, T=T, replicates=5)
    assert result.pulls.dtype == result.checkpoints.dtype == np.int64
    assert [sum(row) for row in result.pulls.tolist()] == [T] * 5
    # where a family needs K rounds, an arm teaches only by being played
    least = FAMILIES[entry.family].least_T(resolve("azize_fig3"))
    assert ((result.pulls > 0).sum(axis=1) >= least).all()
    assert np.isfinite(result.regret).all() and (np.diff(result.regret, axis=1) >= 0).all()


@REGRETFUL
@pytest.mark.parametrize("epsilon", [0.05, 2.0])
def test_the_curve_to_a_smaller_T_is_the_start_of_a_longer_one(entry, epsilon):
    if not entry.anytime:
        streams = {simulate(entry.name, BERNOULLI, epsilon=epsilon, T=T).stream for T in (50, 60)}
        assert len(streams) == 2
        return
    longest = 10**9 if entry.skips_ahead else 30_000
    long = simulate(entry.name, BERNOULLI, epsilon=epsilon, T=longest, replicates=4)
    for T in (3, 4, 10, 97, 1024, 12_345):
        short = simulate(entry.name, BERNOULLI, epsilon=epsilon, T=T, replicates=4)
        shared = np.isin(short.checkpoints, long.checkpoints)
        at = np.searchsorted(long.checkpoints, short.checkpoints[shared])
        assert np.array_equal(short.regret[:, shared], long.regret[:, at])
        exact = simulate(
            entry.name, BERNOULLI, epsilon=epsilon, T=longest, replicates=4, checkpoints=[T]
        )
        assert np.array_equal(exact.regret[:, 0], short.regret[:, -1])


@EVERY
def test_one_run_serves_every_smaller_horizon(entry):
    if not entry.anytime:
        return
    horizons = np.array([5, 64, 1000, 5000, 9000])
    work = Work.checked(entry.name, resolve(specimen(entry)), EPSILON, 9000, {})
    columns = {column.name for column in FAMILIES[entry.family].columns}
    long = work.play(0, range(4), horizons, horizons)
    for h, T in enumerate(horizons):
        short = simulate(entry.name, specimen(entry), epsilon=EPSILON, T=int(T), replicates=4)
        assert equal({name: long[name][:, h] for name in columns}, dict(short.outcome))


@EVERY
def test_a_kernel_compiles_once(entry):
    first, second, third = INSTANCES[entry.family]
    simulate(entry.name, first, epsilon=EPSILON, T=100)
    before = len(entry.kernel.signatures)
    simulate(entry.name, second, epsilon=float("inf"), T=12345, replicates=2, seed=9)
    simulate(entry.name, third, epsilon=3, T=1e3, checkpoints=[10, 1000])
    assert len(entry.kernel.signatures) == before


@EVERY
def test_without_noise_it_is_its_noiseless_form(entry):
    if entry.noiseless is None:
        return
    # Wide gaps and large failure probabilities, so that epochs do eliminate within the table.
    rewards = {"name": "reward_table", "rewards": [[0.97, 0.02, 0.5]] * 9000}
    shared = {p.name: 0.9 for p in algorithm(entry.noiseless).parameters if p.derive is not None}
    for seed in range(5):
        private = replay(entry.name, rewards, epsilon=float("inf"), T=9000, seed=seed, **shared)
        plain = replay(entry.noiseless, rewards, T=9000, seed=seed, **shared)
        assert np.array_equal(private.actions, plain.actions)
        assert np.unique(private.actions[-100:]).size < 3


def test_distinct_algorithms_play_differently():
    played = {family: instances[0] for family, instances in INSTANCES.items()}
    played["bandit"] = played["full_information"] = table(11)
    rounds = {"bandit": 3000, "full_information": 3000, "stopping_rule": 9000}
    seen = {
        entry.name: tuple(
            replay(entry.name, played[entry.family], epsilon=3.0, T=rounds[entry.family]).actions
        )
        for entry in algorithms()
        # neither eliminates anything within 3000 rounds
        if entry.name not in ("dp_se", "successive_elimination")
    }
    assert len(set(seen.values())) == len(seen)


@EVERY
def test_epsilon_enters_only_where_it_is_used(entry):
    streams = {simulate(entry.name, specimen(entry), epsilon=e, T=50).stream for e in (0.1, 1.0)}
    assert len(streams) == (2 if entry.uses_epsilon else 1)
    assert entry.uses_epsilon == (entry.guarantee != "none")


@EVERY
def test_the_registry_says_what_a_reader_needs(entry):
    assert entry.source and entry.summary
    assert entry.regret or not FAMILIES[entry.family].has_regret
    assert entry.kernel.__doc__ and entry.version >= 1
    costs = [entry.cost(float(T), 5, 1.0) for T in (10**3, 10**6)]
    assert 0 < costs[0] < costs[1]
    if entry.skips_ahead:
        assert costs[1] < 10 * costs[0]
    played = specimen(entry)
    for parameter in entry.parameters:
        assert parameter.meaning
        with pytest.raises(InputError, match=parameter.name):
            simulate(entry.name, played, epsilon=1.0, T=50, **{parameter.name: float("nan")})
        with pytest.raises(InputError, match=parameter.name):
            simulate(entry.name, played, epsilon=1.0, T=50, **{parameter.name: "wide"})
        with pytest.raises(InputError, match=parameter.name):
            simulate(entry.name, played, epsilon=1.0, T=50, **{parameter.name: -1.0})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"algorithm": "adap_ukb"}, "closest: adap_ucb"),
        ({"instance": "azize_fig4"}, "closest: azize_fig3"),
        ({"instance": {"name": "bernoulli", "means": [0.5, 1.5]}}, "1.5"),
        ({"instance": {"name": "bernoulli", "means": [0.5, float("nan")]}}, "nan"),
        ({"instance": {"name": "bernoulli", "means": [0.5]}}, "two arms"),
        ({"instance": {"name": "bernoulli", "mean": [0.5, 0.4]}}, "closest: means"),
        ({"instance": {"name": "equal_gap", "gap": 0.1, "best": 0.5}}, "K"),
        ({"instance": {"name": "equal_gap", "gap": 0.6, "best": 0.5, "K": 3}}, "gap"),
        ({"instance": {"name": "uniform", "low": [0.5, 0.1], "high": [0.4, 0.2]}}, "high"),
        ({"instance": {"name": "beta", "a": [1, 1], "b": [0, 1]}}, "positive"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"T": 4}, "K = 5"),
        ({"T": 10.5}, "T"),
        ({"T": 10**19}, "T"),
        ({"replicates": 0}, "replicates"),
        ({"seed": -1}, "seed"),
        ({"checkpoints": [0, 5]}, "checkpoints"),
        ({"checkpoints": [101]}, "checkpoints"),
        ({"checkpoints": []}, "checkpoints"),
        ({"checkpoints": 5}, "checkpoints"),
        ({"instance": None}, "a mapping"),
        ({"instance": [0.5, 0.1]}, "a mapping"),
        ({"instance": {"name": "beta", "a": [1e-320, 1], "b": [1, 1]}}, "0.001"),
        ({"epsilon": 1e-320}, "epsilon"),
        ({"replicates": 10**12}, "replicates"),
        ({"alpha": 0}, "alpha"),
        ({"alfa": 3}, "closest: alpha"),
    ],
)
def test_bad_input_is_one_clear_line(change, says):
    good = {"algorithm": "adap_ucb", "instance": "azize_fig3", "epsilon": 1.0, "T": 100}
    with pytest.raises(InputError) as caught:
        simulate(**(good | change))
    line = str(caught.value)
    assert says in line and "\n" not in line and "allowed:" in line


def test_numpy_scalars_are_numbers():
    plain = simulate("adap_ucb", "azize_fig3", epsilon=1.0, T=500, alpha=3.0, replicates=2)
    same = simulate("adap_ucb", "azize_fig3", epsilon=np.float32(1), T=np.int64(500),
                    alpha=np.int64(3), replicates=np.int64(2))  # fmt: skip
    assert plain.stream == same.stream and np.array_equal(plain.regret, same.regret)
    gaps = {"name": "equal_gap", "gap": np.float64(0.1), "best": 0.5, "K": np.int64(3)}
    assert resolve(gaps).means == (0.5, 0.4, 0.4)


def test_every_public_name_is_documented():
    for name in algos.__all__:
        assert getattr(algos, name).__doc__, name
