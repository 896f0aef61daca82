"""Instances: labels, what generated them, sizes, large contents, environments drawn."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

from algos import InputError, replay, simulate
from algos.bandit.environments import BernoulliArms
from algos.bandit.instances import KINDS as ARMS
from algos.canonical import NUMBERS, canonical, pieces
from algos.identity import words
from algos.instances import contents, register_kind, resolve, sizes_wanted
from algos.random.continuous import laplace
from algos.random.generator import uniform
from algos.random.seeding import state
from algos.work import Work

GAP = {"name": "equal_gap", "gap": 0.1, "best": 0.5}


@pytest.mark.parametrize(
    ("specification", "label", "row_label"),
    [
        ("hu_distinct", "hu_distinct", "sajed_c2"),
        ({"name": "hu_distinct"}, "hu_distinct", "sajed_c2"),
        ({"name": "hu_distinct", "label": "Hu et al."}, "Hu et al.", "sajed_c2"),
        (GAP | {"K": 5}, "equal_gap(gap=0.1, best=0.5, K=5)", "hu_equal_gap"),
        ({"K": 10, **GAP}, "equal_gap(gap=0.1, best=0.5, K=10)", "bernoulli(0.5, 9 × 0.4)"),
        (
            {"name": "linear", "low": 0.1, "high": 0.9, "K": 17},
            "linear(low=0.1, high=0.9, K=17)",
            "linear(K=17, 0.1 to 0.9)",
        ),
        ({"name": "bernoulli", "means": [0.8, 0.1]}, "bernoulli(0.8, 0.1)", "bernoulli(0.8, 0.1)"),
        (
            {"name": "bernoulli", "means": [0.8] + [0.1] * 4},
            "bernoulli(0.8, 0.1, 0.1, 0.1, 0.1)",
            "azize_fig3",
        ),
        (
            {"name": "bernoulli", "means": [0.5] + [0.25] * 9},
            "bernoulli(0.5, 9 × 0.25)",
            "bernoulli(0.5, 9 × 0.25)",
        ),
        (
            {"name": "bernoulli", "means": np.linspace(1, 0, 11)},
            "bernoulli(1 to 0 in 10 steps)",
            "linear(K=11, 0 to 1)",
        ),
        (
            {"name": "beta", "a": [2, 1], "b": [1, 2]},
            "beta(a=[2, 1], b=[1, 2])",
            "beta(2, 1, 1, 2)",
        ),
        (
            {"name": "reward_table", "rewards": [[0.5, 0.25]]},
            "reward_table[fc7f3980]",
            "reward_table[fc7f3980]",
        ),
        ({"name": "two_point", "mu": 0.5}, "two_point(mu=0.5)", "two_point(mu=0.5, R=1)"),
    ],
)
def test_labels(specification, label, row_label):
    instance = resolve(specification)
    assert (instance.label, instance.row_label) == (label, row_label)


def test_two_names_of_one_content_differ_in_label_only():
    one, other = resolve("hu_distinct"), resolve("sajed_c2")
    assert one != other and one.definition == other.definition and len({one, other}) == 2
    assert one == resolve({"name": "hu_distinct"})
    streams = {Work.checked("ucb1", each, None, 100, {}).stream for each in (one, other)}
    assert len(streams) == 1


@pytest.mark.parametrize("label", ["", "two\nlines", 5])
def test_a_label_is_a_line_of_text(label):
    with pytest.raises(InputError, match=r"instance equal_gap\.label"):
        resolve(GAP | {"K": 3, "label": label})


def test_an_instance_remembers_what_generated_it():
    written = {"name": "equal_gap", "gap": 0.1, "best": 0.5, "K": 4}
    for instance in (resolve(GAP, K=4), resolve(written | {"label": "mine"})):
        assert json.loads(instance.generator) == written and instance.sizes == {"K": 4}
    assert resolve("azize_fig3").generator == '{"name":"azize_fig3"}'
    explicit = {"name": "bernoulli", "means": np.array([0.5, 0.25], np.float32)}
    assert json.loads(resolve(explicit).generator) == {"name": "bernoulli", "means": [0.5, 0.25]}
    samples = {"name": "sample_table", "samples": np.zeros(5000), "R": 2}
    assert json.loads(resolve(samples).generator) == {"name": "sample_table", "R": 2}


def test_sizes_come_from_outside_where_they_are_not_set():
    assert sizes_wanted(GAP) == sizes_wanted("linear") == ("K",)
    assert sizes_wanted(GAP | {"K": 3}) == sizes_wanted("azize_fig3") == ()
    assert sizes_wanted({"name": "two_point", "mu": 0.1}) == ()
    assert resolve(GAP, K=3, N=7).sizes == {"K": 3}
    assert (
        resolve("azize_fig3", K=3).sizes == {"K": 5}
        and resolve(GAP | {"K": 2}, K=3).sizes["K"] == 2
    )
    with pytest.raises(InputError, match=r"^K: got None; allowed: an integer ≥ 2"):
        resolve(GAP)
    with pytest.raises(InputError, match=r"instance equal_gap\.K: got 1"):
        resolve(GAP | {"K": 1})
    with pytest.raises(InputError, match="closest: label"):
        resolve(GAP | {"K": 3, "labl": "x"})


def table(rounds: int, K: int = 3) -> np.ndarray:
    return np.round(np.random.default_rng(12).random((rounds, K)), 6)


def test_json_in_pieces_is_the_json():
    values = {
        "b": table(NUMBERS // 2),
        "a": [1, 0.5, float("inf")],
        "wide": np.arange(5.0 * NUMBERS).reshape(2, -1) / 7,
        "flat": -np.arange(3 * NUMBERS) / 3,
        "deep": np.ones((4, 70, 300)),
        "empty": np.zeros(0),
        "one": np.float64(2.0),
    }
    plain = {key: v.tolist() if isinstance(v, np.ndarray) else v for key, v in values.items()}
    plain["a"] = [1, 0.5, "inf"]
    parts = list(pieces(values))
    assert "".join(parts) == json.dumps(plain, sort_keys=True, separators=(",", ":"))
    assert max(map(len, parts)) < 60 * NUMBERS and canonical({"x": np.ones(2)}) == '{"x":[1.0,1.0]}'


def test_streams_of_a_table_above_the_limit_are_those_written_down():
    """Written down before large contents had addresses; a change would orphan stores."""
    for rewards in (table(200).tolist(), table(200), np.asfortranarray(table(200))):
        instance = resolve({"name": "reward_table", "rewards": rewards})
        assert instance.definition.startswith("sha256:")
        works = [Work.checked(name, instance, 0.5, 200, {}) for name in ("ucb1", "dp_se")]
        first = [dataclasses.replace(work.algorithm, version=1) for work in works]
        streams = [
            dataclasses.replace(work, algorithm=entry).stream
            for work, entry in zip(works, first, strict=True)
        ]
        assert streams == ["7de5eb7661fe9350556e0f0cf620821e", "0275a936df6e66aeacdf13817ff1af03"]


def test_the_limit_is_four_kilobytes():
    for count in (681, 682):
        means = [0.125] + [0.0625] * 2 + [0.5] * count
        text = canonical({"name": "bernoulli", "means": means})
        definition = resolve({"name": "bernoulli", "means": means}).definition
        assert definition == text if len(text) <= contents.LIMIT else len(definition) == 71


def test_a_large_content_is_shared_not_copied():
    rewards = table(2000)
    instance = resolve({"name": "reward_table", "rewards": rewards})
    [kept] = contents.large_contents(
        [instance.definition, resolve("azize_fig3").definition]
    ).values()
    assert np.shares_memory(instance.environment.rewards, kept["rewards"])
    before = instance.environment.rewards.copy()
    rewards[:] = 0.0  # the user's own array may change
    assert np.array_equal(instance.environment.rewards, before)
    with pytest.raises(ValueError, match="read-only"):
        instance.environment.rewards[0, 0] = 0.5
    work = Work.checked("ucb1", instance, None, 2000, {})
    assert work.stream and len(pickle.dumps(work)) < 1500
    one, other = (
        simulate("ucb1", {"name": "reward_table", "rewards": r}, T=2000).pulls
        for r in (before, before.tolist())
    )
    assert np.array_equal(one, other)


def test_another_process_needs_the_content():
    instance = resolve({"name": "reward_table", "rewards": table(2000)})
    given = contents.large_contents([instance.definition])
    script = """
