"""The driver of a sweep: hands units to an executor, commits rows, reports progress.

What it holds of a plan is a few bytes a cell, and of the rows what is not committed yet.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from algos.contents import large_contents
from sweep.engine.batches import Abandoned, Batches, Done, Executor, Outcome, Refused
from sweep.engine.interrupts import Stoppable
from sweep.engine.kernels import check_kernels
from sweep.engine.machine import cores
from sweep.engine.points import Points
from sweep.engine.progress import Counts, Display
from sweep.grid.config import Settings
from sweep.grid.effort import Rule, fixed
from sweep.grid.inventory import Inventory
from sweep.grid.manifest import families, manifest
from sweep.grid.plan import Plan, Section
from sweep.grid.units import Pending
from sweep.store import Store, Sweep
from sweep.tracking import Tracker

FLUSH_SECONDS = 2.0  # a kill costs at most the rows of the last two seconds
FLUSH_BYTES = 64 * 1024**2
MOST_FAILURES = 10_000  # that are recorded; more say the same again
TRACK_EVERY = 5.0  # seconds between points of live progress


def look(store: Store, inventory: Inventory, dry_run: bool) -> Inventory | None:
    """Show an inventory what a store has; None where there is no store yet.

    Damaged segments are set aside; in a dry run they stay where they are.
    """
    if not store.exists():
        return None
    for rows in store.scan(inventory.relevant, set_aside=not dry_run):
        inventory.add(rows)
    return inventory


@dataclass(frozen=True)
class Job:
    """What a sweep has to do: its cells, where they go, and what the store lacks of them.

    `rule` may ask for more while the sweep runs.
    """

    settings: Settings
    name: str
    plan: Plan
    store: Store
    pending: Pending
    rule: Rule = fixed

    @property
    def record(self) -> Sweep:
        """What the store keeps of the sweep beside its rows."""
        return Sweep(self.store, self.name)

    @property
    def folder(self) -> Path:
        """The sweep's folder in the store."""
        return self.record.folder

    def write_manifest(self) -> None:
        """Record the cells with their targets, as they are now."""
        pieces = manifest(self.plan, self.pending.targets)
        self.record.write_manifest(pieces, families(self.plan))


def added_kernels(sections: Sequence[Section], job: Job, executor: Executor | None) -> None:
    """Make ready for sections that a rule adds: kernels compile, large definitions are kept.

    Raises:
        InputError: a kernel doesn't compile.
    """
    works = [work for section in sections for _, work in section.samples()]
    kernels = {(work.algorithm.name, work.instance.kind): work for work in works}
    check_kernels(list(kernels.values()), job.settings.plugins, cores())
    contents = large_contents(work.instance.definition for work in works)
    job.store.keep_definitions(contents)
    if executor is not None:
        executor.add(list(kernels.values()), contents)


