"""What a stopping rule reports: `halt`, and how traces take it.

A kernel calls `halt(trace, t, estimate)` once, after the last sample it takes, or not at all
when T samples run out. `record(trace, env, 1, 0, t)` says that t samples were taken.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from algos.blocks import opened
from algos.dispatch import implements, seam
from algos.families import Column, Outcome
from algos.instances import Instance
from algos.traces import ActionTrace, record

COLUMNS = (
    Column("stop_time", "int64", False, "samples used, T if the rule did not halt"),
    Column("estimate", "float64", False, "estimate of the mean, NaN if it did not halt"),
    Column("halted", "bool", False, "whether the rule halted within T samples"),
)


class StoppingTrace(NamedTuple):
    """The round at which one replicate halts, and its estimate; untouched if it does not."""

    time: np.ndarray  # out: int64 (1,)
    estimate: np.ndarray  # out: float64 (1,)


class StoppingBlock(NamedTuple):
    """What the replicates of a block record as `StoppingTrace`s."""

    time: np.ndarray  # out: int64 (R, 1)
    estimate: np.ndarray  # out: float64 (R, 1)


@implements(opened, StoppingBlock)
def open_stops(block: StoppingBlock, i: int) -> StoppingTrace:
    """Replicate `i`."""
    return StoppingTrace(block.time[i], block.estimate[i])


@seam
def halt(trace: Any, t: int, estimate: float) -> None:
    """Report that the rule halts after sample t with this estimate."""


@implements(halt)
def halt_unseen(trace: Any, t: int, estimate: float) -> None:
    """For traces that don't care."""


@implements(halt, StoppingTrace)
def keep_halt(trace: StoppingTrace, t: int, estimate: float) -> None:
    """Keep both."""
    trace.time[0] = t
    trace.estimate[0] = estimate


@implements(halt, ActionTrace)
def mark_rest(trace: ActionTrace, t: int, estimate: float) -> None:
    """Rounds after the last sample are marked -1: nothing is played in them."""
    for i in range(t, trace.actions.size):
        trace.actions[i] = -1


@implements(record, StoppingTrace)
def record_no_samples(trace: StoppingTrace, env: Any, t: int, action: int, n: int) -> None:
    """The samples are counted by `halt`."""


class StoppingRecorder:
    """Rounds used, estimate, and whether the rule halted; arguments as `Family.recorder` has."""

    def __init__(
        self, instance: Instance, checkpoints: np.ndarray, horizons: np.ndarray, replicates: int
    ) -> None:
        self._horizons = horizons
        self.block = StoppingBlock(
            np.full((replicates, 1), np.iinfo(np.int64).max, np.int64),
            np.full((replicates, 1), np.nan),
        )

    def outcome(self) -> Outcome:
        """The three columns, (replicates, horizons)."""
        halted = self.block.time <= self._horizons
        return {
            "stop_time": np.minimum(self.block.time, self._horizons),
            "estimate": np.where(halted, self.block.estimate, np.nan),
            "halted": halted,
        }
