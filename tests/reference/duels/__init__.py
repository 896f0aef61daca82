"""The algorithms of tests/sweep/duels_plugin.py, a family from outside: one round at a time.

`loss(t, arm)` is asked for every arm in every round. Returned are the pairs played and the
messages `(t, arm, value)`: noisy sums of an epoch, at its end or at T.
"""

from collections.abc import Callable
from pkgutil import extend_path
from typing import Any

import numpy as np

from reference.common import Generator

__path__ = extend_path(__path__, __name__)

CLEAR = {"name": "duel_losses", "before": [0.0, 1.0, 0.1], "after": [0.0, 1.0, 0.1], "at": 9000}
GOLDEN = [{"name": "duel_switch", "gap": 0.1, "at": 50, "K": 4}]


def table(rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """Losses of three to six arms, in grains that keep every sum exact in float64."""
    before, after = np.rint(rng.random((2, int(rng.integers(3, 7)))) * 2.0**20) / 2.0**20
    at = int(rng.integers(rounds))
    return {"name": "duel_losses", "before": before.tolist(), "after": after.tolist(), "at": at}


def play(
    function: Callable[..., Any],
    instance: dict[str, Any],
    T: int,
    rng: Generator,
    **keywords: Any,
) -> Any:
    """What a reference does on a table."""
    before, after, at = instance["before"], instance["after"], instance["at"]

    def loss(t: int, arm: int) -> float:
        value: float = (before if t <= at else after)[arm]
        return value

    return function(loss, len(before), T, rng, **keywords)
