"""A sweep from a checked configuration to committed rows.

What needs statistics or pictures is handed in by `sweep.__main__`; nothing here imports the
analysis.
"""

from __future__ import annotations

import errno
import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from rich.console import Console

from algos.errors import InputError
from algos.registry import load_plugins
from sweep.engine.driver import Driver, Job, session
from sweep.engine.interrupts import Stoppable
from sweep.engine.points import Points
from sweep.grid import plan as planning
from sweep.grid.config import Settings
from sweep.grid.inventory import Inventory
from sweep.grid.manifest import write_manifest
from sweep.grid.units import Pending
from sweep.store import Store
from sweep.store.columns import FAILURES
from sweep.tracking import Mode, Tracker, resolve_mode

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
# A line as it is: no wrapping, no colours, no markup.
PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "soft_wrap": True}
TRACKER_TIMEOUT = 20.0  # seconds W&B gets to finish, once the results are safe
LARGEST_REPORT = (1_000_000, 20_000)  # replicates and cells: some gigabytes, some minutes


@dataclass(frozen=True)
class Published:
    """What the analysis made of a sweep, for W&B: files on disk."""

    tables: dict[str, Path]
    figures: list[Path]
    files: dict[str, Path]


# Called when all rows are committed, with (sweep folder, store, whether nothing is new); prints
# its findings.
Analyse = Callable[[Path, str, bool], Published | None]
# Called where points of earlier sessions may be missing in W&B: yields (cell, checkpoints,
# regret) of all complete cells.
Curves = Callable[[Path, str], Any]


class Interrupted(Exception):
    """The user or the system asked the sweep to stop; what is done is committed."""


def run(
    settings: Settings, command: Sequence[str], console: Console, analyse: Analyse, curves: Curves
) -> int:
    """Carry out a sweep; returns the exit status (0 done, 1 some units or the report failed).

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
    name = f"{settings.grid_name.replace('/', '-')}-{plan.id_digits}"
    pending = Pending(plan, _present(settings, plan, store), settings.block, store.corrections())
    job = Job(settings, name, plan, store, pending)
    for damaged in store.damaged:
        done = "would be" if settings.dry_run else "was"
        console.print(
            f"segment {damaged.name} is damaged ({damaged.reason}) and {done} set aside; rows of"
            " it that this sweep needs are computed again",
            **PLAIN,
        )
    if settings.dry_run:
        summary(console, job)
        return 0
    with ExitStack() as stack:
        joined = None
        if pending and settings.address is not None:  # before anything is written
            joined = stack.enter_context(session(settings))
        store.open_for_writing()
        store.fetch_sweep(name)
        summary(console, job)
        try:
            with Stoppable() as stoppable:
                status = _carry_out(job, mode, joined, command, console, analyse, curves, stoppable)
            if url := store.publish_sweep(name):
                console.print(f"report and record are in {url}", **PLAIN)
            return status
        except OSError as error:
            if error.errno not in UNWRITABLE:
                raise
            raise InputError(
                "store",
                str(store.root),
                f"a folder that can be written ({error.strerror or error}); what was committed is"
                " kept, and the same command goes on from there",
            ) from None


def _present(settings: Settings, plan: planning.Plan, store: Store) -> Inventory | None:
    """What the store has of a plan; damaged segments are set aside, unless this is a dry run."""
    if not store.exists():
        return None
    present = Inventory(plan)
    for rows in store.scan(present.relevant, set_aside=not settings.dry_run):
        present.add(rows)
    return present


def _carry_out(
    job: Job,
    mode: Mode,
    joined: int | None,
    command: Sequence[str],
    console: Console,
    analyse: Analyse,
    curves: Curves,
    stoppable: Stoppable,
) -> int:
    """Record, simulate, analyse and track; returns the exit status."""
    settings, store, folder = job.settings, job.store, job.folder
    folder.mkdir(exist_ok=True, parents=True)
    store.write_text(folder / "config.yaml", OmegaConf.to_yaml(settings.resolved))
    store.write_text(folder / "command.txt", shlex.join(command) + "\n")
    write_manifest(folder / "manifest.parquet", job.plan)
    points = Points(job.plan, settings.tracked_runs if mode != "none" else 0)
    config = dict(settings.resolved)
    tracker = Tracker(mode, folder, job.name, config, points.runs, project=settings.project)
    driver = Driver(job, points, tracker, console)
    earlier = driver.counts.replicates_done > 0
    try:
        failures = driver.simulate(joined, stoppable)
        store.write_table(folder / "failures.parquet", failures, FAILURES)
        large = job.plan.replicates > LARGEST_REPORT[0] or len(job.plan) > LARGEST_REPORT[1]
        if large:
            console.print(
                f"no report: {job.plan.replicates:,} replicates of {len(job.plan):,} cells are too"
                " many to be analysed along with the sweep; with memory and time for it:"
                f" python -m analysis report {job.name} --store {shlex.quote(store.root)}",
                **PLAIN,
            )
        published = None if large else analyse(folder, store.root, not job.pending)
        if earlier and not large and _lagging(folder, mode, points):
            for run_id, found in points.complete(curves(folder, store.root)):
                tracker.points(run_id, found)
        if published is not None:
            tracker.publish(published.tables, published.figures, published.files)
    except KeyboardInterrupt:
        counts = driver.counts
        console.print(
            f"stopped: {counts.replicates_done:,} of {counts.replicates:,} replicates"
            f" are kept in {store.root}; the same command goes on from there",
            **PLAIN,
        )
        tracker.close(2.0)
        raise Interrupted from None
    except BaseException:
        tracker.close(2.0)
        raise
    if mode != "none":
        console.print(tracker.close(TRACKER_TIMEOUT), **PLAIN)
    if failures:
        first = failures[0]
        console.print(
            f"{driver.counts.failures} units failed, the first of {first['algorithm']} on"
            f" {first['instance']}: {first['error']}; see {folder / 'failures.parquet'}; the same"
            " command tries them again",
            **PLAIN,
        )
    return 1 if failures or (published is None and not large) else 0


def summary(console: Console, job: Job) -> None:
    """Say what the sweep is and what is left of it."""
    plan, pending = job.plan, job.pending
    dropped = "".join(f", {count:,} dropped ({why})" for why, count in plan.dropped.items())
    for line in (
        f"sweep {job.name} in {job.settings.store}",
        f"{plan.combinations:,} combinations: {len(plan):,} cells{dropped}",
        f"{plan.replicates:,} replicates: {plan.replicates - pending.replicates:,} in the store,"
        f" {pending.replicates:,} to simulate in {pending.units:,} units,"
        f" about {duration(pending.seconds)} on one core",
    ):
        console.print(line, **PLAIN)


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
    logged = sum(len(runs.get(spec.id, {}).get("marks", ())) for spec in points.runs)
    return points.curves or logged < points.cells
