"""Units on Ray actors: long-lived, kernels warm, a bounded number of batches in flight.

Faults are Ray's to mend: it restarts an actor that dies, on another node if its own is gone, and
places new ones on nodes that join. What is done here is to hand the lost batches out again. A
unit whose kernel raises, or whose actor dies whenever it plays it, is tried a few times and then
given up, and the others go on.
"""

from __future__ import annotations

import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from algos import kernel_cache
from algos.errors import InputError, Words
from algos.registry import load_plugins
from algos.simulate import Work
from sweep.engine.ray_session import ray
from sweep.engine.worker import Failed, Played, play_units, warm
from sweep.grid.units import Pending, Unit

ATTEMPTS = 3  # of a unit whose kernel raises
DEATHS = 5  # of actors that played a unit alone: more than bad luck with nodes
IN_FLIGHT = 2  # batches per actor: one played, one waiting
BATCH_SECONDS = 0.5  # a call of Ray costs about 0.4 ms, so small units travel together
BATCH_UNITS = 500
CALLS_PER_SECOND = 200  # at which the driver still has most of its core to itself
GROW_SECONDS = 2.0  # between looks at what the cluster has
WAIT_SECONDS = 20e-6  # of pause per call in flight: asking Ray costs as much for each


@dataclass
class Abandoned:
    """A unit given up, with the number of attempts it was given."""

    unit: Unit
    failure: Failed
    attempts: int


@dataclass(frozen=True)
class Refused:
    """An actor that could not start, and why."""

    reason: str


Outcome = tuple[list[Unit], Played] | Abandoned | Refused


class Simulator:
    """A Ray actor that plays units.

    Raises:
        RuntimeError: its node would not give the driver's bits.
    """

    def __init__(self, path: Sequence[str], plugins: Sequence[str], code: str) -> None:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        load_plugins(plugins)
        found = kernel_cache.code(plugins)
        if found != code:
            host = socket.gethostname()
            raise RuntimeError(f"{host} has other kernels: {found}, here {code}")

    # An actor that is restarted, or waits for a node, is asked to warm up until it has.
    @ray.method(max_task_retries=-1)
    def warm(self, needed: Sequence[Work], first: int) -> None:
        """Compile or load the kernels of a sweep."""
        warm(needed, first)

    def play(self, units: Sequence[Unit]) -> Played:
        """Play a batch."""
        return play_units(units)


def simulator(plugins: Sequence[str], code: str) -> Any:
    """A new actor; it starts as soon as a node has a CPU for it."""
    remote: Any = ray.remote(num_cpus=1, max_restarts=-1)(Simulator)
    return remote.remote(sys.path, list(plugins), code)


class Batches:
    """The units still to be handed out, as batches that shrink towards the end."""

    def __init__(self, pending: Pending) -> None:
        self.new = iter(pending)
        self.next = next(self.new, None)
        self.again: deque[list[Unit]] = deque()  # batches that were lost
        self.left = pending.seconds

    def __bool__(self) -> bool:
        return bool(self.again) or self.next is not None

    def take(self, actors: int) -> list[Unit]:
        """The next batch: about half a second of work, less when little is left."""
        if self.again:
            return self.again.popleft()
        most = max(BATCH_SECONDS, actors / CALLS_PER_SECOND)
        target = min(most, self.left / (2 * IN_FLIGHT * actors))
        batch: list[Unit] = []
        seconds = 0.0
        while self.next and len(batch) < BATCH_UNITS and (not batch or seconds < target):
            batch.append(self.next)
            seconds += self.next.seconds
            self.next = next(self.new, None)
        self.left = max(0.0, self.left - seconds)
        return batch


@dataclass(eq=False)
class Member:
    """An actor with the calls it has been given, first in, first out."""

    actor: Any
    calls: list[Any] = field(default_factory=list)
    suspect: Any = None  # the call that it played when it was lost
    started: bool = False
    gone: bool = False  # Ray won't restart it


