"""The driver of a sweep: hands units to Ray, commits rows, reports progress.

What it holds of a plan is a few bytes a cell, and of the rows what is not committed yet.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from rich.console import Console

from sweep.engine.interrupts import Stoppable
from sweep.engine.points import Points
from sweep.engine.progress import Counts, Display
from sweep.engine.worker import Played
from sweep.grid.config import Settings
from sweep.grid.plan import Plan
from sweep.grid.units import Pending, Unit
from sweep.store import Store
from sweep.tracking import Tracker

if TYPE_CHECKING:
    from sweep.engine.ray_executor import Abandoned

FLUSH_SECONDS = 2.0  # a kill costs at most the rows of the last two seconds
FLUSH_BYTES = 64 * 1024**2
MOST_FAILURES = 10_000  # that are recorded; more say the same again
TRACK_EVERY = 5.0  # seconds between points of live progress


@dataclass(frozen=True)
class Job:
    """What a sweep has to do: its cells, where they go, and what the store lacks of them."""

    settings: Settings
    name: str
    plan: Plan
    store: Store
    pending: Pending

    @property
    def folder(self) -> Path:
        """The sweep's folder in the store."""
        return self.store.sweep_folder(self.name)


def session(settings: Settings) -> AbstractContextManager[int]:
    """Ray as the settings want it; yields the number of actors."""
    # Imported here: a complete store needs no Ray.
    from sweep.engine.ray_session import session as ray_session

    return ray_session(settings.address, settings.actors)


class Driver:
    """Carries out the units of a job."""

    def __init__(self, job: Job, points: Points, tracker: Tracker, console: Console) -> None:
        self.job, self.points, self.tracker, self.console = job, points, tracker, console
        self.left = job.pending.lacking.copy()  # replicates of each cell
        self.counts = Counts(
            cells=len(job.plan),
            cells_done=int((self.left == 0).sum()),
            replicates=job.plan.replicates,
            replicates_done=job.plan.replicates - job.pending.replicates,
            seconds=job.pending.seconds,
        )
        self.tables: list[pa.Table] = []
        self.timings: list[pa.Table] = []
        self.failures: list[dict[str, Any]] = []
        self.size = 0  # bytes in the tables
        self.said: set[str] = set()
        self.flushed = time.monotonic()
        self.tracked = -TRACK_EVERY

    def simulate(self, joined: int | None, stoppable: Stoppable) -> list[dict[str, Any]]:
        """Play all units; returns those given up, as rows of failures.parquet.

        Args:
            joined: the actors of a Ray that is there already; None to start one.
            stoppable: takes the signals back from Ray.
        """
        if not self.job.pending:
            return self.failures
        # Imported here: a complete store needs no Ray.
        from sweep.engine.ray_executor import Abandoned, Refused, execute

        settings = self.job.settings
        self.console.print("starting Ray; kernels are compiled on first use", highlight=False)
        ray = session(settings) if joined is None else nullcontext(joined)
        with ray as actors:
            stoppable.arm()
            # On a cluster the number follows its nodes, unless one was asked for.
            wanted = actors if settings.address is None else settings.actors
            try:
                with Display(self.console, self.counts) as display:
                    for outcomes, ready in execute(self.job.pending, wanted, settings.plugins):
                        self.counts.actors = ready
                        for outcome in outcomes:
                            if isinstance(outcome, Abandoned):
                                self._failed(outcome)
                            elif isinstance(outcome, Refused):
                                self._say_once(f"an actor could not start: {outcome.reason}")
                            else:
                                self._played(*outcome)
                        self._flush_if_due()
                        display.update()
                        self._track(display.rate())
            finally:
                self._flush()
        return self.failures

    def _played(self, units: Sequence[Unit], played: Played) -> None:
        self.tables.extend(played.tables.values())
        self.timings.append(played.timings)
        self.size += sum(table.nbytes for table in played.tables.values())
        counts = self.counts
        offsets = dict.fromkeys(played.tables, 0)
        for place in played.done:
            unit = units[place]
            counts.replicates_done += unit.rows
            counts.rounds_done += float(unit.rounds)
            counts.seconds_done += unit.seconds
            for number in unit.numbers:
                self.left[number] -= unit.stop - unit.start
                counts.cells_done += int(self.left[number] == 0)
            if self.points.runs:
                family = unit.work.algorithm.family
                rows = played.tables[family].slice(offsets[family], unit.rows)
                offsets[family] += unit.rows
                for run_id, found in self.points.add(unit, rows):
                    self.tracker.points(run_id, found)

    def _failed(self, given: Abandoned) -> None:
        unit, work = given.unit, given.unit.work
        self.counts.failures += 1
        self.counts.seconds_done += unit.seconds
        if len(self.failures) == MOST_FAILURES:
            return
        self.failures.append(
            {
                "cells": list(unit.cells),
                "stream": work.stream,
                "algorithm": work.algorithm.name,
                "instance": work.instance.label,
                "epsilon": work.epsilon,
                "T": work.T,
                "start": unit.start,
                "stop": unit.stop,
                "attempts": given.attempts,
                "error": given.failure.error,
                "traceback": given.failure.traceback,
            }
        )

    def _say_once(self, line: str) -> None:
        if line not in self.said:
            self.said.add(line)
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _flush_if_due(self) -> None:
        if self.size > FLUSH_BYTES or time.monotonic() - self.flushed > FLUSH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        """Commit what is buffered."""
        tables, timings = self.tables, self.timings
        self.tables, self.timings, self.size = [], [], 0
        if tables:
            store = self.job.store
            store.append_rows(tables)
            store.append_timings(pa.concat_tables(timings))
        self.flushed = time.monotonic()

    def _track(self, rate: float) -> None:
        if time.monotonic() - self.tracked < TRACK_EVERY:
            return
        self.tracked = time.monotonic()
        counts = self.counts
        values = {
            "cells done": counts.cells_done,
            "replicates done": counts.replicates_done,
            "rounds per second": rate,
            "failed units": counts.failures,
            "actors": counts.actors,
        }
        self.tracker.progress(counts.replicates_done, values)
