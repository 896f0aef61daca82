"""Families: what one replicate of a feedback model records, and how a block of them is run.

A family says which axes of a grid its instances use, which outcome columns its rows carry
beside the checkpoints, and how to play replicates. `bandit` is the only one so far; others
add an entry to FAMILIES and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from algos.registry import Algorithm
from algos.traces import RegretTrace

# A block's outcome: per column an array whose first axis is the replicate. Columns marked
# per horizon have the horizons as second axis; `regret` has the checkpoints.
Outcome = dict[str, np.ndarray]


@dataclass(frozen=True)
class Column:
    """An outcome column: `dtype` of its entries, and whether a row holds a list of them."""

    name: str
    dtype: str
    is_list: bool
    meaning: str


@dataclass(frozen=True)
class Family:
    """A feedback model.

    `play(algorithm, env, arguments, checkpoints, horizons, generators)` runs one replicate per
    generator to the last horizon and returns `regret` (replicates, checkpoints) and each of
    `columns` as (replicates, horizons, …).
    """

    name: str
    axes: tuple[str, ...]
    columns: tuple[Column, ...]
    play: Callable[..., Outcome]


def play_bandit(
    algorithm: Algorithm,
    env: Any,
    arguments: tuple[float | int, ...],
    checkpoints: np.ndarray,
    horizons: np.ndarray,
    generators: Sequence[np.random.Generator],
) -> Outcome:
    """Play K-armed replicates: pseudo-regret at checkpoints, pulls at horizons."""
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


FAMILIES: Mapping[str, Family] = {
    "bandit": Family(
        name="bandit",
        axes=("K",),
        columns=(Column("pulls", "int64", True, "pulls of each arm at T"),),
        play=play_bandit,
    ),
}
