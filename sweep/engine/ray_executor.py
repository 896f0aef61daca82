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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from algos import kernel_cache
from algos.contents import Content, large_contents, provide
from algos.errors import InputError, Words
from algos.instances import Instance
from algos.registry import load_plugins
from algos.work import Work
from sweep.engine.batches import BATCHES_AHEAD, Batches, Outcome, Refused, Step
from sweep.engine.ray_session import ray, session
from sweep.engine.worker import Failed, Played, play_units, warm
from sweep.grid.units import Unit

GROW_SECONDS = 2.0  # between looks at what the cluster has
WAIT_SECONDS = 20e-6  # of pause per call in flight: asking Ray costs as much for each
POLL_SECONDS = 0.2  # between steps at the latest


class Simulator:
    """A Ray actor that plays units.

    Raises:
        RuntimeError: its node would not give the driver's bits.
    """

    def __init__(
        self,
        path: Sequence[str],
        plugins: Sequence[str],
        code: str,
    ) -> None:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        load_plugins(plugins)
        found = kernel_cache.code(plugins)
        if found != code:
            host = socket.gethostname()
            raise RuntimeError(f"{host} has other kernels: {found}, here {code}")

    # An actor that is restarted, or waits for a node, is asked to warm up until it has.
    @ray.method(max_task_retries=-1)
    def warm(self, needed: Sequence[Work], contents: Sequence[Any], first: int) -> None:
        """Take large contents, by reference, and compile or load the kernels of a sweep."""
        for content in ray.get(list(contents)):
            provide(content)
        warm(needed, first)

    def play(self, units: Sequence[Unit]) -> Played:
        """Play a batch."""
        return play_units(units)


def simulator(plugins: Sequence[str], code: str) -> Any:
    """A new actor; it starts as soon as a node has a CPU for it."""
    remote: Any = ray.remote(num_cpus=1, max_restarts=-1)(Simulator)
    return remote.remote(sys.path, list(plugins), code)


@dataclass(eq=False)
class Member:
    """An actor with the calls it has been given, first in, first out."""

    actor: Any
    calls: list[Any] = field(default_factory=list)
    suspect: Any = None  # the call that it played when it was lost
    told: int = 0  # kernels and contents at its last warming up
    started: bool = False
    gone: bool = False  # Ray won't restart it


class Crew:
    """The actors of a sweep and the batches they hold.

    Args:
        needed: the kernels to warm.
        contents: references to the contents of large instances, one copy of each a node.
        start: makes an actor.
        wanted: how many; None for one per CPU of the cluster, also of nodes that join later.
    """

    def __init__(
        self,
        needed: list[Work],
        contents: list[Any],
        start: Callable[[], Any],
        wanted: int | None,
    ) -> None:
        self.needed, self.contents = needed, contents
        self.start, self.wanted = start, wanted
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
    def known(self) -> int:
        """How many kernels and contents there are by now."""
        return len(self.needed) + len(self.contents)

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
            member.told = self.known
            call = member.actor.warm.remote(self.needed, self.contents, first)
            self.warming[call] = member

    def fill(self, member: Member, batches: Batches) -> None:
        """Give an actor as many batches as it may hold."""
        if member.gone or member in self.warming.values():
            return
        while batches and len(member.calls) < BATCHES_AHEAD:
            units = batches.take(self.size)
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
        if ready and len(calls) > 2 * BATCHES_AHEAD:
            time.sleep(min(seconds, WAIT_SECONDS * len(calls)))
            more, _ = ray.wait(rest, num_returns=len(rest), timeout=0)
            ready += more
        return ready

    def warmed(self, call: Any) -> Member | Refused | None:
        """Take the end of a warming up: the actor that is ready, or why it never will be.

        None if the actor died after it had been ready (another is made), or has more to take.

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
        if member.told < self.known:  # more was added meanwhile
            self.warm(member)
            return None
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


class RayExecutor:
    """Plays units on the actors of a Ray that it starts, or joins.

    Args:
        needed: the kernels to warm.
        instances: what is played; large ones travel to a node once.
        address: None for a local Ray, else that of a cluster.
        actors: how many; None for one per CPU, on a cluster also of nodes that join later.
        plugins: modules that register algorithms.
    """

    opening = "starting actors on Ray"

    def __init__(
        self,
        needed: Sequence[Work],
        instances: Iterable[Instance],
        address: str | None,
        actors: int | None,
        plugins: Sequence[str],
    ) -> None:
        self.needed, self.address, self.actors = needed, address, actors
        self.plugins = plugins
        self._contents = large_contents(instance.definition for instance in instances)
        self._stack = ExitStack()
        self._crew: Crew | None = None

    def __enter__(self) -> RayExecutor:
        started = self._stack.enter_context(session(self.address, self.actors, self._weight()))
        if self.address is None:
            self.actors = started
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, kernels: Sequence[Work], contents: Mapping[str, Content]) -> None:
        """Have the actors take more kernels and contents before they are given more units."""
        crew = self._crew
        assert crew is not None, "units are added while others are played"
        crew.contents += [ray.put({address: held}) for address, held in contents.items()]
        crew.needed += kernels
        for member in crew.members:
            crew.warm(member)

    def play(self, batches: Batches) -> Iterator[Step]:
        """Play all units; Ray must be running, as it is inside the context.

        Raises:
            InputError: no actor can start.
        """
        code = kernel_cache.code(self.plugins)
        crew = self._crew = Crew(
            list(self.needed), [], lambda: simulator(self.plugins, code), self.actors
        )
        self.add([], self._contents)
        while batches or crew.flying:
            crew.grow()
            outcomes: list[Outcome] = []
            for call in crew.wait(POLL_SECONDS):
                outcomes += self._ended(crew, call, batches)
            if batches.urgent:
                for member in crew.members:
                    crew.fill(member, batches)
            yield Step(outcomes, crew.ready)

    def _ended(self, crew: Crew, call: Any, batches: Batches) -> Iterator[Outcome]:
        """What the end of a call comes to; its actor gets new batches."""
        if call in crew.warming:
            warmed = crew.warmed(call)
            if isinstance(warmed, Refused):
                yield warmed
            elif warmed is not None:
                crew.fill(warmed, batches)
            return
        member, units, came, suspect = crew.landed(call)
        if isinstance(came, Played):
            yield from batches.played(units, came)
        else:
            yield from batches.lost(units, came, suspect)
            crew.warm(member)
        crew.fill(member, batches)

    def _weight(self) -> int:
        """Bytes of the large instances that the object store has to hold."""
        arrays = (value for content in self._contents.values() for value in content.values())
        return sum(getattr(value, "nbytes", 0) for value in arrays)
