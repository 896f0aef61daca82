"""A sweep from a checked configuration to committed rows.

What needs statistics or pictures is handed in by `sweep.__main__`; nothing here imports the
analysis.
"""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from omegaconf import OmegaConf
from rich.console import Console

from algos.errors import InputError
from algos.registry import load_plugins
from sweep import plan as planning
from sweep.config import Settings
from sweep.plan import Plan, Unit
from sweep.points import Points
from sweep.progress import Counts, Display
from sweep.store import FAILURES, MANIFEST, Store
from sweep.tracking import Mode, Tracker, resolve_mode
from sweep.worker import Done, Failed

FLUSH_SECONDS = 2.0  # a kill costs at most the rows of the last two seconds
FLUSH_BYTES = 64 * 1024**2
TRACK_EVERY = 5.0  # seconds between points of live progress
TRACKER_TIMEOUT = 20.0  # seconds W&B gets to finish, once the results are safe


@dataclass(frozen=True)
class Published:
    """What the analysis made of a sweep, for W&B: files on disk."""

    tables: dict[str, Path]
    figures: list[Path]
    files: dict[str, Path]


# Called when all rows are committed, with (sweep folder, store root, whether nothing is new);
# prints its findings.
Analyse = Callable[[Path, Path, bool], Published | None]
# Called where points of earlier sessions may be missing in W&B: yields (cell, checkpoints,
# regret) of all complete cells.
Curves = Callable[[Path, Path], Any]


class Interrupted(Exception):
    """The user or the system asked the sweep to stop; what is done is committed."""


