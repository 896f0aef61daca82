"""The actors of a sweep as the driver knows them: what each was given, holds, and has put away.

Faults are Ray's to mend: it restarts an actor that dies, on another node if its own is gone, and
places new ones on nodes that join. What is done here is to hand out again what was lost with an
actor: the batches it was given, and those it had played whose rows it held.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from algos.errors import InputError, Words
from algos.work import Work
from sweep.engine.batches import BATCHES_AHEAD, Batches, Committed, Done, Lost, Outcome, Refused
from sweep.engine.keeper import Kept
from sweep.engine.pace import Pace
from sweep.engine.ray_session import ray
from sweep.engine.shown import View
from sweep.engine.worker import Failed
from sweep.grid.units import Unit

GROW_SECONDS = 2.0  # between looks at what the cluster has
WAIT_SECONDS = 20e-6  # of pause per call in flight: asking Ray costs as much for each
POLL_SECONDS = 0.2  # between steps at the latest, and between looks at whose rows are due


@dataclass(eq=False)
class Member:
    """An actor with the calls it has been given, first in, first out, and the rows it holds."""

    actor: Any
    calls: list[Any] = field(default_factory=list)
    suspect: Any = None  # the call that it played when it was lost
    told: int = 0  # kernels and contents at its last warming up
    started: bool = False
    gone: bool = False  # Ray won't restart it
    keeper: str = ""  # whoever holds the rows
    held: dict[int, Done] = field(default_factory=dict)  # played, not committed, by number
    early: set[int] = field(default_factory=set)  # committed, not known to be played yet
    size: int = 0  # encoded bytes that are held
    since: float = 0.0  # when it was last asked to put its rows away
    asked: bool = False  # whether it is doing so

    def forget(self) -> list[Done]:
        """What is lost with the process that held it."""
        lost = list(self.held.values())
        self.held, self.early, self.size = {}, set(), 0
        return lost


class Crew:
    """The actors of a sweep and the batches they hold.

    Args:
        needed: the kernels to warm.
        contents: references to the contents of large instances, one copy of each a node.
        start: makes an actor.
        wanted: how many; None for one per CPU of the cluster, also of nodes that join later.
        batches: what there is to play.
        pace: how often rows are put away.
        view: what W&B is shown of it.
    """

    def __init__(
        self,
        needed: list[Work],
        contents: list[Any],
        start: Callable[[], Any],
        wanted: int | None,
        batches: Batches,
        pace: Pace,
        view: View,
    ) -> None:
        self.needed, self.contents = needed, contents
        self.start, self.wanted = start, wanted
        self.batches, self.pace, self.view = batches, pace, view
        self.members: list[Member] = []
        self.warming: dict[Any, Member] = {}
        self.flying: dict[Any, tuple[Member, int, list[Unit]]] = {}
        self.storing: dict[Any, Member] = {}
        self.outcomes: list[Outcome] = []  # that no step has told yet
        self.looked = -GROW_SECONDS
        self.asked = -POLL_SECONDS
        self.dead = 0  # actors that could not be made
        self.numbers = itertools.count()  # of batches

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

    @property
    def busy(self) -> bool:
        """Whether batches are played, or their rows not safe yet."""
        return bool(self.flying or self.storing) or any(member.held for member in self.members)

    def told(self) -> list[Outcome]:
        """The outcomes since the last call."""
        outcomes, self.outcomes = self.outcomes, []
        return outcomes

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

    def fill(self, member: Member) -> None:
        """Give an actor as many batches as it may hold."""
        if member.gone or member in self.warming.values():
            return
        while self.batches and len(member.calls) < BATCHES_AHEAD:
            number, units = next(self.numbers), self.batches.take(self.size)
            call = member.actor.play.remote(number, units, self.view)
            member.calls.append(call)
            self.flying[call] = (member, number, units)

    def put_away(self) -> None:
        """Ask the actors whose rows are due, and those that have nothing else to do."""
        # Steps may come much more often than rows are due.
        if self.batches and time.monotonic() - self.asked < POLL_SECONDS:
            return
        self.asked = time.monotonic()
        for member in self.members:
            idle = not member.calls and not self.batches
            if member.held and (idle or self.pace.is_due(member.since, member.size, self.size)):
                self.ask(member)

    def ask(self, member: Member) -> None:
        """Ask an actor to put its rows away, unless it is doing so."""
        if not member.asked and not member.gone:
            member.asked, member.since = True, time.monotonic()
            self.storing[member.actor.put_away.remote()] = member

    def wait(self, seconds: float) -> list[Any]:
        """The calls that have ended, at the latest after so many seconds."""
        calls = [*self.flying, *self.warming, *self.storing]
        if not calls:  # every actor is gone, and new ones are not made yet
            time.sleep(seconds)
            return []
        ready, rest = ray.wait(calls, num_returns=1, timeout=seconds)
        if ready and len(calls) > 2 * BATCHES_AHEAD:
            time.sleep(min(seconds, WAIT_SECONDS * len(calls)))
            more, _ = ray.wait(rest, num_returns=len(rest), timeout=0)
            ready += more
        return ready

    def ended(self, call: Any) -> None:
        """Take the end of a call; its actor gets new batches.

        Raises:
            InputError: no actor is left at all.
        """
        if call in self.storing:
            self._stored(call)
        elif call in self.warming:
            self._warmed(call)
        else:
            self._landed(call)

    def _warmed(self, call: Any) -> None:
        """Take the end of a warming up: the actor is ready, or never will be.

        It may have more to take; one that died after it had been ready is made anew.
        """
        member = self.warming.pop(call)
        try:
            ray.get(call)
        except ray.exceptions.RayError as error:
            self.members.remove(member)
            member.gone = True
            self.dead += not member.started  # what would fail again is not made again
            self._forget(member)
            reason = str(error).strip().split("\n")[-1]
            if not self.members and self.dead:
                allowed = f"nodes with this project as it is here ({reason})"
                raise InputError("runtime", Words("no actor that can start"), allowed) from None
            if not member.started:
                self.outcomes.append(Refused(f"an actor could not start: {reason}"))
            return
        if not member.started:
            member.since = self.pace.first(self.members.index(member), self.size)
        member.started, member.suspect = True, None
        if member.told < self.known:  # more was added meanwhile
            self.warm(member)
        self.fill(member)

    def _landed(self, call: Any) -> None:
        """Take the end of a batch: it was played, or lost with its actor."""
        member, number, units = self.flying.pop(call)
        try:
            played = ray.get(call)
        except ray.exceptions.RayError as error:
            self._failed(member, call, units, error)
            return
        member.calls.remove(call)
        if played is None:  # the actor was restarted
            self._forget(member)
            self.outcomes += self.batches.lost(units, Failed(0, "", ""), False)
            self.warm(member)
            return
        if played.keeper != member.keeper:  # rows of an earlier one are gone
            self._forget(member, but=played.keeper)
        done = Done(units, played)
        self.outcomes += self.batches.played(units, played)
        member.size = played.held
        if number in member.early:
            member.early.remove(number)
            self.outcomes.append(Committed([done], []))
        else:
            member.held[number] = done
        self.fill(member)

    def _failed(self, member: Member, call: Any, units: list[Unit], error: BaseException) -> None:
        """Take a batch that its actor did not return from: the batch itself may be the cause."""
        line = f"{type(error).__name__}: {str(error).strip()}".split("\n")[0]
        suspect = isinstance(error, ray.exceptions.RayTaskError)
        if not suspect:
            if member.suspect is None:
                member.suspect = member.calls[0]
            suspect = call is member.suspect  # rather than one that waited behind it
            self._forget(member)
        member.calls.remove(call)
        self.outcomes += self.batches.lost(units, Failed(0, line, str(error)), suspect)
        self.warm(member)
        self.fill(member)

    def _stored(self, call: Any) -> None:
        """Take what an actor has put away."""
        member = self.storing.pop(call)
        member.asked = False
        try:
            kept: Kept = ray.get(call)
        except ray.exceptions.RayTaskError as error:  # its rows can't be encoded
            line = f"{type(error).__name__}: {str(error).strip()}".split("\n")[0]
            for done in member.forget():
                self.outcomes.append(Lost(done.good))
                failure = Failed(0, line, str(error))
                self.outcomes += self.batches.lost(done.good, failure, True)
            return
        except ray.exceptions.RayError:
            self._forget(member)
            return
        if kept.keeper != member.keeper:
            self._forget(member, but=kept.keeper)
        member.early.update(number for number in kept.batches if number not in member.held)
        batches = [member.held.pop(number) for number in kept.batches if number in member.held]
        self.outcomes.append(Committed(batches, kept.segments))
        if kept.problem:
            self.outcomes.append(Refused(f"an actor could not write to the store: {kept.problem}"))

    def _forget(self, member: Member, but: str = "") -> None:
        """The rows that a member held are lost with its process; `but` names the new keeper."""
        self.outcomes += self.batches.forgotten(member.forget())
        member.keeper = but
