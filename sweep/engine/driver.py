"""The driver of a sweep: hands units to an executor, notes what is committed, reports progress.

What it holds of a plan is a few bytes a cell. Rows come to it only as segments, from actors that
can't reach the store.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console

from algos.contents import large_contents
from algos.errors import InputError
from sweep.engine.batches import (
    Abandoned,
    Batches,
    Committed,
    Done,
    Executor,
    Lost,
    Outcome,
    Refused,
)
from sweep.engine.interrupts import Stoppable
from sweep.engine.kernels import check_kernels
from sweep.engine.machine import cores
from sweep.engine.pace import Pace
from sweep.engine.points import Points
from sweep.engine.progress import Counts, Display
from sweep.engine.shown import Shown
from sweep.grid.config import Settings
from sweep.grid.effort import Rule, fixed
from sweep.grid.inventory import Inventory
from sweep.grid.manifest import families, manifest
from sweep.grid.plan import Plan, Section
from sweep.grid.units import Pending
from sweep.store import Store, Sweep
from sweep.store.segments import Segment
from sweep.tracking import Tracker

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
        self.segments: list[Segment] = []  # that are to be written here
        self.written: list[Done] = []  # whose rows are safe once these are
        self.timings: list[pa.Table] = []
        self.failures: list[dict[str, Any]] = []
        self.said: set[str] = set()
        self.pace = Pace()
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
        self.pace = Pace()
        self.flushed = time.monotonic()
        try:
            with Display(self.console, self.counts) as display:
                for step in executor.play(self.batches, self.pace, self.points.view):
                    self.counts.actors, self.counts.warming = step.actors, step.warming
                    self._take(step.outcomes)
                    due = self.pace.is_due(self.flushed, 0, 1)
                    if due:
                        self._flush_timings()
                    if self._rule_waits and (due or not self.batches):
                        self._ask_rule(executor)
                    display.update()
                    self._track(display.rate())
        except BaseException:
            # What is played is not lost; where even that fails, the first reason is told.
            with suppress(InputError, OSError, pa.ArrowException):
                self._take(executor.settle())
            raise
        finally:
            self._flush_timings()

    def _take(self, outcomes: Sequence[Outcome]) -> None:
        """Take what has come; what needs writing is noted first, so that nothing is dropped."""
        for outcome in outcomes:
            if isinstance(outcome, Committed):
                self.segments += (one for one in outcome.segments if one.content is not None)
                self.written += outcome.batches
            elif isinstance(outcome, Done):
                self.counts.seconds_done += sum(unit.seconds for unit in outcome.good)
            elif isinstance(outcome, Lost):
                self.counts.seconds_done -= sum(unit.seconds for unit in outcome.units)
            elif isinstance(outcome, Abandoned):
                self._failed(outcome)
            elif isinstance(outcome, Refused):
                self._say_once(outcome.reason)
        while self.segments:
            self.job.store.keep_segment(self.segments[0])
            self.segments.pop(0)
        while self.written:
            self._committed(self.written.pop(0))

    def _committed(self, done: Done) -> None:
        """Count units whose rows are safe, and show W&B the cells that are complete by them."""
        counts = self.counts
        self.timings.append(done.played.timings)
        shown: Iterable[Shown] = done.played.shown or itertools.repeat([])
        for unit, seen in zip(done.good, shown, strict=False):
            counts.replicates_done += unit.rows
            counts.rounds_done += float(unit.rounds)
            for cell in unit.numbers:
                self.left[cell] -= unit.stop - unit.start
                if self.left[cell] == 0:
                    counts.cells_done += 1
                    if self.job.rule is not fixed:
                        self.complete.append(cell)
            if self.points.runs:
                for run_id, found in self.points.add(unit, seen):
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

    def _flush_timings(self) -> None:
        """Write what the units took that are committed."""
        timings, self.timings = self.timings, []
        if timings:
            self.job.store.append_timings(pa.concat_tables(timings))
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
