"""Full feedback from environments with arms: the rewards of all of them in a block of rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from algos.bandit.environments import ARMS, Arms
from algos.dispatch import implements, seam
from algos.environments import pull
from algos.random.generator import Rng


@seam
def observe(env: Any, rng: Rng, t: int, n: int, out: np.ndarray) -> None:
    """Add the sum of each action's rewards in the rounds t … t + n - 1 to `out` (K,)."""


@implements(observe, *ARMS)
def observe_arms(env: Arms, rng: Rng, t: int, n: int, out: np.ndarray) -> None:
    """Arm by arm, in ascending order: rewards of distinct arms are independent."""
    for arm in range(out.size):
        out[arm] += pull(env, rng, arm, t, n)
