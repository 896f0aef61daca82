"""What a stopping rule reports: `halt`, and how the project's traces take it.

A kernel calls `halt(trace, t, estimate)` once, after the last sample it takes, or not at all
when T samples run out. `record(trace, env, 1, 0, t)` says that t samples were taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from algos.dispatch import implements, is_a
from algos.traces import ActionTrace, record, release


class StoppingTrace(NamedTuple):
    """The round at which one replicate halts, and its estimate; untouched if it does not."""

    time: np.ndarray  # out: int64 (1,)
    estimate: np.ndarray  # out: float64 (1,)


def halt(trace: Any, t: int, estimate: float) -> None:
    """Report that the rule halts after sample t with this estimate (compiled code only)."""
    raise TypeError("halt is resolved by Numba inside a compiled kernel")


@implements(halt)
def _halt(trace: Any, t: Any, estimate: Any) -> Any:
    if not is_a(trace, StoppingTrace):
        return None

    def stop(trace: Any, t: Any, estimate: Any) -> None:
        trace.time[0] = t
        trace.estimate[0] = estimate

    return stop


@implements(halt)
def _halt_actions(trace: Any, t: Any, estimate: Any) -> Any:
    """Rounds after the last sample are marked -1: nothing is played in them."""
    if not is_a(trace, ActionTrace):
        return None

    def stop(trace: Any, t: Any, estimate: Any) -> None:
        trace.actions[t:] = -1

    return stop


@implements(record)
def _record(trace: Any, env: Any, t: Any, arm: Any, n: Any) -> Any:
    if not is_a(trace, StoppingTrace):
        return None
    return lambda trace, env, t, arm, n: None


@implements(release)
def _release(trace: Any, t: Any, arm: Any, value: Any) -> Any:
    if not is_a(trace, StoppingTrace):
        return None
    return lambda trace, t, arm, value: None
