"""The driver with 1,000 actors: how much of a core it needs for a row.

    python3 tests/bench/driver.py [--actors 1000] [--seconds 60] [--unreached]
                                  [--block 400] [--replicate SECONDS] [--profile FILE]

The driver is the real one: its plan, its calls of Ray, its bookkeeping and what it writes. The
actors are slots, a thousand of them in a few real Ray actors. A slot does not simulate: it waits
for as long as the units it was sent took when units like them were played for real at the start,
and answers as an actor does: with timings to `play`, and with the names of its segments to
`put_away`. With `--unreached` it hands over segments that were encoded at the start, as an actor
does that can't reach the store. So Ray carries the calls and the bytes of a thousand actors, and
two cores suffice.

Units are those of the shipped grid `eps_transition`; `--replicate` has each of their replicates
take longer, as those of kernels do that play round by round. Printed is the driver's
processor time (all threads) while all slots work and commit, and what that is of a core for 10,000
rows a second. Where the driver is what is waited for, the slots could have played more.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import itertools
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from hydra import compose, initialize_config_module
from rich.console import Console

from sweep.engine import driver as driving
from sweep.engine import ray_executor as executing
from sweep.engine.interrupts import Stoppable
from sweep.engine.keeper import Kept
from sweep.engine.pace import PER_SECOND
from sweep.engine.points import Points
from sweep.engine.ray_session import ray, session
from sweep.engine.shown import View
from sweep.engine.worker import Played, Worker, unit_timings
from sweep.grid.config import Settings, settings
from sweep.grid.planner import make_plan
from sweep.grid.schema import register_schema
from sweep.grid.units import Corrections, Pending, Unit
from sweep.store import Store
from sweep.store.segments import Segment
from sweep.tracking import Tracker

PROCESSES = 4  # that hold the slots
GRID = ("+grid=eps_transition", "grid.algorithm=[adap_klucb,adap_ucb,anytime_lazy_ucb,dp_se]")
RAMP = 10.0  # seconds until all slots have work; then each commits once before anything is noted
REPLICATES = 10_000_000  # of a cell: more than are played


class Slots:
    """Many simulated actors in one process.

    Args:
        seconds: of a replicate, by algorithm.
        recorded: an encoded segment.
        rows: how many rows are in it.
        reached: whether it is named only, rather than handed over.
    """

    def __init__(
        self, seconds: Mapping[str, float], recorded: pa.Buffer, rows: int, reached: bool
    ) -> None:
        self.seconds, self.recorded, self.rows = seconds, recorded, rows
        self.reached = reached
        self.locks: dict[int, asyncio.Lock] = {}
        self.batches: dict[int, list[int]] = {}
        self.held: Counter[int] = Counter()

    async def warm(self) -> None:
        """Nothing to do."""

    async def play(self, slot: int, number: int, units: list[Unit], view: View) -> Played:
        """Wait as long as the units would take."""
        seconds = [unit.rows * self.seconds[unit.work.algorithm.name] for unit in units]
        async with self.locks.setdefault(slot, asyncio.Lock()):
            await asyncio.sleep(sum(seconds))
        self.batches.setdefault(slot, []).append(number)
        self.held[slot] += sum(unit.rows for unit in units)
        done = list(range(len(units)))
        held = self.held[slot] * self.recorded.size // self.rows
        return Played(f"{slot}", held, done, unit_timings(units, seconds), [], [])

    async def put_away(self, slot: int) -> Kept:
        """Name as many segments as an actor does, or hand over as many bytes."""
        batches, rows = self.batches.pop(slot, []), self.held.pop(slot, 0)
        count = 1 if self.reached else max(1, round(rows / self.rows))
        content = None if self.reached else self.recorded
        segments = [Segment(f"{uuid.uuid4().hex}.parquet", content) for _ in range(count)]
        return Kept(f"{slot}", batches, segments)


class Call:
    """`actor.method.remote(…)` of one slot."""

    def __init__(self, method: Any, *first: Any) -> None:
        self.method, self.first = method, first

    def remote(self, *arguments: Any) -> Any:
        """Call the slot."""
        return self.method.remote(*self.first, *(arguments if self.first else ()))


class Slot:
    """One simulated actor."""

    def __init__(self, process: Any, number: int) -> None:
        self.warm = Call(process.warm)
        self.play = Call(process.play, number)
        self.put_away = Call(process.put_away, number)


class Watched(driving.Driver):
    """The driver, its time, processor time and rows noted while all slots work."""

    def __init__(self, ramp: float, seconds: float, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ramp, self.seconds = ramp, seconds
        self.marks: list[tuple[float, float, int]] = []
        self.begin: float | None = None
        self.me = psutil.Process()

    def _track(self, rate: float) -> None:
        super()._track(rate)
        now = time.monotonic()
        if self.begin is None:
            self.begin = now
        if now - self.begin > self.ramp:
            times = self.me.cpu_times()
            self.marks.append((now, times.user + times.system, self.counts.replicates_done))
        if now - self.begin > self.ramp + self.seconds:
            raise KeyboardInterrupt


def composed(replicates: int) -> Settings:
    """The grid with so many replicates of each cell."""
    with initialize_config_module("conf", version_base="1.3"):
        return settings(compose("config", overrides=[*GRID, f"grid.replicates={replicates}"]), "d")


def measured(
    block: int, replicate: float | None
) -> tuple[dict[str, float], Corrections, pa.Buffer, int]:
    """Play a unit in eight for real; with `replicate`, say that each took so long.

    Returns seconds of a replicate by algorithm, factors for what the planner expects, an encoded
    segment of their rows, and the number of these.
    """
    units = list(Pending(make_plan(composed(block)), block=block))[::8]
    worker = Worker(None)
    worker.play(0, units[:: len(units) // 20], "nothing")
    worker.put_away()
    timings = worker.play(1, units, "nothing").timings.to_pandas()
    [segment] = worker.put_away().segments
    sums = timings.groupby(["algorithm", "version", "distribution"])[["seconds", "uncorrected"]]
    totals = sums.sum().assign(rows=block * sums.size())
    if replicate is not None:
        totals["seconds"] = replicate * totals["rows"]
    corrections = (totals["seconds"] / totals["uncorrected"]).to_dict()
    seconds = (totals["seconds"] / totals["rows"]).groupby("algorithm").mean().to_dict()
    assert segment.content is not None
    return seconds, corrections, segment.content, block * len(units)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--actors", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--block", type=int, default=400, help="replicates in a unit")
    parser.add_argument("--replicate", type=float, help="seconds that each takes")
    parser.add_argument("--unreached", action="store_true", help="slots hand over their segments")
    parser.add_argument("--profile", help="file for the profile of the driver's own thread")
    given = parser.parse_args()
    register_schema()
    seconds, corrections, segment, count = measured(given.block, given.replicate)
    asked = composed(REPLICATES)
    plan = make_plan(asked)
    with tempfile.TemporaryDirectory() as folder, session(None, PROCESSES):
        remote: Any = ray.remote(num_cpus=1, max_concurrency=3 * given.actors)(Slots)
        recorded = (seconds, segment, count, not given.unreached)
        held = [remote.remote(*recorded) for _ in range(PROCESSES)]
        processes, numbers = itertools.cycle(held), itertools.count()
        executing.simulator = lambda *unused: Slot(next(processes), next(numbers))  # type: ignore[assignment]
        store = Store(folder)
        store.open_for_writing()
        pending = Pending(plan, None, given.block, corrections)
        job = driving.Job(asked, "driver", plan, store, pending)
        console = Console(quiet=True)
        tracker = Tracker("none", Path(folder), "driver", {})
        ramp = RAMP + given.actors / PER_SECOND
        driver = Watched(ramp, given.seconds, job, Points(plan, 0), tracker, console)
        executor = executing.RayExecutor([], [], store, None, given.actors, ())
        profile = cProfile.Profile() if given.profile else None
        with Stoppable() as stoppable:
            try:
                if profile is not None:
                    profile.enable()
                driver.carry_out(executor, stoppable)  # in the session that the slots are in
            except KeyboardInterrupt:
                pass
            finally:
                if profile is not None:
                    profile.disable()
                    profile.dump_stats(given.profile)
        stored = sum(path.stat().st_size for path in Path(folder, "rows").iterdir())
    (t0, cpu0, rows0), (t1, cpu1, rows1) = driver.marks[0], driver.marks[-1]
    wall, cpu, rows = t1 - t0, cpu1 - cpu0, rows1 - rows0
    mean = sum(seconds.values()) / len(seconds)
    size = segment.size / count
    print(
        f"{given.actors} actors, {1e6 * mean:.0f} µs and {size:.0f} bytes a replicate,"
        f" units of {given.block}, {wall:.0f} s:\n\n"
        "| rows a second | of what the actors can | driver, share of a core |"
        " for 10,000 rows a second | MB that the driver wrote |\n|---|---|---|---|---|\n"
        f"| {rows / wall:,.0f} | {rows * mean / wall / given.actors:.2f} | {cpu / wall:.2f}"
        f" | **{1e4 * cpu / rows:.2%}** | {stored / 1e6:,.0f} |"
    )


if __name__ == "__main__":
    main()
