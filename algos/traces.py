"""Traces: what a kernel reports while it plays, and what is kept of it.

A kernel calls, with rounds 1-based and blocks never longer than what is left of T,

- `record(trace, env, t, arm, n)` after it decided to play `arm` in rounds t … t + n - 1;
- `record_cycle(trace, env, t, arms, n)` when it plays `arms` in turn over those n rounds
  (arms[0] in round t, arms[1] in t + 1, …; the last pass may be cut);
- `release(trace, t, arm, value)` for every number that leaves a private mechanism, at the
  round after which it is known.

Numba picks the implementation by the trace's type, so a trace that ignores a call costs
nothing. `RegretTrace` fills checkpoints inside a block without splitting the block's draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from algos.dispatch import implements, is_a
from algos.environments import block_regret


class RegretTrace(NamedTuple):
    """Cumulative pseudo-regret at checkpoints, and the pulls of every arm at horizons."""

    checkpoints: np.ndarray  # int64 (C,), ascending
    horizons: np.ndarray  # int64 (H,), ascending, each one of the checkpoints
    regret: np.ndarray  # out: float64 (C,)
    pulls_at: np.ndarray  # out: int64 (H, K)
    pulls: np.ndarray  # scratch: int64 (K,), zero at the start
    cursor: np.ndarray  # scratch: int64 (2,), next checkpoint and next horizon, zero at the start


class ActionTrace(NamedTuple):
    """Every action, and every released message: for tests, audits and small T."""

    actions: np.ndarray  # out: int64 (T,)
    message_round: np.ndarray  # out: int64 (M,)
    message_arm: np.ndarray  # out: int64 (M,)
    message_value: np.ndarray  # out: float64 (M,)
    seen: np.ndarray  # out: int64 (1,), messages so far; those past M are counted, not kept


def record(trace: Any, env: Any, t: int, arm: int, n: int) -> None:
    """Report that `arm` is played in rounds t … t + n - 1 (compiled code only)."""
    raise TypeError("record is resolved by Numba inside a compiled kernel")


def record_cycle(trace: Any, env: Any, t: int, arms: np.ndarray, n: int) -> None:
    """Report that `arms` are played in turn in rounds t … t + n - 1 (compiled code only)."""
    raise TypeError("record_cycle is resolved by Numba inside a compiled kernel")


def release(trace: Any, t: int, arm: int, value: float) -> None:
    """Report a number that leaves a private mechanism after round t (compiled code only)."""
    raise TypeError("release is resolved by Numba inside a compiled kernel")


@implements(record)
def _record_regret(trace: Any, env: Any, t: Any, arm: Any, n: Any) -> Any:
    if not is_a(trace, RegretTrace):
        return None

    def regret(trace: Any, env: Any, t: Any, arm: Any, n: Any) -> None:
        end = t + n - 1
        before = trace.pulls[arm]
        while trace.cursor[0] < trace.checkpoints.size:
            at = trace.checkpoints[trace.cursor[0]]
            if at > end:
                break
            trace.pulls[arm] = before + at - t + 1
            _fill(trace, env, at)
        trace.pulls[arm] = before + n

    return regret


@implements(record_cycle)
def _record_cycle_regret(trace: Any, env: Any, t: Any, arms: Any, n: Any) -> Any:
    if not is_a(trace, RegretTrace):
        return None

    def regret(trace: Any, env: Any, t: Any, arms: Any, n: Any) -> None:
        end, m = t + n - 1, arms.size
        before = trace.pulls.copy()
        done = False
        while not done:
            at = end
            if trace.cursor[0] < trace.checkpoints.size:
                at = min(end, trace.checkpoints[trace.cursor[0]])
            passes, rest = divmod(at - t + 1, m)
            for i in range(m):
                trace.pulls[arms[i]] = before[arms[i]] + passes + (1 if i < rest else 0)
            done = at == end
            # the block's last round may itself be a checkpoint
            if trace.cursor[0] < trace.checkpoints.size:
                if trace.checkpoints[trace.cursor[0]] == at:
                    _fill(trace, env, at)

    return regret


def _fill(trace: Any, env: Any, at: int) -> None:
    raise TypeError("_fill is resolved by Numba inside a compiled kernel")


@implements(_fill)
def _fill_impl(trace: Any, env: Any, at: Any) -> Any:
    def fill(trace: Any, env: Any, at: Any) -> None:
        # Summed from the counts, arm by arm: the same number however the rounds came in blocks.
        total = 0.0
        for j in range(trace.pulls.size):
            total += block_regret(env, j, trace.pulls[j])
        trace.regret[trace.cursor[0]] = total
        trace.cursor[0] += 1
        if trace.cursor[1] < trace.horizons.size and trace.horizons[trace.cursor[1]] == at:
            trace.pulls_at[trace.cursor[1], :] = trace.pulls
            trace.cursor[1] += 1

    return fill


@implements(release)
def _release_regret(trace: Any, t: Any, arm: Any, value: Any) -> Any:
    if not is_a(trace, RegretTrace):
        return None
    return lambda trace, t, arm, value: None


@implements(record)
def _record_actions(trace: Any, env: Any, t: Any, arm: Any, n: Any) -> Any:
    if not is_a(trace, ActionTrace):
        return None

    def actions(trace: Any, env: Any, t: Any, arm: Any, n: Any) -> None:
        trace.actions[t - 1 : t - 1 + n] = arm

    return actions


@implements(record_cycle)
def _record_cycle_actions(trace: Any, env: Any, t: Any, arms: Any, n: Any) -> Any:
    if not is_a(trace, ActionTrace):
        return None

    def actions(trace: Any, env: Any, t: Any, arms: Any, n: Any) -> None:
        for i in range(n):
            trace.actions[t - 1 + i] = arms[i % arms.size]

    return actions


@implements(release)
def _release_actions(trace: Any, t: Any, arm: Any, value: Any) -> Any:
    if not is_a(trace, ActionTrace):
        return None

    def keep(trace: Any, t: Any, arm: Any, value: Any) -> None:
        i = trace.seen[0]
        if i < trace.message_round.size:
            trace.message_round[i] = t
            trace.message_arm[i] = arm
            trace.message_value[i] = value
        trace.seen[0] = i + 1

    return keep
