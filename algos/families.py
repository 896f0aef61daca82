"""Families: what an action is, how regret follows from actions, and what a replicate records.

A family is a package of `algos`: its `__init__` registers the family, its modules the kinds of
instances and the algorithms. A plugin registers a family of its own in the same way. Nothing
else knows a family by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np

from algos.shipped import Registry, origin

# A block's outcome: per column an array whose first axis is the replicate and whose second is
# the horizon; `regret`, where the family has one, has the checkpoints as second axis.
Outcome = dict[str, np.ndarray]

AXES = ("K", "N")  # the sizes that a grid has axes for
REGRETS = ("gaps", "hindsight", "αβ·opt", "none")


@dataclass(frozen=True)
class Column:
    """An outcome column: `dtype` of its entries, and whether a row holds a list of them."""

    name: str
    dtype: str
    is_list: bool
    meaning: str


class Recorder(Protocol):
    """Takes what the kernels of a block of replicates report."""

    block: Any  # a NamedTuple; `algos.blocks.opened` gives a replicate's trace of it

    def outcome(self) -> Outcome:
        """What all of the block's replicates reported."""


@dataclass(frozen=True)
class Family:
    """A feedback model.

    Attributes:
        name: as algorithms and rows name it.
        summary: the model in one line.
        action: what a kernel plays in a round, in words.
        sizes: the numbers that say how large an instance is, such as ("K",) or ("m", "K").
        regret: how regret follows. "gaps": from how often each action was played, as pseudo-regret
            (`algos.environments.block_regret`). "hindsight" and "αβ·opt": what the played
            blocks cost (`block_cost`) less what the comparator has paid (`benchmark`). "none":
            rows have no regret.
        columns: what a row holds beside identity and regret.
        recorder: `recorder(instance, checkpoints, horizons, replicates)` records a block of so
            many replicates, regret at the checkpoints, columns at the horizons (both int64,
            ascending, each horizon also a checkpoint).
        kinds: names of the kinds of instances it can play; a kind may name further families.
        least_T: the smallest number of rounds that makes sense on an instance.
        action_shape: of an action's array, from the sizes; () for a single number.
        examples: instances that documentation and tests play.
    """

    name: str
    summary: str
    action: str
    sizes: tuple[str, ...]
    regret: str
    columns: tuple[Column, ...]
    recorder: Callable[[Any, np.ndarray, np.ndarray, int], Recorder]
    kinds: tuple[str, ...]
    least_T: Callable[[Any], int] = lambda instance: 1
    action_shape: Callable[[Mapping[str, int]], tuple[int, ...]] = lambda sizes: ()
    examples: tuple[str | Mapping[str, Any], ...] = ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The sizes that are axes of a grid."""
        return tuple(size for size in self.sizes if size in AXES)

    @property
    def has_regret(self) -> bool:
        """Whether rows carry cumulative regret at checkpoints."""
        return self.regret != "none"

    def describe(self) -> dict[str, Any]:
        """What readers of results need to know, in types that JSON has."""
        return {
            "summary": self.summary,
            "sizes": list(self.sizes),
            "action": self.action,
            "regret": self.regret,
            "columns": [asdict(column) for column in self.columns],
        }


FAMILIES: Registry[Family] = Registry("family", lambda family: origin(family.recorder))


def register_family(family: Family) -> Family:
    """Add a family.

    Raises:
        ValueError: the name is taken, or the regret is none of REGRETS.
    """
    if family.regret not in REGRETS:
        raise ValueError(f"regret {family.regret!r} is none of {REGRETS}")
    return FAMILIES.add(family.name, family)