import pickle, sys
instance, given = pickle.load(sys.stdin.buffer)
from algos.instances import contents
print(instance.label, instance.sizes, instance.rounds, instance.families, instance.draw_cost)
for what in (lambda: instance.environment, lambda: instance.means,
             lambda: contents.large_contents([instance.definition])):
    try:
        what()
    except RuntimeError as error:
        print(error)
contents.provide(given)
print(instance.environment.rewards.sum(), instance.means)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], input=pickle.dumps((instance, given)), capture_output=True,
        timeout=300, check=True,
    )  # fmt: skip
    first, *refused, last = done.stdout.decode().splitlines()
    assert first.startswith(f"{instance.label} {{'K': 3}} 2000 ('bandit', 'full_information')")
    assert len(refused) == 3 and all(instance.definition in line for line in refused)
    assert last == f"{instance.environment.rewards.sum()} {instance.means}"


def test_warming_a_kernel_asks_for_no_stream(monkeypatch):
    instance = resolve({"name": "reward_table", "rewards": table(1999)})
    monkeypatch.setattr("algos.work.stream_id", None)
    for name in ("dp_se", "ftl"):
        Work.checked(name, instance, 1.0, 1999, {}).warm()


def test_streams_read_the_text_that_was_written_once(monkeypatch):
    content = {"name": "reward_table", "rewards": np.round(table(301), 3)}
    instance, text = resolve(content), canonical(content).encode()
    monkeypatch.setattr(contents, "pieces", None)
    assert b"".join(contents.text_of(instance.definition)) == text


