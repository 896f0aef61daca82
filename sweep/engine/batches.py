"""The units of a sweep on their way: handed out in batches, handed out again, or given up.

Every executor takes its batches here and says here what became of them, so that retries are the
same wherever units are played.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from algos.contents import Content
from algos.work import Work
from sweep.engine.pace import Pace
from sweep.engine.shown import View
from sweep.engine.worker import Failed, Played
from sweep.grid.units import Pending, Unit
from sweep.store.segments import Segment

ATTEMPTS = 3  # of a unit whose kernel raises
DEATHS = 5  # of actors that played a unit alone: more than bad luck with nodes
BATCHES_AHEAD = 2  # per actor: one played, one waiting
BATCH_SECONDS = 0.5  # a call of Ray costs about 0.4 ms, so small units travel together
BATCH_UNITS = 500
CALLS_PER_SECOND = 200  # at which the driver still has most of its core to itself


@dataclass(frozen=True)
class Done:
    """A batch that was played; units whose kernel raised are named in `played`."""

    units: list[Unit]
    played: Played

    @property
    def good(self) -> list[Unit]:
        """The units that have rows."""
        return [self.units[i] for i in self.played.done]


@dataclass(frozen=True)
class Committed:
    """Batches whose rows are safe, once the segments that have content are written."""

    batches: list[Done]
    segments: list[Segment]


@dataclass(frozen=True)
class Lost:
    """Units that were played, and whose rows died with the actor that held them."""

    units: list[Unit]


@dataclass(frozen=True)
class Abandoned:
    """A unit given up, with the number of attempts it was given."""

    unit: Unit
    failure: Failed
    attempts: int


@dataclass(frozen=True)
class Refused:
    """What an actor can't do, and why."""

    reason: str


Outcome = Done | Committed | Lost | Abandoned | Refused


@dataclass(frozen=True)
class Step:
    """What has come since the last step; how many actors are at work, and how many warm up."""

    outcomes: list[Outcome]
    actors: int
    warming: int = 0


class Batches:
    """The units still to be handed out, as batches that shrink towards the end."""

    def __init__(self, pending: Pending) -> None:
        self._new: Iterator[Unit] = iter(pending)
        self._next = next(self._new, None)
        self._more: deque[Unit] = deque()  # asked for by a rule
        self._again: deque[list[Unit]] = deque()  # lost, or to be tried once more
        self._left = pending.seconds
        self._attempts: Counter[tuple[int, int]] = Counter()
        self._deaths: Counter[tuple[int, int]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._again or self._more) or self._next is not None

    @property
    def urgent(self) -> bool:
        """Whether units came back or were added.

        They must not wait for a busy actor, and must be handed out even if no call is in flight.
        """
        return bool(self._again or self._more)

    def add(self, units: Iterable[Unit]) -> None:
        """Units that a rule asks for while the sweep runs."""
        for unit in units:
            self._more.append(unit)
            self._left += unit.seconds

    def take(self, actors: int) -> list[Unit]:
        """The next batch: about half a second of work, less when little is left."""
        if self._again:
            return self._again.popleft()
        most = max(BATCH_SECONDS, actors / CALLS_PER_SECOND)
        target = min(most, self._left / (2 * BATCHES_AHEAD * actors))
        batch: list[Unit] = []
        seconds = 0.0
        while len(batch) < BATCH_UNITS and (not batch or seconds < target):
            unit = self._pop()
            if unit is None:
                break
            batch.append(unit)
            seconds += unit.seconds
        self._left = max(0.0, self._left - seconds)
        return batch

    def played(self, units: list[Unit], played: Played) -> Iterator[Outcome]:
        """Take a batch that was played: what the driver is told of it."""
        yield Done(units, played)
        for failure in played.failed:
            yield from self._once_more(units[failure.unit], failure, self._attempts, ATTEMPTS)

    def lost(self, units: list[Unit], failure: Failed, suspect: bool) -> Iterator[Outcome]:
        """Take a batch whose actor died; `suspect`: while it played this batch."""
        if not suspect:
            self._again.append(units)
        elif len(units) > 1:
            self._again.extend([unit] for unit in units)
        else:
            yield from self._once_more(units[0], failure, self._deaths, DEATHS)

    def forgotten(self, done: Sequence[Done]) -> Iterator[Lost]:
        """Take batches that were played but whose rows are lost."""
        for units in (one.good for one in done):
            if units:
                self._again.append(units)
                yield Lost(units)

    def _pop(self) -> Unit | None:
        if self._more:
            return self._more.popleft()
        unit, self._next = self._next, next(self._new, None)
        return unit

    def _once_more(
        self, unit: Unit, failure: Failed, count: Counter[tuple[int, int]], most: int
    ) -> Iterator[Abandoned]:
        key = (unit.numbers[0], unit.start)
        count[key] += 1
        if count[key] < most:
            self._again.append([unit])
        else:
            yield Abandoned(unit, failure, count[key])


class Executor(Protocol):
    """Plays units, somewhere; a context manager that holds what it needs for that.

    `opening` is what the user is told before it begins.
    """

    opening: str

    def __enter__(self) -> Executor: ...

    def __exit__(self, *error: object) -> None: ...

    def ready(self) -> None:
        """Wait until all is there that playing needs.

        Raises:
            InputError: it can't be had.
        """

    def play(self, batches: Batches, pace: Pace, view: View) -> Iterator[Step]:
        """Play all units, also those that are added between steps; a step a few times a second.

        Args:
            batches: the units.
            pace: how often rows are put away.
            view: what W&B is shown of the units.
        """

    def release(self) -> None:
        """Begin to end what was started: nothing more is to be played. Leaving waits for it."""

    def settle(self) -> list[Outcome]:
        """Have the rows put away that are held, after `play` was interrupted; soon, or not at all.

        Also the outcomes that no step has told yet.
        """

    def add(self, kernels: Sequence[Work], contents: Mapping[str, Content]) -> None:
        """Take kernels and large contents (by address) of units that are added."""
