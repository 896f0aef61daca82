"""Playing replicates of families whose outcome is how often each of K arms was played.

Shared by the families in which one arm is played a round and regret is that of the played arms,
whatever feedback the kernel gets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from algos.families import Column, Outcome
from algos.registry import Algorithm
from algos.traces import RegretTrace

COLUMNS = (Column("pulls", "int64", True, "pulls of each arm at T"),)


def play(
    algorithm: Algorithm,
    env: Any,
    arguments: tuple[float | int, ...],
    checkpoints: np.ndarray,
    horizons: np.ndarray,
    generators: Sequence[np.random.Generator],
) -> Outcome:
    """Play replicates: pseudo-regret at checkpoints, pulls of each arm at horizons."""
    replicates, K = len(generators), len(env.means)
    regret = np.zeros((replicates, len(checkpoints)))
    pulls_at = np.zeros((replicates, len(horizons), K), np.int64)
    pulls = np.zeros(K, np.int64)
    cursor = np.zeros(2, np.int64)
    kernel = algorithm.kernel
    for i, rng in enumerate(generators):
        pulls[:] = 0
        cursor[:] = 0
        trace = RegretTrace(checkpoints, horizons, regret[i], pulls_at[i], pulls, cursor)
        kernel(env, rng, trace, *arguments)
    return {"regret": regret, "pulls": pulls_at}
