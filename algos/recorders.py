"""Recorders of the two generic regret traces, for families to use or to build on."""

from __future__ import annotations

import numpy as np

from algos.families import Outcome
from algos.traces import GapTrace, RunningTrace


class GapRecorder:
    """Regret from how often each action was played, with those counts as a column.

    Args:
        checkpoints: int64 (C,), where regret is recorded.
        horizons: int64 (H,), where the counts are; each is a checkpoint.
        replicates: how many runs the block has.
        actions: how many actions there are.
        column: the name of the counts' column.
    """

    def __init__(
        self,
        checkpoints: np.ndarray,
        horizons: np.ndarray,
        replicates: int,
        actions: int,
        column: str,
    ) -> None:
        self._checkpoints, self._horizons, self.column = checkpoints, horizons, column
        self._regret = np.zeros((replicates, len(checkpoints)))
        self._counts_at = np.zeros((replicates, len(horizons), actions), np.int64)
        self._counts, self._cursor = np.zeros(actions, np.int64), np.zeros(2, np.int64)

    def trace(self, i: int) -> GapTrace:
        """The trace of replicate `i`; the one before must have been played."""
        self._counts[:] = 0
        self._cursor[:] = 0
        return GapTrace(
            self._checkpoints,
            self._horizons,
            self._regret[i],
            self._counts_at[i],
            self._counts,
            self._cursor,
        )

    def outcome(self) -> Outcome:
        """`regret` (replicates, C) and the counts (replicates, H, actions)."""
        return {"regret": self._regret, self.column: self._counts_at}


class RunningRecorder:
    """Regret as what was paid less what the comparator has paid; arguments as `GapRecorder`."""

    def __init__(self, checkpoints: np.ndarray, replicates: int) -> None:
        self._checkpoints = checkpoints
        self._regret = np.zeros((replicates, len(checkpoints)))
        self._cost, self._cursor = np.zeros(1), np.zeros(1, np.int64)

    def trace(self, i: int) -> RunningTrace:
        """The trace of replicate `i`; the one before must have been played."""
        self._cost[:] = 0.0
        self._cursor[:] = 0
        return RunningTrace(self._checkpoints, self._regret[i], self._cost, self._cursor)

    def outcome(self) -> Outcome:
        """`regret` (replicates, C)."""
        return {"regret": self._regret}
