"""Families: what one replicate of a feedback model records, and how a block of them is run.

A family is a package of `algos`: its `__init__` registers the family (and its kinds of
instances), its modules register its algorithms. Nothing else knows a family by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from algos.instances import Instance

# A block's outcome: per column an array whose first axis is the replicate and whose second is
# the horizon; `regret`, where the family has one, has the checkpoints as second axis.
Outcome = dict[str, np.ndarray]


@dataclass(frozen=True)
class Column:
    """An outcome column: `dtype` of its entries, and whether a row holds a list of them."""

    name: str
    dtype: str
    is_list: bool
    meaning: str


@dataclass(frozen=True)
class Family:
    """A feedback model.

    `axes` are the axes of a grid that its instances use beside algorithm, instance, ε and T.
    `least_T(instance)` is the smallest number of rounds that makes sense. With `has_regret`,
    rows carry cumulative regret at checkpoints.
    `play(algorithm, env, arguments, checkpoints, horizons, generators)` runs one replicate per
    generator to the last horizon and returns each of `columns` as (replicates, horizons, …) and
    `regret` as (replicates, checkpoints).
    """

    name: str
    axes: tuple[str, ...]
    columns: tuple[Column, ...]
    play: Callable[..., Outcome]
    least_T: Callable[[Instance], int]
    has_regret: bool = True


FAMILIES: dict[str, Family] = {}


def register_family(family: Family) -> Family:
    """Add a family; called by its package.

    Raises:
        ValueError: the name is taken.
    """
    if FAMILIES.get(family.name, family) is not family:
        raise ValueError(f"family {family.name!r} is already registered")
    FAMILIES[family.name] = family
    return family