def run(
    settings: Settings, command: Sequence[str], console: Console, analyse: Analyse, curves: Curves
) -> int:
    """Carry out a sweep; returns the exit status (0 done, 1 some units failed).

    Raises:
        InputError: a value that can't be used; nothing has been written.
        Interrupted: by Ctrl-C or SIGTERM.
    """
    load_plugins(settings.plugins)
    plan = planning.make_plan(settings)
    try:
        mode = resolve_mode(settings.tracking)
    except ValueError as error:
        raise InputError("tracking", settings.tracking, str(error)) from None
    store = Store(settings.store)
    present = store.present(plan.cells) if store.rows.is_dir() else {}
    units = planning.units(plan, present, settings.block, store.corrections())
    name = f"{settings.grid_name.replace('/', '-')}-{plan.id_digits}"
    if not settings.dry_run:
        store.open_for_writing()
    summary(console, name, plan, present, units, settings)
    if settings.dry_run:
        return 0
    folder = store.sweep_folder(name)
    folder.mkdir(exist_ok=True)
    store.write_text(folder / "config.yaml", OmegaConf.to_yaml(settings.resolved))
    store.write_text(folder / "command.txt", shlex.join(command) + "\n")
    rows = [planning.describe(cell) for cell in plan.cells.values()]
    store.write_table(folder / "manifest.parquet", rows, MANIFEST)
    points = Points(plan.cells, settings.tracked_runs)
    tracker = Tracker(
        mode, folder, name, dict(settings.resolved), points.runs, project=settings.project
    )
    sweep = _Sweep(settings, plan, units, store, folder, points, tracker, console, present)
    try:
        failures = sweep.simulate()
        store.write_table(folder / "failures.parquet", failures, FAILURES)
        published = analyse(folder, store.root, not units)
        if sweep.earlier and _lagging(folder, mode, points):
            for run_id, found in points.complete(curves(folder, store.root)):
                tracker.points(run_id, found)
        if published is not None:
            tracker.publish(published.tables, published.figures, published.files)
    except (KeyboardInterrupt, Interrupted):
        console.print(
            f"stopped: {sweep.counts.replicates_done:,} of {sweep.counts.replicates:,} replicates"
            f" are kept in {store.root}; the same command goes on from there",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        tracker.close(2.0)
        raise Interrupted from None
    except BaseException:
        tracker.close(2.0)
        raise
    if mode != "none":
        console.print(tracker.close(TRACKER_TIMEOUT), highlight=False, soft_wrap=True)
    if failures:
        first = failures[0]
        console.print(
            f"{len(failures)} units failed, the first of {first['algorithm']} on"
            f" {first['instance']}: {first['error']}; see {folder / 'failures.parquet'}; the same"
            " command tries them again",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    return 1 if failures else 0


def summary(
    console: Console,
    name: str,
    plan: Plan,
    present: dict[str, np.ndarray],
    units: Sequence[Unit],
    settings: Settings,
) -> None:
    """Say what the sweep is and what is left of it."""
    wanted = sum(cell.replicates for cell in plan.cells.values())
    have = sum(
        int((present[key] < cell.replicates).sum())
        for key, cell in plan.cells.items()
        if key in present
    )
    seconds = sum(unit.seconds for unit in units)
    dropped = "".join(f", {count} dropped ({why})" for why, count in plan.dropped.items())
    lines = [
        f"sweep {name} in {settings.store}",
        f"{plan.combinations:,} combinations: {len(plan.cells):,} cells{dropped}",
        f"{wanted:,} replicates: {have:,} in the store, {wanted - have:,} to simulate"
        f" in {len(units):,} units, about {duration(seconds)} on one core",
    ]
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """A time in the unit a person would use."""
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"


def _lagging(folder: Path, mode: Mode, points: Points) -> bool:
    """Whether the tracking's ledger lacks points of cells that earlier sessions completed."""
    if mode == "none" or not points.runs:
        return False
    try:
        runs = json.loads((folder / "tracking.json").read_text())["runs"]
    except (OSError, ValueError, KeyError):
        return True
    logged = sum(len(runs.get(spec.id, {}).get("points", ())) for spec in points.runs)
    return points.curves or logged < len(points.cells)


class _Sweep:
    """The simulation of a plan: hands units to Ray, commits rows, reports progress."""

    def __init__(
        self,
        settings: Settings,
        plan: Plan,
        units: Sequence[Unit],
        store: Store,
        folder: Path,
        points: Points,
        tracker: Tracker,
        console: Console,
        present: dict[str, np.ndarray],
    ) -> None:
        self.settings, self.plan, self.units = settings, plan, units
        self.store, self.folder = store, folder
        self.points, self.tracker, self.console = points, tracker, console
        self.left = {
            key: cell.replicates - int((present.get(key, np.empty(0)) < cell.replicates).sum())
            for key, cell in plan.cells.items()
        }
        wanted = sum(cell.replicates for cell in plan.cells.values())
        self.earlier = sum(self.left.values()) < wanted
        self.counts = Counts(
            cells=len(plan.cells),
            cells_done=sum(left == 0 for left in self.left.values()),
            replicates=wanted,
            replicates_done=wanted - sum(self.left.values()),
            seconds=sum(unit.seconds for unit in units),
        )
        self.tables: list[pa.Table] = []
        self.timings: list[dict[str, Any]] = []
        self.flushed = time.monotonic()
        self.tracked = -TRACK_EVERY

    def simulate(self) -> list[dict[str, Any]]:
        """Play all units; returns those given up, as rows of failures.parquet."""
        failures: list[dict[str, Any]] = []
        if not self.units:
            return failures
        # Imported here: a complete store needs no Ray.
        from sweep.execute import execute
        from sweep.ray_session import session

        settings = self.settings
        self.console.print("starting Ray; kernels are compiled on first use", highlight=False)
        with session(settings.address, settings.actors) as actors, _stoppable():
            try:
                with Display(self.console, self.counts) as display:
                    for outcomes in execute(self.units, actors, settings.plugins):
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
        unit = self.units[outcome.unit]
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
        unit = self.units[failure.unit]
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
            self.store.append(self.store.rows, tables)
            self.store.append(self.store.timings, [pa.Table.from_pylist(timings)])
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
