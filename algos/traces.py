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
from algos.dispatch import UNCOUNTED, implements, seam
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
    costs: np.ndarray  # scratch: float64 (A,), their regret
    places: np.ndarray  # scratch: int64 (A,), in a cycle
    cursor: (
        np.ndarray
    )  # scratch: int64 (4,), places of the next checkpoint and horizon, their rounds


class GapBlock(NamedTuple):
    """What the replicates of a block record as `GapTrace`s."""

    checkpoints: np.ndarray  # int64 (C,)
    horizons: np.ndarray  # int64 (H,)
    regret: np.ndarray  # out: float64 (R, C)
    counts_at: np.ndarray  # out: int64 (R, H, A)
    counts: np.ndarray  # scratch: int64 (A,)
    costs: np.ndarray  # scratch: float64 (A,)
    places: np.ndarray  # scratch: int64 (A,)
    cursor: np.ndarray  # scratch: int64 (4,)


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


@seam
def listens(trace: Any) -> bool:
    """Whether released numbers reach anyone: where not, a kernel may leave out drawing them."""
    raise NotImplementedError


@implements(record_cycle)
def record_one_by_one(trace: Any, env: Any, t: int, actions: np.ndarray, n: int) -> None:
    """For any trace that records actions: round by round."""
    for i in range(n):
        record(trace, env, t + i, actions[i % len(actions)], 1)


@implements(release)
def release_nothing(trace: Any, t: int, source: int, value: float) -> None:
    """For traces that keep no messages."""


@implements(listens)
def listens_always(trace: Any) -> bool:
    """For any trace that doesn't say."""
    return True


@implements(listens, GapTrace, RunningTrace)
def listens_never(trace: GapTrace | RunningTrace) -> bool:
    """For traces of regret."""
    return False


@implements(opened, GapBlock)
def open_gaps(block: GapBlock, i: int) -> GapTrace:
    """Replicate `i` of counts."""
    block.counts[:] = 0
    block.costs[:] = 0.0
    block.cursor[:2] = 0
    block.cursor[2] = block.checkpoints[0] if block.checkpoints.size else NEVER
    block.cursor[3] = block.horizons[0] if block.horizons.size else NEVER
    return GapTrace(
        block.checkpoints,
        block.horizons,
        block.regret[i],
        block.counts_at[i],
        block.counts,
        block.costs,
        block.places,
        block.cursor,
    )


@implements(opened, RunningBlock)
def open_running(block: RunningBlock, i: int) -> RunningTrace:
    """Replicate `i` of costs."""
    block.cost[:] = 0.0
    block.cursor[:] = 0
    return RunningTrace(block.checkpoints, block.regret[i], block.cost, block.cursor)


@register_jitable(_nrt=False)
def _fill(trace: GapTrace, env: Any, t: int, action: int, n: int) -> None:
    """Fill the checkpoints among the rounds t … t + n - 1 of `action`, not yet counted.

    Regret is summed action by action: the same number however the rounds came in blocks.
    """
    checkpoints, regret, costs = trace.checkpoints, trace.regret, trace.costs
    counted = trace.counts[action]
    first, total = trace.cursor[0], 0.0
    c, at = first, trace.cursor[2]
    while at < t + n:
        cost = block_regret(env, action, counted + (at - t + 1))
        if cost != costs[action] or c == first:  # a best action's stays 0
            costs[action] = cost
            total = 0.0
            for j in range(costs.size):
                total += costs[j]
        regret[c] = total
        if at == trace.cursor[3]:
            _keep_counts(trace, action, at - t + 1)
        c += 1
        at = checkpoints[c] if c < checkpoints.size else NEVER
    trace.cursor[0] = c
    trace.cursor[2] = at


@register_jitable(_nrt=False)
def _keep_counts(trace: GapTrace, action: int, more: int) -> None:
    """Keep the counts of a horizon, with `more` plays of `action`."""
    h = trace.cursor[1]
    for j in range(trace.counts.size):
        trace.counts_at[h, j] = trace.counts[j]
    trace.counts_at[h, action] += more
    trace.cursor[1] = h + 1
    trace.cursor[3] = trace.horizons[h + 1] if h + 1 < trace.horizons.size else NEVER


@implements(record, GapTrace)
def record_counts(trace: GapTrace, env: Any, t: int, action: int, n: int) -> None:
    """Count the plays; fill the checkpoints inside the block."""
    if trace.cursor[2] < t + n:
        _fill(trace, env, t, action, n)
    count = trace.counts[action] + n
    trace.counts[action] = count
    trace.costs[action] = block_regret(env, action, count)


@implements(record_cycle, GapTrace)
def record_cycle_counts(trace: GapTrace, env: Any, t: int, actions: np.ndarray, n: int) -> None:
    """Count the plays of a cycle; fill the checkpoints among them."""
    costs, counts, checkpoints = trace.costs, trace.counts, trace.checkpoints
    places = trace.places
    for j in range(places.size):
        places[j] = -1
    m, c, at = actions.size, trace.cursor[0], trace.cursor[2]
    for i in range(m):
        places[actions[i]] = i
    while at < t + n:
        passes, rest = divmod(at - t + 1, m)
        total = 0.0
        for j in range(costs.size):
            if places[j] >= 0:
                total += block_regret(env, j, counts[j] + passes + (places[j] < rest))
            else:
                total += costs[j]
        trace.regret[c] = total
        if at == trace.cursor[3]:
            h = trace.cursor[1]
            _keep_counts(trace, 0, 0)
            for i in range(m):
                trace.counts_at[h, actions[i]] += passes + (i < rest)
        c += 1
        at = checkpoints[c] if c < checkpoints.size else NEVER
    trace.cursor[0], trace.cursor[2] = c, at
    passes, rest = divmod(n, actions.size)
    for i in range(actions.size):
        j = actions[i]
        counts[j] += passes + (i < rest)
        costs[j] = block_regret(env, j, counts[j])


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


@overload(_write, strict=False, jit_options=UNCOUNTED)  # strict compares annotations too
def _write_compiled(actions: Any, start: Any, n: Any, action: Any) -> Any:
    """A slice would be an array of its own."""
    if isinstance(action, types.BaseTuple | types.Array):
        return _write_parts
    return _write_number


def _write_number(actions: np.ndarray, start: int, n: int, action: int) -> None:
    for t in range(start, start + n):
        actions[t] = action


def _write_parts(actions: np.ndarray, start: int, n: int, action: Any) -> None:
    for t in range(start, start + n):
        for i in range(len(action)):
            actions[t, i] = action[i]