def test_a_full_disk_only_costs_time(monkeypatch):
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError("no space left on device")

    monkeypatch.setattr(contents.tempfile, "SpooledTemporaryFile", lambda max_size: Full())
    content = {"name": "reward_table", "rewards": np.round(table(300), 3)}
    instance = resolve(content)
    text = canonical(content).encode()
    assert instance.definition == f"sha256:{hashlib.sha256(text).hexdigest()}"
    assert b"".join(contents.text_of(instance.definition)) == text


@pytest.mark.parametrize(
    ("rewards", "says"),
    [
        (np.array([[0.5, 1.5]]), "got 1.5"),
        (np.array([[0.5, np.nan]]), "got nan"),
        (np.array([[True, False]]), "got True"),
        (np.array([["a", "b"]]), "got 'a'"),
        (np.zeros((3, 1)), "got 1; allowed: two arms"),
        (np.zeros(3), "rows of K"),
        (np.zeros((0, 2)), "rows of K"),
        ([[0.5, 0.5], [0.5]], "several lengths"),
        ([[0.5, "x"]], "got 'x'"),
        ([], "got []"),
    ],
)
def test_bad_tables_are_one_clear_line(rewards, says):
    with pytest.raises(InputError) as caught:
        resolve({"name": "reward_table", "rewards": rewards})
    line = str(caught.value)
    assert line.startswith("instance reward_table.rewards: ") and says in line and "\n" not in line


def _drawn(content, rng):
    means = np.clip(np.array(content["means"]) + rng.uniform(-0.05, 0.05, 2), 0.0, 1.0)
    return BernoulliArms(means, means.max() - means)


def _jittered(given):
    return {"name": "test_jittered", "means": list(given["means"])}


register_kind(
    "test_jittered",
    dataclasses.replace(
        ARMS["bernoulli"], resolve=_jittered, draw=_drawn, row_label=lambda content: None,
        families=("bandit",),
    ),
)  # fmt: skip


def test_a_kind_may_draw_an_environment_for_each_replicate():
    specification = {"name": "test_jittered", "means": [0.8, 0.4]}
    instance = resolve(specification)
    assert instance.families == ("bandit",) and instance.means == (0.8, 0.4)
    work = Work.checked("adap_ucb", instance, 1.0, 500, {})
    drawn = list(work.environments(3, range(4)))
    spelt = [int(work.stream[i : i + 8], 16) for i in range(0, 32, 8)]
    for replicate, env in enumerate(drawn):
        rng = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(*spelt, replicate, 1)))
        assert np.array_equal(env.means, _drawn({"means": [0.8, 0.4]}, rng).means)
    assert len({env.means[0] for env in drawn}) == 4
    # a replicate's environment is its own, and the kernel's draws are those of any other kind
    rounds = np.array([100, 500])
    together, alone = work.play(3, range(4), rounds, rounds), work.play(3, [2], rounds, rounds)
    assert np.array_equal(together["regret"][2], alone["regret"][0])
    gaps = np.array([env.gaps for env in drawn])
    np.testing.assert_allclose(together["regret"], (together["pulls"] * gaps[:, None]).sum(axis=2))
    first = replay("adap_ucb", specification, epsilon=1.0, T=500, seed=3, replicate=2)
    assert np.bincount(first.actions).tolist() == together["pulls"][2, -1].tolist()
    rng = state(3, words(work.stream), 2)
    env = drawn[2]
    by_hand = float(uniform(rng) < env.means[0]) + laplace(rng, 1.0)
    assert first.message_value[0] == pytest.approx(by_hand, rel=1e-15)


def test_the_same_environment_again_where_nothing_is_drawn():
    def refuse():
        raise AssertionError("no generator is needed")
        yield

    instance = resolve("azize_fig3")
    environments = instance.environments(refuse())
    assert environments is instance.environment
