"""Traces: running regret, actions of several shapes, messages without actions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from algos import InputError, messages, replay, simulate
from algos.blocks import opened
from algos.dispatch import implements, seam
from algos.environments import benchmark, block_cost
from algos.recorders import RunningRecorder
from algos.traces import ActionTrace, MessageTrace, record, record_cycle, release


class Prices(NamedTuple):
    """What each of K actions costs a round, and what the comparator pays a round."""

    cost: np.ndarray  # float64 (K,)
    fair: float


@implements(block_cost, Prices)
def cost_of(env, action, t, n):
    return env.cost[action] * n


@implements(benchmark, Prices)
def fair_price(env, t):
    return env.fair * t


ENV = Prices(np.array([0.25, 1.0, -0.5]), 0.125)
BLOCKS = ((1, 0, 3), (4, 2, 1), (5, 1, 90), (95, 0, 10**12))


@njit
def play(env, trace, blocks):
    for t, action, n in blocks:
        record(trace, env, t, action, n)


@njit
def cycle(env, trace, t, actions, n):
    record_cycle(trace, env, t, actions, n)


def test_running_regret_fills_checkpoints_inside_blocks():
    rounds = np.array([1, 2, 3, 4, 10, 94, 95, 10**12])
    recorder = RunningRecorder(rounds, 2)
    for i in range(2):
        play(ENV, opened(recorder.block, i), BLOCKS)
    costs = np.repeat([0.25, -0.5, 1.0], [3, 1, 90])
    expected = [costs[:t].sum() - 0.125 * t for t in rounds[:6]]
    paid = costs.sum()
    expected += [paid + 0.25 * (t - 94) - 0.125 * t for t in rounds[6:]]
    assert recorder.outcome()["regret"].tolist() == [expected] * 2


def test_a_cycle_is_its_rounds_one_by_one():
    rounds = np.arange(1, 9)
    recorder = RunningRecorder(rounds, 1)
    cycle(ENV, opened(recorder.block, 0), 1, np.array([2, 0]), 7)
    costs = np.cumsum([-0.5, 0.25] * 4)[:7]
    found = recorder.outcome()["regret"][0]
    assert found[:7].tolist() == (costs - 0.125 * rounds[:7]).tolist() and found[7] == 0.0


def unheard(room=0):
    rounds, sources = np.zeros(room, np.int64), np.zeros(room, np.int64)
    return MessageTrace(rounds, sources, np.zeros(room), np.zeros(1, np.int64))


@njit
def play_one(trace, env, t, action, n):
    record(trace, env, t, action, n)


@pytest.mark.parametrize("compiled", [True, False])
def test_actions_are_numbers_tuples_or_arrays(compiled):
    function = play_one if compiled else play_one.py_func
    single = ActionTrace(np.zeros(5, np.int64), unheard())
    for t, action, n in ((1, 4, 2), (3, 1, 3)):
        function(single, ENV, t, action, n)
    assert single.actions.tolist() == [4, 4, 1, 1, 1]
    pairs = ActionTrace(np.zeros((4, 2), np.int64), unheard())
    function(pairs, ENV, 1, (1, 2), 2)
    function(pairs, ENV, 3, np.array([5, 6]), 1)
    function(pairs, ENV, 4, np.array([7, 8]), 1)
    assert pairs.actions.tolist() == [[1, 2], [1, 2], [5, 6], [7, 8]]


def test_a_value_past_the_room_is_counted():
    trace = unheard(2)
    for t in (3, 5, 8):
        release(trace, t, 1, t / 2)
    assert trace.seen[0] == 3 and trace.round.tolist() == [3, 5] and trace.value[1] == 2.5


def test_messages_of_a_run_that_no_replay_could_hold():
    long = messages("adap_ucb", "azize_fig3", epsilon=1.0, T=10**18, seed=2)
    assert len(long.message_round) > 100 and long.message_round[-1] > 10**17
    short = replay("adap_ucb", "azize_fig3", epsilon=1.0, T=10**6, seed=2)
    count = len(short.message_round)
    assert count > 20
    for name in ("message_round", "message_arm", "message_value"):
        assert np.array_equal(getattr(long, name)[:count], getattr(short, name))
    with pytest.raises(InputError, match="at most 100000000 for a replay"):
        replay("adap_ucb", "azize_fig3", epsilon=1.0, T=10**9)


def test_more_than_a_hundred_million_messages_are_refused():
    with pytest.raises(InputError) as caught:
        messages("naive_dp_ucb", "azize_fig3", epsilon=1.0, T=10**15)
    line = "T: got 1000000000000000; allowed: so few rounds that naive_dp_ucb releases at most"
    assert str(caught.value).startswith(line)


def test_more_messages_than_the_first_attempt_has_room_for():
    one = messages("naive_dp_ucb", "azize_fig3", epsilon=1.0, T=2000, replicate=1)
    assert len(one.message_value) == 5 * 1995 and np.isfinite(one.message_value).all()
    again = replay("naive_dp_ucb", "azize_fig3", epsilon=1.0, T=2000, replicate=1)
    assert np.array_equal(one.message_value, again.message_value)
    played = simulate("naive_dp_ucb", "azize_fig3", epsilon=1.0, T=2000, replicates=2)
    assert np.bincount(again.actions).tolist() == played.pulls[1].tolist()


@seam
def shout(trace, word):
    """A seam that nothing implements but for one type."""


@implements(shout, Prices)
def shout_price(trace, word):
    return word


def test_a_type_that_implements_nothing_is_named():
    with pytest.raises(TypeError, match="shout is not implemented for MessageTrace, only for Pr"):
        shout(unheard(), 1)

    @njit
    def call(trace):
        return shout(trace, 1)

    assert call(ENV) == 1
    with pytest.raises(Exception, match="shout is not implemented for MessageTrace"):
        call(unheard())
