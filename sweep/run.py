"""A sweep from a checked configuration to committed rows.

What needs statistics or pictures is handed in by `sweep.__main__`; nothing here imports the
analysis.
"""

from __future__ import annotations

import errno
import json
import shlex
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from omegaconf import OmegaConf
from rich.console import Console

from algos.errors import InputError
from algos.registry import load_plugins
from sweep import plan as planning
from sweep.config import Settings
from sweep.driver import Driver, Job, session
from sweep.points import Points
from sweep.schemas import FAILURES, MANIFEST
from sweep.store import Store
from sweep.tracking import Mode, Tracker, resolve_mode

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
# A line as it is: no wrapping, no colours, no markup.
PLAIN: dict[str, Any] = {"highlight": False, "markup": False, "soft_wrap": True}
TRACKER_TIMEOUT = 20.0  # seconds W&B gets to finish, once the results are safe


@dataclass(frozen=True)
class Published:
    """What the analysis made of a sweep, for W&B: files on disk."""

    tables: dict[str, Path]
    figures: list[Path]
    files: dict[str, Path]


# Called when all rows are committed, with (sweep folder, store root, whether nothing is new);
# prints its findings.
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
    present = _present(store, plan.cells, not settings.dry_run) if store.exists() else {}
    units = planning.units(plan, present, settings.block, store.corrections())
    name = f"{settings.grid_name.replace('/', '-')}-{plan.id_digits}"
    job = Job(settings, name, plan, store, present, units)
    for damaged in store.damaged:
        done = "would be" if settings.dry_run else "was"
        line = f"segment {damaged.name} is damaged ({damaged.reason}) and {done} set aside"
        console.print(f"{line}; rows of it that this sweep needs are computed again", **PLAIN)
    if settings.dry_run:
        summary(console, job)
        return 0
    with ExitStack() as stack:
        joined = None
        if units and settings.address is not None:  # before anything is written
            joined = stack.enter_context(session(settings))
        store.open_for_writing()
        store.fetch_sweep(name)
        summary(console, job)
        try:
            status = _carry_out(job, mode, joined, command, console, analyse, curves)
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


def _present(store: Store, cells: Collection[str], set_aside: bool) -> dict[str, np.ndarray]:
    """Per cell the replicate numbers that have a row, ascending."""
    wanted = pa.array(list(cells), pa.string())

    def relevant(column: pa.ChunkedArray) -> bool:
        return bool(pc.any(pc.is_in(column, wanted)).as_py())

    parts: dict[str, list[np.ndarray]] = {}
    for table in store.scan(relevant, set_aside):
        table = table.filter(pc.is_in(table["cell"], wanted))
        for cell in table["cell"].unique().to_pylist():
            own = table.filter(pc.equal(table["cell"], cell))
            parts.setdefault(cell, []).append(own["replicate"].to_numpy())
    return {cell: np.unique(np.concatenate(found)) for cell, found in parts.items()}


def _carry_out(
    job: Job,
    mode: Mode,
    joined: int | None,
    command: Sequence[str],
    console: Console,
    analyse: Analyse,
    curves: Curves,
) -> int:
    """Record, simulate, analyse and track; returns the exit status."""
    settings, store, folder = job.settings, job.store, job.folder
    folder.mkdir(exist_ok=True, parents=True)
    store.write_text(folder / "config.yaml", OmegaConf.to_yaml(settings.resolved))
    store.write_text(folder / "command.txt", shlex.join(command) + "\n")
    cells = [planning.describe(cell) for cell in job.plan.cells.values()]
    store.write_table(folder / "manifest.parquet", cells, MANIFEST)
    points = Points(job.plan.cells, settings.tracked_runs if mode != "none" else 0)
    config = dict(settings.resolved)
    tracker = Tracker(mode, folder, job.name, config, points.runs, project=settings.project)
    driver = Driver(job, points, tracker, console)
    earlier = driver.counts.replicates_done > 0
    try:
        failures = driver.simulate(joined)
        store.write_table(folder / "failures.parquet", failures, FAILURES)
        published = analyse(folder, store.root, not job.units)
        if earlier and _lagging(folder, mode, points):
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
            f"{len(failures)} units failed, the first of {first['algorithm']} on"
            f" {first['instance']}: {first['error']}; see {folder / 'failures.parquet'}; the same"
            " command tries them again",
            **PLAIN,
        )
    return 1 if failures or published is None else 0


def summary(console: Console, job: Job) -> None:
    """Say what the sweep is and what is left of it."""
    plan, missing = job.plan, sum(job.missing().values())
    seconds = sum(unit.seconds for unit in job.units)
    dropped = "".join(f", {count:,} dropped ({why})" for why, count in plan.dropped.items())
    for line in (
        f"sweep {job.name} in {job.settings.store}",
        f"{plan.combinations:,} combinations: {len(plan.cells):,} cells{dropped}",
        f"{job.wanted:,} replicates: {job.wanted - missing:,} in the store, {missing:,} to simulate"
        f" in {len(job.units):,} units, about {duration(seconds)} on one core",
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
    return points.curves or logged < len(points.cells)