class Driver:
    """Carries out the units of a job."""

    def __init__(self, job: Job, points: Points, tracker: Tracker, console: Console) -> None:
        self.job, self.points, self.tracker, self.console = job, points, tracker, console
        pending = job.pending
        self.left = pending.lacking.copy()  # replicates of each cell
        self.counts = Counts(
            cells=len(job.plan),
            cells_done=int((self.left == 0).sum()),
            replicates=int(pending.targets.sum()),
            replicates_done=int(pending.targets.sum()) - pending.replicates,
            seconds=pending.seconds,
        )
        self.batches = Batches(pending)
        self.complete = np.flatnonzero(self.left == 0).tolist()  # cells, for the rule
        self.tables: list[pa.Table] = []
        self.timings: list[pa.Table] = []
        self.failures: list[dict[str, Any]] = []
        self.size = 0  # bytes in the tables
        self.said: set[str] = set()
        self.flushed = time.monotonic()
        self.tracked = -TRACK_EVERY

    def prepare(self) -> bool:
        """Ask the rule about what the store has already; whether there are units to play."""
        self._ask_rule(None)
        return bool(self.batches)

    @property
    def _rule_waits(self) -> bool:
        """Whether cells are complete that a rule other than the trivial one has not seen."""
        return bool(self.complete) and self.job.rule is not fixed

    def carry_out(self, executor: Executor, stoppable: Stoppable) -> None:
        """Play all units on an executor.

        Args:
            executor: its context is entered already.
            stoppable: takes the signals back from it.
        """
        stoppable.arm()
        try:
            with Display(self.console, self.counts) as display:
                for step in executor.play(self.batches):
                    self.counts.actors = step.actors
                    for outcome in step.outcomes:
                        self._take(outcome)
                    if self._flush_is_due() or (self._rule_waits and not self.batches):
                        self._flush()
                        self._ask_rule(executor)
                    display.update()
                    self._track(display.rate())
        finally:
            self._flush()

    def _take(self, outcome: Outcome) -> None:
        if isinstance(outcome, Done):
            self._played(outcome)
        elif isinstance(outcome, Abandoned):
            self._failed(outcome)
        elif isinstance(outcome, Refused):
            self._say_once(f"an actor could not start: {outcome.reason}")

    def _played(self, done: Done) -> None:
        played = done.played
        self.tables.extend(played.tables.values())
        self.timings.append(played.timings)
        self.size += sum(table.nbytes for table in played.tables.values())
        counts = self.counts
        offsets = dict.fromkeys(played.tables, 0)
        for number in played.done:
            unit = done.units[number]
            counts.replicates_done += unit.rows
            counts.rounds_done += float(unit.rounds)
            counts.seconds_done += unit.seconds
            for cell in unit.numbers:
                self.left[cell] -= unit.stop - unit.start
                if self.left[cell] == 0:
                    counts.cells_done += 1
                    self.complete.append(cell)
            if self.points.runs:
                family = unit.work.algorithm.family
                rows = played.tables[family].slice(offsets[family], unit.rows)
                offsets[family] += unit.rows
                for run_id, found in self.points.add(unit, rows):
                    self.tracker.points(run_id, found)

    def _failed(self, given_up: Abandoned) -> None:
        unit, work = given_up.unit, given_up.unit.work
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
                "attempts": given_up.attempts,
                "error": given_up.failure.error,
                "traceback": given_up.failure.traceback,
            }
        )

    def _ask_rule(self, executor: Executor | None) -> None:
        """Tell the rule of the cells that are complete and committed, and take what it asks for.

        What it adds may be complete already, because the store has it; then it is asked again.
        """
        if self.job.rule is fixed:
            self.complete = []
        while self.complete and self._added(executor):
            self.job.write_manifest()

    def _added(self, executor: Executor | None) -> bool:
        """Ask the rule once; whether it added anything."""
        job, pending = self.job, self.job.pending
        told, self.complete = np.array(self.complete, np.int64), []
        before = pending.targets.copy()
        more = job.rule(job.plan, before.copy(), told)
        if not more:
            return False
        if more.sections:
            added_kernels(more.sections, job, executor)
        added = pending.add(more, lambda inventory: look(job.store, inventory, False))
        new = len(pending.targets) - len(before)
        self.left = np.concatenate([self.left, np.zeros(new, np.int64)]) + added.lacking
        wanted = pending.targets > np.concatenate([before, np.zeros(new, np.int64)])
        self.complete = np.flatnonzero(wanted & (self.left == 0)).tolist()
        counts = self.counts
        counts.cells, counts.cells_done = len(job.plan), int((self.left == 0).sum())
        counts.replicates = int(pending.targets.sum())
        counts.replicates_done = counts.replicates - int(self.left.sum())
        counts.seconds += sum(unit.seconds for unit in added.units)
        self.batches.add(added.units)
        return bool(wanted.any())

    def _say_once(self, line: str) -> None:
        if line not in self.said:
            self.said.add(line)
            self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _flush_is_due(self) -> bool:
        return self.size > FLUSH_BYTES or time.monotonic() - self.flushed > FLUSH_SECONDS

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
