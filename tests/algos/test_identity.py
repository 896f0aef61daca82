"""Streams, cells and the generators that follow from them."""

from __future__ import annotations

import dataclasses

import numpy as np

from algos.checkpoints import LONGEST, grid
from algos.identity import canonical, cell_id, words
from algos.instances import resolve
from algos.random.generator import next_word
from algos.random.seeding import state
from algos.work import Work


def stream(algorithm="adap_ucb", instance="azize_fig3", epsilon=1.0, T=1000, **parameters):
    return Work.checked(algorithm, resolve(instance), epsilon, T, parameters).stream


def test_a_named_instance_is_its_definition():
    explicit = {"name": "bernoulli", "means": [0.8, 0.1, 0.1, 0.1, 0.1]}
    assert stream() == stream(instance=explicit)
    assert stream() == stream(instance={"name": "equal_gap", "K": 5, "gap": 0.7, "best": 0.8})
    linear = {"name": "linear", "K": 5, "low": 0.25, "high": 0.75}
    assert stream(instance="sajed_c2") == stream(instance="hu_distinct") == stream(instance=linear)
    assert resolve(linear).row_label == resolve("hu_distinct").row_label == "sajed_c2"


def test_what_a_stream_depends_on():
    base = stream()
    assert base == stream(alpha=3.1) == stream(epsilon=1) == stream(T=5000)
    assert len({base, stream(alpha=3.2), stream(epsilon=1.5), stream(instance="sajed_c1"),
                stream("adap_klucb"), stream(epsilon=float("inf"))}) == 6  # fmt: skip
    assert stream("dp_se") != stream("dp_se", T=5000)
    assert stream("dp_se") != stream("dp_se", beta=1e-3)
    assert stream("ucb1", epsilon=0.1) == stream("ucb1", epsilon=None)


def test_a_cell_adds_seed_and_rounds():
    names = {cell_id(stream(), seed, T) for seed in (0, 1) for T in (10, 20)}
    assert len(names) == 4 and all(len(name) == 32 for name in names)


def test_identities_are_the_same_on_every_machine():
    # Written down once, for version 1; a change would orphan every store there is.
    work = Work.checked("adap_ucb", resolve("azize_fig3"), 1.0, 1000, {})
    first = dataclasses.replace(work, algorithm=dataclasses.replace(work.algorithm, version=1))
    assert first.stream == "f2804efcafc75f2219f40c43916641b9"
    assert cell_id(first.stream, 0, 1000) == "c53308a2e46bbc3cdc5efb589c06c560"
    rng = state(0, words(first.stream), 0)
    assert [int(next_word(rng) % np.uint64(1000)) for _ in range(5)] == [757, 996, 852, 815, 308]


def test_generators_differ_by_seed_stream_and_replicate():
    first = {
        tuple(state(seed, words(name), replicate).tolist())
        for seed in (0, 1, 2**62)
        for name in (stream(), stream("adap_klucb"))
        for replicate in (0, 1, 10**6)
    }
    assert len(first) == 18


def test_canonical_json():
    assert canonical({"b": float("inf"), "a": [1, 0.5]}) == '{"a":[1,0.5],"b":"inf"}'


def test_the_checkpoint_grid_does_not_depend_on_T():
    longest = grid(LONGEST)
    assert longest.dtype == np.int64 and (np.diff(longest) > 0).all()
    for T in (1, 2, 7, 1000, 12345, 10**7, 10**18):
        own = grid(T)
        assert own[0] == 1 and own[-1] == T
        assert np.isin(own[:-1], longest).all()
        assert set(longest[longest <= T]) <= set(own)
    powers = 2 ** np.arange(61)
    assert np.isin(powers, longest).all()
    assert 5 in grid(100, extra=[5, 200]) and 200 not in grid(100, extra=[200])
