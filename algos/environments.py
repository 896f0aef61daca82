"""The protocol between kernels, traces and environments.

An environment is a NamedTuple of arrays and numbers. These functions are seams (see
`algos.dispatch`): a family's `environments` module, or a plugin, implements those that its
kernels and traces use. Rounds are 1-based int64, arms and actions count from 0.

Kernels play: `pull`, `timeless`, `number_of_arms`. Traces ask what the played rounds meant:

- `block_regret` where regret follows from gaps, so that only the number of plays counts;
- `block_cost` and `benchmark` where it is what was paid less what the comparator has paid. Against
  the best fixed action in hindsight, costs are losses and the benchmark is the smallest prefix
  sum of a fixed action's losses. Against α·β·opt, costs are rewards with a minus sign and the
  benchmark is -t·α·β·opt.
"""

from __future__ import annotations

from typing import Any

from algos.dispatch import implements, seam
from algos.random.generator import Rng


@seam
def pull(env: Any, rng: Rng, arm: int, t: int, n: int, step: int = 1) -> float:
    """Play `arm` in the `n` rounds t, t + step, t + 2 step, …; the sum of the rewards."""
    raise NotImplementedError


@seam
def timeless(env: Any) -> bool:
    """Whether rewards are independent and of the same law in all rounds.

    Then the rewards of several blocks may be drawn together, later.
    """
    raise NotImplementedError


@implements(timeless)
def not_timeless(env: Any) -> bool:
    """For environments that don't say."""
    return False


@seam
def number_of_arms(env: Any) -> int:
    """K, for environments with arms."""
    raise NotImplementedError


@seam
def block_regret(env: Any, action: int, n: int) -> float:
    """Pseudo-regret of `n` plays of `action`, whenever they are."""
    raise NotImplementedError


@seam
def block_cost(env: Any, action: Any, t: int, n: int) -> float:
    """What `action` costs in the `n` rounds t … t + n - 1."""
    raise NotImplementedError


@seam
def benchmark(env: Any, t: int) -> float:
    """What the comparator has paid in rounds 1 … t."""
    raise NotImplementedError
