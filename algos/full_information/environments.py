"""Full feedback from environments with arms: the rewards of all of them in a block of rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from algos.bandit.environments import ARMS, Arms
from algos.dispatch import implements, seam
from algos.environments import pull


@seam
def observe(env: Any, rng: np.random.Generator, t: int, n: int, out: np.ndarray) -> None:
    """Add the sum of each action's rewards in the rounds t … t + n - 1 to `out` (K,)."""


@implements(observe, *ARMS)
def observe_arms(env: Arms, rng: np.random.Generator, t: int, n: int, out: np.ndarray) -> None:
    """Arm by arm, in ascending order: rewards of distinct arms are independent."""
    for arm in range(out.size):
        out[arm] += pull(env, rng, arm, t, n)