class Crew:
    """The actors of a sweep and the batches they hold.

    Args:
        needed: the kernels to warm.
        start: makes an actor.
        wanted: how many; None for one per CPU of the cluster, also of nodes that join later.
    """

    def __init__(
        self, needed: Sequence[Work], start: Callable[[], Any], wanted: int | None
    ) -> None:
        self.needed, self.start, self.wanted = needed, start, wanted
        self.members: list[Member] = []
        self.warming: dict[Any, Member] = {}
        self.flying: dict[Any, tuple[Member, list[Unit]]] = {}
        self.looked = -GROW_SECONDS
        self.dead = 0  # actors that could not be made

    @property
    def size(self) -> int:
        """How many actors there are, started or not."""
        return max(1, len(self.members))

    @property
    def ready(self) -> int:
        """How many are warm."""
        return len(self.members) - len(self.warming)

    def grow(self) -> None:
        """Make the actors that are missing; Ray places them when there is room."""
        if time.monotonic() - self.looked < GROW_SECONDS:
            return
        self.looked = time.monotonic()
        wanted = self.wanted or max(1, int(ray.cluster_resources().get("CPU", 0)))
        for _ in range(wanted - len(self.members) - self.dead):
            member = Member(self.start())
            # Actors that begin at different kernels share the compilation.
            self.warm(member, len(self.members) * len(self.needed) // wanted)
            self.members.append(member)

    def warm(self, member: Member, first: int = 0) -> None:
        """Have an actor warm up, from kernel `first`; it counts as ready when it has."""
        if not member.gone and member not in self.warming.values():
            self.warming[member.actor.warm.remote(self.needed, first)] = member

    def send(self, member: Member, units: list[Unit]) -> None:
        """Give an actor a batch."""
        call = member.actor.play.remote(units)
        member.calls.append(call)
        self.flying[call] = (member, units)

    def wait(self, seconds: float) -> list[Any]:
        """The calls that have ended, at the latest after so many seconds."""
        calls = [*self.flying, *self.warming]
        if not calls:  # every actor is gone, and new ones are not made yet
            time.sleep(seconds)
            return []
        ready, rest = ray.wait(calls, num_returns=1, timeout=seconds)
        if ready and len(calls) > 2 * IN_FLIGHT:
            time.sleep(min(seconds, WAIT_SECONDS * len(calls)))
            more, _ = ray.wait(rest, num_returns=len(rest), timeout=0)
            ready += more
        return ready

    def warmed(self, call: Any) -> Member | Refused | None:
        """Take the end of a warming up: the actor that is ready, or why it never will be.

        None stands for one that had been ready, and is gone; another is made in its place.

        Raises:
            InputError: no actor is left at all.
        """
        member = self.warming.pop(call)
        try:
            ray.get(call)
        except ray.exceptions.RayError as error:
            self.members.remove(member)
            member.gone = True
            self.dead += not member.started  # what would fail again is not made again
            reason = str(error).strip().split("\n")[-1]
            if not self.members and self.dead:
                allowed = f"nodes with this project as it is here ({reason})"
                raise InputError("runtime", Words("no actor that can start"), allowed) from None
            return None if member.started else Refused(reason)
        member.started, member.suspect = True, None
        return member

    def landed(self, call: Any) -> tuple[Member, list[Unit], Played | Failed, bool]:
        """Take the end of a batch: the actor, the units, what came of them.

        A `Failed` stands for the whole batch; the last value says whether the batch itself is
        the suspect, rather than one that waited behind it.
        """
        member, units = self.flying.pop(call)
        try:
            played = ray.get(call)
        except ray.exceptions.RayError as error:
            line = f"{type(error).__name__}: {str(error).strip()}".split("\n")[0]
            failure = Failed(0, line, str(error))
            if isinstance(error, ray.exceptions.RayTaskError):
                member.calls.remove(call)
                return member, units, failure, True
            if member.suspect is None:
                member.suspect = member.calls[0]
            member.calls.remove(call)
            return member, units, failure, call is member.suspect
        member.calls.remove(call)
        return member, units, played, False


def execute(
    pending: Pending,
    wanted: int | None,
    plugins: Sequence[str],
    poll: float = 0.2,
) -> Iterator[tuple[list[Outcome], int]]:
    """Play all units; yields what has finished since the last time, at least every `poll` s.

    Ray must be running. With the outcomes comes the number of actors at work.

    Args:
        pending: the units.
        wanted: how many actors; None for one per CPU of the cluster, whatever joins or leaves.
        plugins: modules that register algorithms.
        poll: seconds.
    """
    code = kernel_cache.code(plugins)
    crew = Crew(pending.kernels(), lambda: simulator(plugins, code), wanted)
    batches = Batches(pending)
    attempts: Counter[tuple[int, int]] = Counter()
    deaths: Counter[tuple[int, int]] = Counter()

    def fill(member: Member) -> None:
        if member.gone or member in crew.warming.values():
            return
        while batches and len(member.calls) < IN_FLIGHT:
            crew.send(member, batches.take(crew.size))

    def again(unit: Unit, failure: Failed, count: Counter[tuple[int, int]], most: int) -> None:
        key = (unit.numbers[0], unit.start)
        count[key] += 1
        if count[key] < most:
            batches.again.append([unit])
        else:
            finished.append(Abandoned(unit, failure, count[key]))

    while batches or crew.flying:
        crew.grow()
        finished: list[Outcome] = []
        for call in crew.wait(poll):
            if call in crew.warming:
                warmed = crew.warmed(call)
                if isinstance(warmed, Refused):
                    finished.append(warmed)
                elif warmed is not None:
                    fill(warmed)
                continue
            member, units, came, suspect = crew.landed(call)
            if isinstance(came, Played):
                finished.append((units, came))
                for failure in came.failed:
                    again(units[failure.unit], failure, attempts, ATTEMPTS)
            else:
                if not suspect:
                    batches.again.append(units)
                elif len(units) > 1:
                    batches.again.extend([unit] for unit in units)
                else:
                    again(units[0], came, deaths, DEATHS)
                crew.warm(member)
            fill(member)
        if batches.again:  # what came back late must not wait for a busy actor
            for member in crew.members:
                fill(member)
        yield finished, crew.ready
