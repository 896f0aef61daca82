"""Traces: what a kernel reports while it plays, and what is kept of it.

A kernel calls, with rounds 1-based and blocks never longer than what is left of T,

- `record(trace, env, t, action, n)` after it decided to play `action` in rounds t … t + n - 1;
- `record_cycle(trace, env, t, actions, n)` when it plays `actions` in turn over those n rounds
  (actions[0] in round t, actions[1] in t + 1, …; the last pass may be cut);
- `release(trace, t, source, value)` for every number that leaves a user or a private mechanism,
  at the round after which it is known; `source` says whose it is: an arm, an action, a user.

These are seams (`algos.dispatch`): a trace that ignores a call costs nothing. The two regret
traces fill checkpoints inside a block without splitting the block's draw. A family with columns
of its own puts one of them into a NamedTuple of its own and implements `record` for that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from algos.blocks import opened
from algos.dispatch import implements, seam
from algos.environments import benchmark, block_cost, block_regret

MOST_MESSAGES = 10**8
NEVER = np.iinfo(np.int64).max  # in place of the next checkpoint, where there is none


class TooManyMessages(Exception):
    """A kernel released more than MOST_MESSAGES values."""


class GapTrace(NamedTuple):
    """Regret at checkpoints from how often each action was played, and the counts at horizons."""

    checkpoints: np.ndarray  # int64 (C,), ascending
    horizons: np.ndarray  # int64 (H,), ascending, each one of the checkpoints
    regret: np.ndarray  # out: float64 (C,)
    counts_at: np.ndarray  # out: int64 (H, A)
    counts: np.ndarray  # scratch: int64 (A,), zero at the start
    cursor: np.ndarray  # scratch: int64 (3,), next checkpoint and next horizon, zero at the
    # start, and the round of that checkpoint


class GapBlock(NamedTuple):
    """What the replicates of a block record as `GapTrace`s."""

    checkpoints: np.ndarray  # int64 (C,)
    horizons: np.ndarray  # int64 (H,)
    regret: np.ndarray  # out: float64 (R, C)
    counts_at: np.ndarray  # out: int64 (R, H, A)
    counts: np.ndarray  # scratch: int64 (A,)
    cursor: np.ndarray  # scratch: int64 (3,)


class RunningTrace(NamedTuple):
    """Regret at checkpoints as what was paid so far less what the comparator has paid."""

    checkpoints: np.ndarray  # int64 (C,), ascending
    regret: np.ndarray  # out: float64 (C,)
    cost: np.ndarray  # scratch: float64 (1,), zero at the start
    cursor: np.ndarray  # scratch: int64 (1,), next checkpoint, zero at the start


class RunningBlock(NamedTuple):
    """What the replicates of a block record as `RunningTrace`s."""

    checkpoints: np.ndarray  # int64 (C,)
    regret: np.ndarray  # out: float64 (R, C)
    cost: np.ndarray  # scratch: float64 (1,)
    cursor: np.ndarray  # scratch: int64 (1,)


class MessageTrace(NamedTuple):
    """Every released value: for audits and tests."""

    round: np.ndarray  # out: int64 (M,)
    source: np.ndarray  # out: int64 (M,)
    value: np.ndarray  # out: float64 (M,)
    seen: np.ndarray  # out: int64 (1,), messages so far; those past M are counted, not kept


class ActionTrace(NamedTuple):
    """Every action, and every released value: for tests, audits and small T."""

    actions: np.ndarray  # out: int64 (T, …), the further axes those of one action
    messages: MessageTrace


@seam
def record(trace: Any, env: Any, t: int, action: Any, n: int) -> None:
    """Report that `action` is played in rounds t … t + n - 1."""


@seam
def record_cycle(trace: Any, env: Any, t: int, actions: np.ndarray, n: int) -> None:
    """Report that `actions` are played in turn in rounds t … t + n - 1."""


@seam
def release(trace: Any, t: int, source: int, value: float) -> None:
    """Report a number that leaves a user or a private mechanism after round t."""


@implements(record_cycle)
def record_one_by_one(trace: Any, env: Any, t: int, actions: np.ndarray, n: int) -> None:
    """For any trace that records actions: round by round."""
    for i in range(n):
        record(trace, env, t + i, actions[i % len(actions)], 1)


@implements(release)
def release_nothing(trace: Any, t: int, source: int, value: float) -> None:
    """For traces that keep no messages."""


@implements(opened, GapBlock)
def open_gaps(block: GapBlock, i: int) -> GapTrace:
    """Replicate `i` of counts."""
    block.counts[:] = 0
    block.cursor[:] = 0
    block.cursor[2] = block.checkpoints[0] if block.checkpoints.size else NEVER
    return GapTrace(
        block.checkpoints,
        block.horizons,
        block.regret[i],
        block.counts_at[i],
        block.counts,
        block.cursor,
    )


@implements(opened, RunningBlock)
def open_running(block: RunningBlock, i: int) -> RunningTrace:
    """Replicate `i` of costs."""
    block.cost[:] = 0.0
    block.cursor[:] = 0
    return RunningTrace(block.checkpoints, block.regret[i], block.cost, block.cursor)


@register_jitable
def _advance(trace: GapTrace, at: int) -> bool:
    """Go on from the checkpoint of round `at`; whether that was a horizon too."""
    trace.cursor[0] += 1
    c, h = trace.cursor[0], trace.cursor[1]
    trace.cursor[2] = trace.checkpoints[c] if c < trace.checkpoints.size else NEVER
    if h < trace.horizons.size and trace.horizons[h] == at:
        trace.cursor[1] += 1
        return True
    return False


@implements(record, GapTrace)
def record_counts(trace: GapTrace, env: Any, t: int, action: int, n: int) -> None:
    """Count the plays; fill the checkpoints inside the block.

    Summed from the counts, action by action: the same number however the rounds came in blocks.
    One function without calls that take the trace: Numba would count references to its arrays at
    each record, which takes ten times as long as the rest.
    """
    checkpoints, horizons, regret, counts_at, counts, cursor = trace
    while cursor[2] < t + n:
        at = cursor[2]
        part = at - t + 1
        counts[action] += part
        total = 0.0
        for j in range(counts.size):
            total += block_regret(env, j, counts[j])
        regret[cursor[0]] = total
        h = cursor[1]
        if h < horizons.size and horizons[h] == at:
            for j in range(counts.size):
                counts_at[h, j] = counts[j]
            cursor[1] += 1
        counts[action] -= part
        cursor[0] += 1
        c = cursor[0]
        cursor[2] = checkpoints[c] if c < checkpoints.size else NEVER
    counts[action] += n


@implements(record_cycle, GapTrace)
def record_cycle_counts(trace: GapTrace, env: Any, t: int, actions: np.ndarray, n: int) -> None:
    """Count the plays of a cycle; fill the checkpoints among them."""
    m = actions.size
    passes, rest = 0, 0  # of the cycle, counted so far
    done = False
    while not done:
        at = min(t + n - 1, trace.cursor[2])
        now, left = divmod(at - t + 1, m)
        for i in range(m):
            trace.counts[actions[i]] += now - passes + (i < left) - (i < rest)
        passes, rest = now, left
        done = at == t + n - 1
        if at == trace.cursor[2]:
            total = 0.0
            for j in range(trace.counts.size):
                total += block_regret(env, j, trace.counts[j])
            trace.regret[trace.cursor[0]] = total
            if _advance(trace, at):
                trace.counts_at[trace.cursor[1] - 1, :] = trace.counts


@implements(record, RunningTrace)
def record_cost(trace: RunningTrace, env: Any, t: int, action: Any, n: int) -> None:
    """Add what the block costs; fill the checkpoints inside it."""
    while trace.cursor[0] < trace.checkpoints.size:
        at = trace.checkpoints[trace.cursor[0]]
        if at > t + n - 1:
            break
        paid = trace.cost[0] + block_cost(env, action, t, at - t + 1)
        trace.regret[trace.cursor[0]] = paid - benchmark(env, at)
        trace.cursor[0] += 1
    trace.cost[0] += block_cost(env, action, t, n)


@implements(record, MessageTrace)
def record_nothing(trace: MessageTrace, env: Any, t: int, action: Any, n: int) -> None:
    """Actions are not kept."""


@implements(record_cycle, MessageTrace)
def record_no_cycle(trace: MessageTrace, env: Any, t: int, actions: np.ndarray, n: int) -> None:
    """Actions are not kept."""


@implements(release, MessageTrace)
def keep_message(trace: MessageTrace, t: int, source: int, value: float) -> None:
    """Keep the value, or count it where there is no more room."""
    i = trace.seen[0]
    if i >= MOST_MESSAGES:
        raise TooManyMessages
    if i < trace.round.size:
        trace.round[i] = t
        trace.source[i] = source
        trace.value[i] = value
    trace.seen[0] = i + 1


@implements(record, ActionTrace)
def record_actions(trace: ActionTrace, env: Any, t: int, action: Any, n: int) -> None:
    """Write the action into each round of the block."""
    _write(trace.actions, t - 1, n, action)


@implements(release, ActionTrace)
def release_beside_actions(trace: ActionTrace, t: int, source: int, value: float) -> None:
    """Keep the value."""
    release(trace.messages, t, source, value)


def _write(actions: np.ndarray, start: int, n: int, action: Any) -> None:
    actions[start : start + n] = action


@overload(_write, strict=False)  # strict compares annotations too
def _write_compiled(actions: Any, start: Any, n: Any, action: Any) -> Any:
    """Numba assigns numbers and arrays to a slice, but no tuples."""
    if isinstance(action, types.BaseTuple):
        return _write_tuple
    return _write


def _write_tuple(actions: np.ndarray, start: int, n: int, action: Any) -> None:
    actions[start : start + n] = np.array(action)
