"""The peers' cell: the least a trial can do. Needs nothing but Python."""

from __future__ import annotations

import math


def cell(epsilon: float) -> float:
    """A number that depends on the trial: a regret bound's shape, ln T / min(gap, ε)."""
    return math.log(10.0) / min(0.5, epsilon)
