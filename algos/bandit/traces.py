"""What replicates on K arms record: regret from the arms' gaps, and the pulls of each arm."""

from __future__ import annotations

import numpy as np

from algos.families import Column
from algos.instances import Instance
from algos.recorders import GapRecorder

COLUMNS = (Column("pulls", "int64", True, "pulls of each arm at T"),)


def recorder(
    instance: Instance, checkpoints: np.ndarray, horizons: np.ndarray, replicates: int
) -> GapRecorder:
    """The recorder of families in which one of K arms is played a round."""
    return GapRecorder(checkpoints, horizons, replicates, instance.sizes["K"], "pulls")
