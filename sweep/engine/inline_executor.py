"""Units in this process, one batch after the other: for debugging, and where Ray takes longer.

Breakpoints stop where they are set (in kernels too, with NUMBA_DISABLE_JIT=1), and the traceback
of a unit that raises is the whole one.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from algos.contents import Content
from algos.work import Work
from sweep.engine.batches import Abandoned, Batches, Committed, Done, Outcome, Step
from sweep.engine.pace import Pace
from sweep.engine.shown import View
from sweep.engine.worker import Worker
from sweep.store import Store


class InlineExecutor:
    """Plays units in this process.

    Args:
        store: where the rows go.
        show: takes the traceback of a unit that is given up; None to record it only.
    """

    opening = "playing in this process"

    def __init__(self, store: Store, show: Callable[[str], None] | None = None) -> None:
        self.show = show
        self._worker = Worker(store)
        self._held: dict[int, Done] = {}
        self._outcomes: list[Outcome] = []  # that no step has told yet

    def __enter__(self) -> InlineExecutor:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def add(self, kernels: Sequence[Work], contents: Mapping[str, Content]) -> None:
        """Nothing: this process has them."""

    def play(self, batches: Batches, pace: Pace, view: View) -> Iterator[Step]:
        """Play all units, a batch a step."""
        since = time.monotonic()
        for number in itertools.count():
            if not batches:
                if not self._held:
                    return
                self._put_away()
            else:
                units = batches.take(1)
                played = self._worker.play(number, units, view)
                self._held[number] = Done(units, played)
                self._outcomes += batches.played(units, played)
                if pace.is_due(since, played.held, 1):
                    self._put_away()
                    since = time.monotonic()
            for outcome in self._outcomes:
                if self.show is not None and isinstance(outcome, Abandoned):
                    self.show(outcome.failure.traceback)
            yield Step(self._told(), 1)

    def ready(self) -> None:
        """Nothing is needed."""

    def release(self) -> None:
        """Nothing was started."""

    def settle(self) -> list[Outcome]:
        """Put away what is held."""
        self._put_away()
        return self._told()

    def _put_away(self) -> None:
        kept = self._worker.put_away()
        batches = [self._held.pop(number) for number in kept.batches if number in self._held]
        self._outcomes.append(Committed(batches, kept.segments))

    def _told(self) -> list[Outcome]:
        outcomes, self._outcomes = self._outcomes, []
        return outcomes
