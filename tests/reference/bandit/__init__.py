"""The bandit algorithms as their papers print them: plain Python, one round at a time.

Each function plays `T` rounds on `K` arms. `reward(t, arm)` is asked once per round, t = 1, 2, …
Every random choice comes from `rng` in a fixed order, so a kernel that is handed an equal
generator and an equal reward table must return the same actions and the same messages:

- one `rng.laplace(0.0, scale)` per released number, at the moment it is released, also when
  epsilon is infinite (the scale is then 0);
- one `rng.random()` per arg max that is tied (exact equality), over the tied arms in ascending
  order; anytime_lazy_ucb draws a whole order of the arms instead and keeps it (see there).

Returned are the actions (T arms, 0-based) and the messages `(t, arm, value)`: the noisy means
that leave the mechanism, with the round at whose end they do. Algorithms without a mechanism
send none. Episodes, epochs and batches that T cuts short release nothing.
"""

from collections.abc import Callable
from pkgutil import extend_path
from typing import Any

import numpy as np

from reference.common import Generator, Trajectory
from reference.tables import fractions, source

__path__ = extend_path(__path__, __name__)

GOLDEN = [
    {"name": "bernoulli", "means": [0.9, 0.5, 0.3]},
    {"name": "finite_support", "values": [[0, 0.5, 1], [0, 0.4]],
     "probabilities": [[0.2, 0.3, 0.5], [0.5, 0.5]]},
    {"name": "beta", "a": [2, 1], "b": [1, 2]},
    {"name": "uniform", "low": [0.2, 0.1], "high": [0.9, 0.4]},
]  # fmt: skip
# Wide gaps, so that within the table epochs do eliminate.
CLEAR = {"name": "reward_table", "rewards": np.tile([0.97, 0.02, 0.5], (9000, 1))}


def table(rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """Continuous rewards of two to eight arms."""
    rewards = fractions(rng, rounds, int(rng.integers(2, 8, endpoint=True)))
    return {"name": "reward_table", "rewards": rewards}


def play(
    function: Callable[..., Trajectory],
    instance: dict[str, Any],
    T: int,
    rng: Generator,
    **keywords: Any,
) -> Trajectory:
    """What a reference does on a table."""
    rewards = instance["rewards"]
    return function(source(rewards), rewards.shape[1], T, rng, **keywords)
