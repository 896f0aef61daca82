"""Units in this process, one batch after the other: for debugging, and where Ray takes longer.

Breakpoints stop where they are set (in kernels too, with NUMBA_DISABLE_JIT=1), and the traceback
of a unit that raises is the whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from algos.contents import Content
from algos.work import Work
from sweep.engine.batches import Abandoned, Batches, Step
from sweep.engine.worker import play_units


class InlineExecutor:
    """Plays units in this process.

    Args:
        show: takes the traceback of a unit that is given up; None to record it only.
    """

    opening = "playing in this process"

    def __init__(self, show: Callable[[str], None] | None = None) -> None:
        self.show = show

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def add(self, kernels: Sequence[Work], contents: Mapping[str, Content]) -> None:
        """Nothing: this process has them."""

    def play(self, batches: Batches) -> Iterator[Step]:
        """Play all units, a batch a step."""
        while batches:
            units = batches.take(1)
            outcomes = list(batches.played(units, play_units(units)))
            for outcome in outcomes:
                if self.show is not None and isinstance(outcome, Abandoned):
                    self.show(outcome.failure.traceback)
            yield Step(outcomes, 1)
