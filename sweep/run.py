"""A sweep from a checked configuration to committed rows and what is made of them.

What needs statistics or pictures is handed in by `sweep.__main__`; nothing here imports the
analysis.
"""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from omegaconf import OmegaConf
from rich.console import Console

from algos.contents import large_contents
from algos.errors import InputError
from algos.registry import load_plugins
from sweep.engine.batches import Executor
from sweep.engine.driver import Driver, Job, look
from sweep.engine.estimate import estimate
from sweep.engine.executors import choose
from sweep.engine.interrupts import Stoppable
from sweep.engine.kernels import check_kernels, uncompiled
from sweep.engine.machine import cores
from sweep.engine.points import Points
from sweep.engine.progress import Compiling
from sweep.grid.config import Settings
from sweep.grid.effort import Rule, fixed
from sweep.grid.inventory import Inventory
from sweep.grid.planner import make_plan
from sweep.grid.units import Pending
from sweep.store import Store
from sweep.store.files import unmake
from sweep.store.sweeps import FAILURES_FILE
from sweep.tracking import Mode, Tracker, logged_points, resolve_mode

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
TRACKER_TIMEOUT = 20.0  # seconds W&B gets to finish, once the results are safe


@dataclass(frozen=True)
class Published:
    """What the analysis made of a sweep, for W&B: files on disk."""

    tables: dict[str, Path]
    figures: list[Path]
    files: dict[str, Path]


