"""How much of a sweep is wanted: a target of replicates for every cell, and which cells.

A cell's target says that replicates 0 … target - 1 are wanted; the report uses exactly these,
whatever else the store holds. A rule may raise targets and add cells while the sweep runs, as
its rows come in; `fixed` is the rule that leaves all as the grid has it. Rules decide from rows in
the store alone, so that a sweep that was stopped and goes on decides the same again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sweep.grid.plan import Plan, Section


@dataclass(frozen=True)
class More:
    """What a rule asks for: higher targets by the number of a cell, and sections of new cells."""

    targets: Mapping[int, int] = field(default_factory=dict)
    sections: Sequence[Section] = ()

    def __bool__(self) -> bool:
        return bool(self.targets or self.sections)


class Rule(Protocol):
    """Decides how much more is wanted."""

    def __call__(self, plan: Plan, targets: np.ndarray, complete: np.ndarray) -> More:
        """What to add, now that cells are complete.

        Args:
            plan: the cells so far.
            targets: int64 (cells,), the replicates that each is wanted with.
            complete: the numbers of the cells whose replicates are all in the store and of which
                the rule has not been told yet, or whose target it has raised since.
        """


def fixed(plan: Plan, targets: np.ndarray, complete: np.ndarray) -> More:
    """The rule that adds nothing."""
    return More()


def grid_targets(sections: Sequence[Section]) -> np.ndarray:
    """int64 (cells,): the replicates that the grid asks of each cell of some sections."""
    counts = [section.cells for section in sections]
    return np.repeat(np.array([s.replicates for s in sections], np.int64), counts)
