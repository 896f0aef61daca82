"""The algorithms on pairs: `loss(t, j)` is asked for every action j in every round t."""

from collections.abc import Callable
from typing import Any

import numpy as np

CLEAR = {"name": "loss_table", "losses": np.tile([0.0, 1.0, 0.1], (9000, 1))}
GOLDEN = [{"name": "drifting_losses", "rounds": 4000, "K": 3, "step": 0.2}]


def table(rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """Losses of three to six actions, exact sums in float64."""
    losses = np.rint(rng.random((rounds, int(rng.integers(3, 7)))) * 2.0**30) / 2.0**30
    return {"name": "loss_table", "losses": losses}


def play(
    function: Callable[..., Any],
    instance: dict[str, Any],
    T: int,
    rng: np.random.Generator,
    **keywords: Any,
) -> Any:
    """What a reference does on a table."""
    losses = instance["losses"]
    return function(lambda t, j: losses[t - 1, j], losses.shape[1], T, rng, **keywords)
