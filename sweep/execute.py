"""Units on Ray actors: long-lived, kernels warm, a bounded number of batches in flight.

Ray restarts an actor that dies and repeats its batch; a unit whose kernel raises, or whose
actor keeps dying, is tried a few times and then given up, and the others go on.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from algos.registry import load_plugins
from algos.simulate import Work
from sweep.plan import Unit
from sweep.ray_session import ray
from sweep.worker import Done, Failed, Outcome, kernels, play_units, warm

ATTEMPTS = 3
IN_FLIGHT = 2  # batches per actor: one played, one waiting
BATCH_SECONDS = 0.5  # a call of Ray costs about 0.4 ms, so small units travel together
BATCH_UNITS = 500


class Simulator:
    """A Ray actor that plays units."""

    def __init__(self, path: Sequence[str], plugins: Sequence[str]) -> None:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        load_plugins(plugins)

    def warm(self, needed: Sequence[Work], first: int) -> None:
        """Compile or load the kernels of a sweep."""
        warm(needed, first)

    def play(self, units: Sequence[tuple[int, Unit]]) -> list[Outcome]:
        """Play a batch."""
        return play_units(units)


class Batches:
    """The units still to be handed out, as batches that shrink towards the end."""

    def __init__(self, units: Sequence[Unit], actors: int) -> None:
        self.units = units
        self.actors = actors
        self.waiting = deque(range(len(units)))
        self.alone: deque[int] = deque()  # to be tried again, each in a batch of its own
        self.left = sum(unit.seconds for unit in units)

    def __bool__(self) -> bool:
        return bool(self.waiting or self.alone)

    def take(self) -> list[int]:
        """The next batch: about half a second of work, less when little is left."""
        if self.alone:
            return [self.alone.popleft()]
        target = min(BATCH_SECONDS, self.left / (2 * IN_FLIGHT * self.actors))
        batch: list[int] = []
        seconds = 0.0
        while self.waiting and len(batch) < BATCH_UNITS and (not batch or seconds < target):
            number = self.waiting.popleft()
            batch.append(number)
            seconds += self.units[number].seconds
        self.left = max(0.0, self.left - seconds)
        return batch


def execute(
    units: Sequence[Unit], actors: int, plugins: Sequence[str], poll: float = 0.2
) -> Iterator[list[Done | tuple[Failed, int]]]:
    """Play all units; yields what has finished since the last time, at least every `poll` s.

    Ray must be running. A failed unit comes with the number of attempts it was given.
    """
    remote: Any = ray.remote(num_cpus=1, max_restarts=-1, max_task_retries=ATTEMPTS - 1)(Simulator)
    pool = [remote.remote(sys.path, list(plugins)) for _ in range(actors)]
    needed = kernels(units)
    # An actor gets work when it has started and is warm; one that finds no CPU holds up nothing.
    warming = {
        actor.warm.remote(needed, number * len(needed) // actors): actor
        for number, actor in enumerate(pool)
    }
    batches = Batches(units, actors)
    attempts = [0] * len(units)
    flying: dict[Any, tuple[Any, list[int]]] = {}

    def fill(actor: Any) -> None:
        if batches:
            batch = batches.take()
            call = actor.play.remote([(number, units[number]) for number in batch])
            flying[call] = (actor, batch)

    while batches or flying:
        ready, _ = ray.wait([*flying, *warming], num_returns=1, timeout=poll)
        finished: list[Done | tuple[Failed, int]] = []
        for call in ready:
            if call in warming:
                actor = warming.pop(call)
                if _started(call):
                    for _ in range(IN_FLIGHT):
                        fill(actor)
                elif not flying and not warming:
                    ray.get(call)  # no actor is left: say why
                continue
            actor, batch = flying.pop(call)
            for outcome in _outcomes(call, batch):
                if isinstance(outcome, Done):
                    finished.append(outcome)
                    continue
                attempts[outcome.unit] += 1
                if attempts[outcome.unit] < ATTEMPTS:
                    batches.alone.append(outcome.unit)
                else:
                    finished.append((outcome, attempts[outcome.unit]))
            fill(actor)
            if not flying:  # the last batches of other actors may have come back to be retried
                fill(actor)
        yield finished


def _started(call: Any) -> bool:
    """Whether an actor's warming up succeeded."""
    try:
        ray.get(call)
    except ray.exceptions.RayError:
        return False
    return True


def _outcomes(call: Any, batch: list[int]) -> list[Outcome]:
    """The outcomes of a batch; all failed where the actor itself did."""
    try:
        return ray.get(call)
    except ray.exceptions.RayError as error:
        line = f"{type(error).__name__}: {str(error).strip()}".split("\n")[0]
        return [Failed(number, line, str(error)) for number in batch]
