"""Recorders of the two generic regret traces, for families to use or to build on."""

from __future__ import annotations

import numpy as np

from algos.families import Outcome
from algos.traces import GapBlock, RunningBlock


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
        self.column = column
        self.block = GapBlock(
            checkpoints,
            horizons,
            np.zeros((replicates, len(checkpoints))),
            np.zeros((replicates, len(horizons), actions), np.int64),
            np.zeros(actions, np.int64),
            np.zeros(actions),
            np.zeros(actions, np.int64),
            np.zeros(4, np.int64),
        )

    def outcome(self) -> Outcome:
        """`regret` (replicates, C) and the counts (replicates, H, actions)."""
        return {"regret": self.block.regret, self.column: self.block.counts_at}


class RunningRecorder:
    """Regret as what was paid less what the comparator has paid; arguments as `GapRecorder`."""

    def __init__(self, checkpoints: np.ndarray, replicates: int) -> None:
        self.block = RunningBlock(
            checkpoints,
            np.zeros((replicates, len(checkpoints))),
            np.zeros(1),
            np.zeros(1, np.int64),
        )

    def outcome(self) -> Outcome:
        """`regret` (replicates, C)."""
        return {"regret": self.block.regret}