class Answers(Protocol):
    """What the analysis does for a sweep."""

    def report(self, folder: Path, store: str, unchanged: bool) -> Published | None:
        """Make the report of a sweep whose rows are all committed, and print its findings.

        Args:
            folder: the sweep's.
            store: where its rows are.
            unchanged: no row has come since the last report.

        Returns:
            None where there is none: the reason was said.
        """

    def report_seconds(self, cells: int, replicates: int) -> float:
        """What the report of so many cells and replicates is expected to take."""

    def curves(self, folder: Path, store: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """(cell, checkpoints, regret) of all complete cells."""


class Interrupted(Exception):
    """The user or the system asked the sweep to stop; what is done is committed."""


def run(
    settings: Settings,
    command: Sequence[str],
    console: Console,
    answers: Answers,
    rule: Rule = fixed,
) -> int:
    """Carry out a sweep; returns the exit status (0 done, 1 some units or the report failed).

    Args:
        settings: the checked configuration.
        command: the command line, for the record.
        console: where progress is shown.
        answers: what the analysis does for a sweep.
        rule: asks for more replicates and cells while the sweep runs.

    Raises:
        InputError: a value that can't be used; nothing has been written.
        Interrupted: by Ctrl-C or SIGTERM.
    """
    load_plugins(settings.plugins)
    plan = make_plan(settings)
    try:
        mode = resolve_mode(settings.tracking)
    except ValueError as error:
        raise InputError("tracking", settings.tracking, str(error)) from None
    store = Store(settings.store)
    inventory = look(store, Inventory(plan), settings.dry_run)
    pending = Pending(plan, inventory, settings.block, store.corrections())
    job = Job(settings, plan.name(settings.grid_name), plan, store, pending, rule)
    sweep = Invocation(job, mode, command, console, answers)
    sweep.say_what_is_damaged()
    if settings.dry_run:
        sweep.say_what_is_planned()
        return 0
    return sweep.carry_out()


class Invocation:
    """A command's sweep of a plan over a store, from its first line to its last."""

    def __init__(
        self, job: Job, mode: Mode, command: Sequence[str], console: Console, answers: Answers
    ) -> None:
        self.job, self.mode, self.command = job, mode, command
        self.console, self.answers = console, answers
        self.settings, self.store = job.settings, job.store

    def say(self, line: str) -> None:
        """Print a line as it is: no wrapping, no colours, no markup."""
        self.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def say_what_is_damaged(self) -> None:
        """Name the segments that can't be read."""
        done = "would be" if self.settings.dry_run else "was"
        for damaged in self.store.damaged:
            self.say(
                f"segment {damaged.name} is damaged ({damaged.reason}) and {done} set aside; rows"
                " of it that this sweep needs are computed again"
            )

    def say_what_is_planned(self) -> None:
        """Say what the sweep is and what is left of it."""
        plan, pending = self.job.plan, self.job.pending
        wanted = int(pending.targets.sum())
        dropped = "".join(f", {count:,} dropped ({why})" for why, count in plan.dropped.items())
        self.say(f"sweep {self.job.name} in {self.settings.store}")
        self.say(f"{plan.combinations:,} combinations: {len(plan):,} cells{dropped}")
        self.say(
            f"{wanted:,} replicates: {wanted - pending.replicates:,} in the store,"
            f" {pending.replicates:,} to simulate in {pending.units:,} units"
        )
        missing = uncompiled(pending.kernels(), self.settings.plugins)
        report = self.answers.report_seconds(len(plan), wanted) if self.settings.report else 0.0
        self.say(str(estimate(self.settings, pending, self.job.rule, len(missing), report)))

    def carry_out(self) -> int:
        """Check, record, simulate, analyse and track; returns the exit status.

        Raises:
            InputError: a kernel doesn't compile, the cluster or the store can't be used.
            Interrupted: by Ctrl-C or SIGTERM.
        """
        job, settings, store = self.job, self.settings, self.store
        with ExitStack() as stack:
            executor = None
            made = store.open_for_writing()
            try:
                if job.pending:
                    executor = choose(settings, job.pending, store, job.rule, self.say)
                    stack.enter_context(executor)
                self.say_what_is_planned()
                if job.pending:
                    self._check_kernels()
            except BaseException:  # nothing has been written
                unmake(made)
                raise
            store.fetch_sweep(job.name)
            try:
                with Stoppable() as stoppable:
                    status = self._recorded(executor, stoppable, stack)
                if url := store.publish_sweep(job.name):
                    self.say(f"report and record are in {url}")
                return status
            except OSError as error:
                if error.errno not in UNWRITABLE:
                    raise
                raise InputError(
                    "store",
                    str(store.root),
                    f"a folder that can be written ({error.strerror or error}); what was committed"
                    " is kept, and the same command goes on from there",
                ) from None

    def _check_kernels(self) -> None:
        """Compile what was not compiled before.

        Raises:
            InputError: a kernel doesn't compile.
        """
        kernels, plugins = self.job.pending.kernels(), self.settings.plugins
        missing = uncompiled(kernels, plugins)
        if missing:
            self.say(f"compiling {len(missing)} kernels, for the first time on this machine")
        with Compiling(self.console, len(missing)) as display:
            check_kernels(missing, plugins, cores(), display.update)

    def _recorded(self, executor: Executor | None, stoppable: Stoppable, stack: ExitStack) -> int:
        """Record, simulate, analyse and track; returns the exit status.

        An executor that is needed after all joins the others on the stack.
        """
        job, settings = self.job, self.settings
        self._write_record()
        if executor is not None and self.mode != "none":
            executor.ready()  # a process of W&B's would inherit what is meant for Ray's
        points = Points(job.plan, settings.tracked_runs if self.mode != "none" else 0)
        config = dict(settings.resolved)
        tracker = Tracker(
            self.mode, job.folder, job.name, config, points.runs, project=settings.project
        )
        driver = Driver(job, points, tracker, self.console)
        earlier = driver.counts.replicates_done > 0
        try:
            self._play(driver, executor, stoppable, stack)
            published = self._answer(driver, points, tracker, earlier)
        except KeyboardInterrupt:
            counts = driver.counts
            self.say(
                f"stopped: {counts.replicates_done:,} of {counts.replicates:,} replicates"
                f" are kept in {self.store.root}; the same command goes on from there"
            )
            tracker.close(2.0)
            raise Interrupted from None
        except BaseException:
            tracker.close(2.0)
            raise
        if self.mode != "none":
            self.say(tracker.close(TRACKER_TIMEOUT))
        self._say_what_failed(driver)
        return 0 if published and not driver.failures else 1

    def _write_record(self) -> None:
        """The sweep's folder: configuration, command, manifest; and large definitions."""
        job, store = self.job, self.store
        config = OmegaConf.to_yaml(self.settings.resolved)
        job.record.write_record(config, shlex.join(self.command))
        job.write_manifest()
        store.keep_definitions(large_contents(one.definition for one in job.plan.instances))

    def _play(
        self,
        driver: Driver,
        executor: Executor | None,
        stoppable: Stoppable,
        stack: ExitStack,
    ) -> None:
        """Play what is pending and what the rule asks for; note what failed."""
        if driver.prepare():
            if executor is None:
                self._check_kernels()
                executor = choose(
                    self.settings, self.job.pending, self.store, self.job.rule, self.say
                )
                stack.enter_context(executor)
            self.say(executor.opening)
            executor.ready()
            driver.carry_out(executor, stoppable)
        if executor is not None:
            executor.release()
        self.job.record.write_failures(driver.failures)

    def _answer(self, driver: Driver, points: Points, tracker: Tracker, earlier: bool) -> bool:
        """Have the analysis make the report, and tell W&B; whether there is one, or none is due."""
        job, root = self.job, self.store.root
        published = None
        if self.settings.report:
            published = self.answers.report(job.folder, root, not job.pending)
        if earlier and self._lagging(points):
            for run_id, found in points.complete(self.answers.curves(job.folder, root)):
                tracker.points(run_id, found)
        if published is not None:
            tracker.publish(published.tables, published.figures, published.files)
        return published is not None or not self.settings.report

    def _lagging(self, points: Points) -> bool:
        """Whether W&B may lack points of cells that earlier sessions completed."""
        if self.mode == "none" or not points.runs:
            return False
        logged = logged_points(self.job.folder, [spec.id for spec in points.runs])
        return logged is None or points.curves or logged < points.cells

    def _say_what_failed(self, driver: Driver) -> None:
        if driver.failures:
            first = driver.failures[0]
            self.say(
                f"{driver.counts.failures} units failed, the first of {first['algorithm']} on"
                f" {first['instance']}: {first['error']}; see"
                f" {self.job.folder / FAILURES_FILE}; the same command tries them again"
            )
