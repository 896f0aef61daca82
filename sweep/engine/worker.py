"""What an actor does, without Ray: compile kernels once, play units, return rows."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
from filelock import FileLock

from algos import kernel_cache
from algos.work import Work
from sweep.engine.rows import RowBuilder, recorded
from sweep.grid.units import Unit, expected_seconds
from sweep.store.columns import TIMINGS


@dataclass(frozen=True)
class Failed:
    """A unit whose kernel raised; `unit` is its number in the batch."""

    unit: int
    error: str
    traceback: str


@dataclass(frozen=True)
class Played:
    """What came of a batch of units.

    `done` are the numbers in the batch of the units that were played; `tables` hold their rows,
    one table per family, units in order; `timings` has a row for each.
    """

    done: list[int]
    tables: dict[str, pa.Table]
    timings: pa.Table
    failed: list[Failed] = field(default_factory=list)


def play_units(units: Sequence[Unit]) -> Played:
    """Play units one after the other; an exception fails its unit only."""
    builders: dict[str, RowBuilder] = {}
    done: list[int] = []
    failed: list[Failed] = []
    seconds: list[float] = []
    for number, unit in enumerate(units):
        start = time.perf_counter()
        try:
            checkpoints, horizons = recorded(unit.horizons)
            replicates = range(unit.start, unit.stop)
            outcome = unit.work.play(unit.seed, replicates, checkpoints, horizons)
            name = unit.work.algorithm.family
            if name not in builders:
                builders[name] = RowBuilder(unit.work.family)
            builders[name].add(unit, outcome)
        except Exception as error:
            line = f"{type(error).__name__}: {error}".split("\n")[0]
            failed.append(Failed(number, line, traceback.format_exc()))
        else:
            seconds.append(time.perf_counter() - start)
            done.append(number)
    tables = {name: builder.table() for name, builder in builders.items()}
    return Played(done, tables, _timings([units[i] for i in done], seconds), failed)


def _timings(units: Sequence[Unit], seconds: Sequence[float]) -> pa.Table:
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
