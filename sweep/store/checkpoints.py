"""Checkpoints of rows: null stands for the standard ones, those that every run to T has."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pyarrow as pa

from algos import checkpoints


@lru_cache(maxsize=1024)
def standard(T: int) -> np.ndarray:
    """The checkpoints that null stands for: the distinct ⌊2^(k/8)⌋ below T, and T itself."""
    grid = checkpoints.grid(T)
    grid.flags.writeable = False
    return grid


def checkpoints_of(column: pa.Array, T: int) -> list[np.ndarray]:
    """Each row's checkpoints, for rows of runs to T."""
    return [standard(T) if one is None else one for one in lists_of(column)]


def lists_of(array: pa.ListArray) -> list[np.ndarray | None]:
    """Each list as an array that shares the column's memory; None for null."""
    values = array.values.to_numpy(zero_copy_only=False)
    nulls = array.is_null().to_numpy(zero_copy_only=False)
    pairs = zip(pairwise(array.offsets.to_pylist()), nulls, strict=True)
    return [None if null else values[start:end] for (start, end), null in pairs]
