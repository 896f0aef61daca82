"""What an actor does, without Ray: compile kernels once, play units, keep their rows."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from filelock import FileLock

from algos import kernel_cache
from algos.work import Work
from sweep.engine.keeper import Keeper, Kept
from sweep.engine.rows import RowBuilder, recorded
from sweep.engine.shown import Shown, View, seen
from sweep.grid.units import Unit, expected_seconds
from sweep.store import Store
from sweep.store.columns import TIMINGS
from sweep.store.segments import ROW_GROUP


@dataclass(frozen=True)
class Failed:
    """A unit whose kernel raised; `unit` is its number in the batch."""

    unit: int
    error: str
    traceback: str


@dataclass(frozen=True)
class Played:
    """What came of a batch of units; its rows stay where it was played.

    Attributes:
        keeper: who holds the rows.
        held: encoded bytes that it holds by now.
        done: numbers in the batch of the units that were played.
        timings: a row for each of these.
        shown: for each of these, what W&B is shown of its cells; empty where nothing is.
        failed: the units that were not.
    """

    keeper: str
    held: int
    done: list[int]
    timings: pa.Table
    shown: list[Shown]
    failed: list[Failed]


class Worker:
    """Plays batches, and keeps their rows until it is asked to put them away.

    Args:
        store: where the rows go; None where it can't be reached from here.
    """

    def __init__(self, store: Store | None) -> None:
        self.keeper = Keeper(store)

    def play(self, batch: int, units: Sequence[Unit], view: View) -> Played:
        """Play units one after the other; an exception fails its unit only.

        Args:
            batch: its number.
            units: what to play.
            view: what W&B is shown of them.
        """
        builders: dict[str, RowBuilder] = {}
        making = 0.0  # seconds of making rows
        done: list[int] = []
        failed: list[Failed] = []
        seconds: list[float] = []
        shown: list[Shown] = []
        for number, unit in enumerate(units):
            start = time.perf_counter()
            try:
                checkpoints, horizons = recorded(unit.horizons)
                replicates = range(unit.start, unit.stop)
                outcome = unit.work.play(unit.seed, replicates, checkpoints, horizons)
                builder = builders.setdefault(
                    unit.work.algorithm.family, RowBuilder(unit.work.family)
                )
                builder.add(unit, outcome)
                if view != "nothing":
                    shown.append(seen(unit, outcome, view))
            except Exception as error:
                line = f"{type(error).__name__}: {error}".split("\n")[0]
                failed.append(Failed(number, line, traceback.format_exc()))
            else:
                seconds.append(time.perf_counter() - start)
                done.append(number)
                if builder.size >= ROW_GROUP:
                    making += self._keep(builder)
        making += sum(map(self._keep, builders.values()))
        held = self.keeper.complete(batch)
        # Making rows is work like playing: each unit bears its share.
        each = making / max(1, sum(units[i].rows for i in done))
        seconds = [spent + each * units[i].rows for spent, i in zip(seconds, done, strict=True)]
        timings = unit_timings([units[i] for i in done], seconds)
        return Played(self.keeper.name, held, done, timings, shown, failed)

    def _keep(self, builder: RowBuilder) -> float:
        """Have what a builder has gathered kept; returns the seconds it takes."""
        start = time.perf_counter()
        if builder.size:
            self.keeper.take(builder.family.name, builder.table())
        return time.perf_counter() - start

    def put_away(self) -> Kept:
        """Commit what is kept, or hand it over as segments."""
        return self.keeper.put_away()


def unit_timings(units: Sequence[Unit], seconds: Sequence[float]) -> pa.Table:
    """What each unit took, beside what was expected before measurements."""
    works = [unit.work for unit in units]
    counts = [unit.stop - unit.start for unit in units]
    columns = {
        "stream": [work.stream for work in works],
        "algorithm": [work.algorithm.name for work in works],
        "version": [work.algorithm.version for work in works],
        "distribution": [work.instance.kind for work in works],
        "T": [work.T for work in works],
        "start": [unit.start for unit in units],
        "stop": [unit.stop for unit in units],
        "seconds": seconds,
        "uncorrected": [
            count * expected_seconds(work.algorithm, work.instance, work.epsilon, work.T)
            for work, count in zip(works, counts, strict=True)
        ],
        "host": [socket.gethostname()] * len(units),
        "pid": [os.getpid()] * len(units),
        "finished": [time.time()] * len(units),
    }
    return pa.table(columns, schema=TIMINGS)


def warm(needed: Sequence[Work], first: int = 0) -> None:
    """Compile or load kernels, beginning with number `first` and going round.

    A lock per kernel makes each be compiled by one process of a node; processes that begin at
    different kernels share the compilation between them.
    """
    for i in range(len(needed)):
        work = needed[(first + i) % len(needed)]
        name = f"{work.algorithm.name}-{work.instance.kind}.lock"
        # Errors are left to the units that meet them.
        with FileLock(kernel_cache.directory() / name), suppress(Exception):
            work.warm()
