"""Units on Ray actors: long-lived, kernels warm, a bounded number of batches in flight.

`ray_crew` keeps the books of the actors. A unit whose kernel raises, or whose actor dies whenever
it plays it, is tried a few times and then given up, and the others go on.
"""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from algos import kernel_cache
from algos.contents import Content, large_contents, provide
from algos.instances import Instance
from algos.registry import load_plugins
from algos.work import Work
from sweep.engine.batches import Batches, Outcome, Step
from sweep.engine.keeper import Kept
from sweep.engine.pace import Pace
from sweep.engine.ray_crew import POLL_SECONDS, Crew
from sweep.engine.ray_session import ray, session
from sweep.engine.shown import View
from sweep.engine.worker import Played, Worker, warm
from sweep.grid.units import Unit
from sweep.store import Store
from sweep.store.landmarks import Landmark, find, landmark

SETTLE_SECONDS = 10.0  # that actors get to put their rows away after an interruption


class Simulator:
    """A Ray actor that plays units, and keeps their rows until it is asked to put them away.

    Raises:
        RuntimeError: its node would not give the driver's bits.
    """

    def __init__(
        self, path: Sequence[str], plugins: Sequence[str], code: str, mark: Landmark
    ) -> None:
        sys.path.extend(entry for entry in path if entry not in sys.path)
        load_plugins(plugins)
        found = kernel_cache.code(plugins)
        if found != code:
            host = socket.gethostname()
            raise RuntimeError(f"{host} has other kernels: {found}, here {code}")
        self.worker = Worker(find(mark))
        self.warmed = False

    # An actor that is restarted, or waits for a node, is asked to warm up until it has.
    @ray.method(max_task_retries=-1)
    def warm(self, needed: Sequence[Work], contents: Sequence[Any], first: int) -> None:
        """Take large contents, by reference, and compile or load the kernels of a sweep."""
        for content in ray.get(list(contents)):
            provide(content)
        warm(needed, first)
        self.warmed = True

    def play(self, number: int, units: Sequence[Unit], view: View) -> Played | None:
        """Play a batch; None where this actor was restarted and has to be warmed up first."""
        return self.worker.play(number, units, view) if self.warmed else None

    # In a thread of its own, so that a long batch keeps nobody waiting.
    @ray.method(concurrency_group="store")
    def put_away(self) -> Kept:
        """Commit the rows of the batches that were played, or hand them over."""
        return self.worker.put_away()


def simulator(plugins: Sequence[str], code: str, mark: Landmark) -> Any:
    """A new actor; it starts as soon as a node has a CPU for it."""
    make: Any = ray.remote  # whose types know no concurrency groups
    remote = make(num_cpus=1, max_restarts=-1, concurrency_groups={"store": 1})(Simulator)
    return remote.remote(sys.path, list(plugins), code, mark)


class RayExecutor:
    """Plays units on the actors of a Ray that it starts, or joins.

    Args:
        needed: the kernels to warm.
        instances: what is played; large ones travel to a node once.
        store: where the rows go.
        address: None for a local Ray, else that of a cluster.
        actors: how many; None for one per CPU, on a cluster also of nodes that join later.
        plugins: modules that register algorithms.
    """

    opening = "starting actors on Ray"

    def __init__(
        self,
        needed: Sequence[Work],
        instances: Iterable[Instance],
        store: Store,
        address: str | None,
        actors: int | None,
        plugins: Sequence[str],
    ) -> None:
        self.needed, self.address, self.actors = needed, address, actors
        self.store, self.plugins = store, plugins
        self._contents = large_contents(instance.definition for instance in instances)
        self._stack = ExitStack()
        self._crew: Crew | None = None
        self._thread = ThreadPoolExecutor(1, "ray")  # for its start and its end
        self._starting: Future[None] | None = None

    def __enter__(self) -> RayExecutor:
        self._starting = self._thread.submit(self._start)
        if self.address is not None:  # whether a cluster is there is told first
            self.ready()
        return self

    def _start(self) -> None:
        started = self._stack.enter_context(session(self.address, self.actors, self._weight()))
        if self.address is None:
            self.actors = started

    def ready(self) -> None:
        """Wait until Ray has started; it does so beside what else is to be done."""
        assert self._starting is not None, "inside the context"
        self._starting.result()

    def __exit__(self, *error: object) -> None:
        self.release()
        self._thread.shutdown()

    def release(self) -> None:
        """Begin to shut Ray down, beside whatever comes next."""
        self._thread.submit(self._stack.close)

    def add(self, kernels: Sequence[Work], contents: Mapping[str, Content]) -> None:
        """Have the actors take more kernels and contents before they are given more units."""
        crew = self._crew
        assert crew is not None, "units are added while others are played"
        crew.contents += [ray.put({address: held}) for address, held in contents.items()]
        crew.needed += kernels
        for member in crew.members:
            crew.warm(member)

    def play(self, batches: Batches, pace: Pace, view: View) -> Iterator[Step]:
        """Play all units; Ray must be running, as it is inside the context.

        Raises:
            InputError: no actor can start, or the store can't be written.
        """
        self.ready()
        code = kernel_cache.code(self.plugins)
        mark = self._stack.enter_context(landmark(self.store))
        crew = self._crew = Crew(
            list(self.needed),
            [],
            lambda: simulator(self.plugins, code, mark),
            self.actors,
            batches,
            pace,
            view,
        )
        self.add([], self._contents)
        while batches or crew.busy:
            crew.grow()
            for call in crew.wait(POLL_SECONDS):
                crew.ended(call)
            if batches.urgent:
                for member in crew.members:
                    crew.fill(member)
            crew.put_away()
            yield Step(crew.told(), crew.ready, len(crew.warming))

    def settle(self) -> list[Outcome]:
        """Ask all actors that hold rows to put them away, and wait a while for them."""
        crew = self._crew
        if crew is None:
            return []
        for member in crew.members:
            crew.ask(member)
        deadline = time.monotonic() + SETTLE_SECONDS
        while crew.storing and (left := deadline - time.monotonic()) > 0:
            for call in ray.wait(list(crew.storing), num_returns=1, timeout=left)[0]:
                crew.ended(call)
        return crew.told()

    def _weight(self) -> int:
        """Bytes of the large instances that the object store has to hold."""
        arrays = (value for content in self._contents.values() for value in content.values())
        return sum(getattr(value, "nbytes", 0) for value in arrays)
