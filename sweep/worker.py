"""What an actor does, without Ray: compile kernels once, play units, tag every outcome."""

from __future__ import annotations

import os
import socket
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from filelock import FileLock

from algos import kernel_cache
from algos.families import FAMILIES
from algos.simulate import Work
from sweep.plan import Unit
from sweep.rows import simulate_unit


@dataclass(frozen=True)
class Done:
    """A unit that was played: its rows, and what it took."""

    unit: int
    table: pa.Table
    seconds: float
    host: str
    pid: int


@dataclass(frozen=True)
class Failed:
    """A unit whose kernel raised."""

    unit: int
    error: str
    traceback: str


Outcome = Done | Failed


def play_units(units: Iterable[tuple[int, Unit]]) -> list[Outcome]:
    """Play numbered units one after the other; an exception fails its unit only."""
    outcomes: list[Outcome] = []
    for number, unit in units:
        start = time.perf_counter()
        try:
            table = simulate_unit(unit)
        except Exception as error:
            line = f"{type(error).__name__}: {error}".split("\n")[0]
            outcomes.append(Failed(number, line, traceback.format_exc()))
        else:
            seconds = time.perf_counter() - start
            outcomes.append(Done(number, table, seconds, socket.gethostname(), os.getpid()))
    return outcomes


def kernels(units: Iterable[Unit]) -> list[Work]:
    """One piece of work for each compiled kernel that `units` need."""
    needed: dict[tuple[str, str], Work] = {}
    for unit in units:
        key = (unit.work.algorithm.name, unit.work.instance.distribution)
        needed.setdefault(key, unit.work)
    return list(needed.values())


def warm(needed: Sequence[Work], first: int = 0) -> None:
    """Compile or load kernels, beginning with number `first` and going round.

    A lock per kernel makes each be compiled by one process of a node; processes that begin at
    different kernels share the compilation between them.
    """
    for i in range(len(needed)):
        work = needed[(first + i) % len(needed)]
        name = f"{work.algorithm.name}-{work.instance.distribution}.lock"
        with FileLock(kernel_cache.directory() / name):
            # A few rounds are enough to compile; errors are left to the units that meet them.
            try:
                _shortest(work)
            except Exception:
                continue


def _shortest(work: Work) -> None:
    least = FAMILIES[work.algorithm.family].least_T(work.instance)
    T = np.array([least], np.int64)
    short = Work(work.algorithm, work.instance, work.epsilon, int(T[0]), work.parameters)
    short.play(0, [0], T, T)
