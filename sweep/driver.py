"""The driver of a sweep: hands units to Ray, commits rows, reports progress."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from sweep import plan as planning
from sweep.config import Settings
from sweep.plan import Plan, Unit
from sweep.points import Points
from sweep.progress import Counts, Display
from sweep.store import Store
from sweep.tracking import Tracker
from sweep.worker import Done, Failed

FLUSH_SECONDS = 2.0  # a kill costs at most the rows of the last two seconds
FLUSH_BYTES = 64 * 1024**2
TRACK_EVERY = 5.0  # seconds between points of live progress


@dataclass(frozen=True)
class Job:
    """What a sweep has to do: its cells, the replicates that are there, the units that are not."""

    settings: Settings
    name: str
    plan: Plan
    store: Store
    present: dict[str, np.ndarray]
    units: Sequence[Unit]

    @property
    def folder(self) -> Path:
        """The sweep's folder in the store."""
        return self.store.sweep_folder(self.name)

    @property
    def wanted(self) -> int:
        """Replicates over all cells."""
        return sum(cell.replicates for cell in self.plan.cells.values())

    def missing(self) -> dict[str, int]:
        """Per cell the replicates that the store lacks."""
        nothing = np.empty(0)
        return {
            key: cell.replicates - int((self.present.get(key, nothing) < cell.replicates).sum())
            for key, cell in self.plan.cells.items()
        }


def session(settings: Settings) -> AbstractContextManager[int]:
    """Ray as the settings want it; yields the number of actors."""
    # Imported here: a complete store needs no Ray.
    from sweep.ray_session import session as ray_session

    return ray_session(settings.address, settings.actors)


class Driver:
    """Carries out the units of a job."""

    def __init__(self, job: Job, points: Points, tracker: Tracker, console: Console) -> None:
        self.job, self.points, self.tracker, self.console = job, points, tracker, console
        self.left = job.missing()
        missing = sum(self.left.values())
        self.counts = Counts(
            cells=len(job.plan.cells),
            cells_done=sum(left == 0 for left in self.left.values()),
            replicates=job.wanted,
            replicates_done=job.wanted - missing,
            seconds=sum(unit.seconds for unit in job.units),
        )
        self.tables: list[pa.Table] = []
        self.timings: list[dict[str, Any]] = []
        self.flushed = time.monotonic()
        self.tracked = -TRACK_EVERY

    def simulate(self, joined: int | None) -> list[dict[str, Any]]:
        """Play all units; returns those given up, as rows of failures.parquet.

        Args:
            joined: the actors of a Ray that is there already; None to start one.
        """
        failures: list[dict[str, Any]] = []
        if not self.job.units:
            return failures
        # Imported here: a complete store needs no Ray.
        from sweep.execute import execute

        settings = self.job.settings
        self.console.print("starting Ray; kernels are compiled on first use", highlight=False)
        ray = session(settings) if joined is None else nullcontext(joined)
        with ray as actors, _stoppable():
            try:
                with Display(self.console, self.counts) as display:
                    for outcomes in execute(self.job.units, actors, settings.plugins):
                        for outcome in outcomes:
                            if isinstance(outcome, Done):
                                self._done(outcome)
                            else:
                                failures.append(self._failed(*outcome))
                        self._flush_if_due()
                        display.update()
                        self._track(display.rate())
            finally:
                self._flush()
        return failures

    def _done(self, outcome: Done) -> None:
        unit = self.job.units[outcome.unit]
        self.tables.append(outcome.table)
        entry, instance = unit.work.algorithm, unit.work.instance
        uncorrected = planning.expected_seconds(unit.work, {}) * (unit.stop - unit.start)
        self.timings.append(
            {
                "stream": unit.work.stream,
                "algorithm": entry.name,
                "version": entry.version,
                "distribution": instance.distribution,
                "T": unit.work.T,
                "start": unit.start,
                "stop": unit.stop,
                "seconds": outcome.seconds,
                "uncorrected": uncorrected,
                "host": outcome.host,
                "pid": outcome.pid,
                "finished": time.time(),
            }
        )
        counts = self.counts
        counts.replicates_done += unit.rows
        counts.rounds_done += float(unit.rounds)
        counts.seconds_done += unit.seconds
        for cell in unit.cells:
            self.left[cell] -= unit.stop - unit.start
            counts.cells_done += self.left[cell] == 0
        for run_id, found in self.points.add(unit, outcome.table):
            self.tracker.points(run_id, found)

    def _failed(self, failure: Failed, attempts: int) -> dict[str, Any]:
        unit = self.job.units[failure.unit]
        self.counts.failures += 1
        self.counts.seconds_done += unit.seconds
        return {
            "cells": list(unit.cells),
            "stream": unit.work.stream,
            "algorithm": unit.work.algorithm.name,
            "instance": unit.work.instance.label,
            "epsilon": unit.work.epsilon,
            "T": unit.work.T,
            "start": unit.start,
            "stop": unit.stop,
            "attempts": attempts,
            "error": failure.error,
            "traceback": failure.traceback,
        }

    def _flush_if_due(self) -> None:
        size = sum(table.nbytes for table in self.tables)
        if size > FLUSH_BYTES or time.monotonic() - self.flushed > FLUSH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        """Commit what is buffered."""
        tables, timings = self.tables, self.timings
        self.tables, self.timings = [], []
        if tables:
            store = self.job.store
            store.append_rows(tables)
            store.append_timings(pa.Table.from_pylist(timings))
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
        }
        self.tracker.progress(counts.replicates_done, values)


class _stoppable:
    """SIGTERM and SIGINT raise KeyboardInterrupt inside, whatever Ray has set up for them."""

    def __enter__(self) -> None:
        def stop(*unused: object) -> None:
            # A second signal must not cut the commit short.
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)
            raise KeyboardInterrupt

        self.before = {
            number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)
        }

    def __exit__(self, kind: object, *unused: object) -> None:
        if kind is None:
            for number, handler in self.before.items():
                signal.signal(number, handler)
