"""Mean regret against t, for figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.curves import Curves, Floats, Key, bootstrap_generator
from analysis.statistics.bootstrap import interval


class MeanCurve(NamedTuple):
    """The mean regret of n replicates at checkpoints t >= 2, and its 95 % interval: each (m,)."""

    t: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    n: int


def mean_curve(cell: Curves) -> MeanCurve:
    """The mean curve of a cell with regret."""
    keep = cell.checkpoints >= 2
    curves = cell.regret[:, keep]
    low, high = interval(curves, bootstrap_generator(cell.info["cell"], 0))
    return MeanCurve(cell.checkpoints[keep], curves.mean(axis=0), low, high, cell.n)


@dataclass(frozen=True)
class MeanCurves:
    """The mean curves of some cells that have regret, by `Curves.key`; None for the others."""

    keys: frozenset[Key]

    def __call__(self, cell: Curves) -> MeanCurve | None:
        return mean_curve(cell) if cell.key in self.keys and len(cell.checkpoints) else None
