"""The driver with 1,000 actors: how much of a core it needs.

    python3 tests/bench/driver.py [--actors 1000] [--seconds 60]

The driver is the real one: its plan, its calls of Ray, its commits to a store on disk. The actors
are a thousand slots in a few real Ray actors. A slot does not simulate: it waits for as long as
the units it was sent took when a unit like them was played for real at the start, and returns rows
recorded then, as many as were asked for. So Ray carries the calls and the bytes of a thousand
actors, and two cores suffice. Printed are the driver's processor time (all threads) over the wall
time while all slots work, and the rows a second at which one core would be full.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from hydra import compose, initialize_config_module
from rich.console import Console

from sweep.engine import driver as driving
from sweep.engine import ray_executor as executing
from sweep.engine.interrupts import Stoppable
from sweep.engine.points import Points
from sweep.engine.ray_session import ray, session
from sweep.engine.worker import Played, play_units
from sweep.grid.config import settings
from sweep.grid.planner import make_plan
from sweep.grid.schema import register_schema
from sweep.grid.units import Pending, Unit
from sweep.store import Store
from sweep.tracking import Tracker

PROCESSES = 4  # that hold the slots
GRID = ("grid.algorithm=[ucb1]", "grid.instance=[azize_fig3]", "grid.T=[1e7]")
START = 15.0  # seconds until all slots have work


class Slots:
    """Many simulated actors in one process."""

    def __init__(self, rows: pa.Table, timings: pa.Table, seconds: float) -> None:
        self.rows, self.timings, self.seconds = rows, timings, seconds
        self.locks: dict[int, asyncio.Lock] = {}
        self.rng = np.random.default_rng()

    async def warm(self) -> None:
        """Nothing to do."""

    async def play(self, slot: int, units: list[Unit]) -> Played:
        """Wait as long as the units would take, then return as many rows."""
        count = sum(unit.rows for unit in units)
        async with self.locks.setdefault(slot, asyncio.Lock()):
            await asyncio.sleep(count * self.seconds)
        whole, rest = divmod(count, self.rows.num_rows)
        tables = [self._fresh() for _ in range(whole)] + [self._fresh().slice(0, rest)]
        timings = pa.concat_tables([self.timings] * len(units))
        return Played(
            list(range(len(units))), {"bandit": pa.concat_tables(tables).combine_chunks()}, timings
        )

    def _fresh(self) -> pa.Table:
        """The recorded rows with other regrets: what repeats would compress too well."""
        place = self.rows.schema.get_field_index("regret")
        lists = self.rows["regret"].combine_chunks()
        values = np.asarray(lists.flatten()) * self.rng.random(len(lists.flatten()))
        regret = pa.ListArray.from_arrays(lists.offsets, pa.array(values))
        return self.rows.set_column(place, "regret", regret)


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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--actors", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    register_schema()
    with initialize_config_module("conf", version_base="1.3"):
        one = settings(compose("config", overrides=[*GRID, "grid.replicates=40"]), "driver")
    [unit] = Pending(make_plan(one), block=40)
    play_units([unit])
    played = play_units([unit])
    seconds = played.timings["seconds"][0].as_py() / 40
    replicates = int(given.actors * (given.seconds + START) / seconds)
    with initialize_config_module("conf", version_base="1.3"):
        many = settings(
            compose("config", overrides=[*GRID, f"grid.replicates={replicates}"]), "driver"
        )
    plan = make_plan(many)
    with tempfile.TemporaryDirectory() as folder, session(None, PROCESSES):
        remote: Any = ray.remote(num_cpus=1, max_concurrency=3 * given.actors)(Slots)
        recorded = (played.tables["bandit"], played.timings, seconds)
        processes = itertools.cycle([remote.remote(*recorded) for _ in range(PROCESSES)])
        numbers = itertools.count()
        executing.simulator = lambda *unused: Slot(next(processes), next(numbers))  # type: ignore[assignment]
        store = Store(folder)
        store.open_for_writing()
        corrections = {("ucb1", unit.work.algorithm.version, "bernoulli"): 1.0}
        corrections = {key: seconds * 40 / unit.seconds for key in corrections}
        job = driving.Job(many, "driver", plan, store, Pending(plan, None, None, corrections))
        console = Console(quiet=True)
        tracker = Tracker("none", Path(folder), "driver", {})
        driver = Watched(job, Points(plan, 0), tracker, console)
        executor = executing.RayExecutor([], [], None, given.actors, ())
        with Stoppable() as stoppable:
            driver.carry_out(executor, stoppable)  # in the session that the slots are in
        stored = sum(path.stat().st_size for path in Path(folder, "rows").iterdir())
    (t0, cpu0, rows0), (t1, cpu1, rows1) = driver.marks[0], driver.marks[-1]
    wall, cpu, rows = t1 - t0, cpu1 - cpu0, rows1 - rows0
    print(
        f"{given.actors} actors, {1e3 * seconds:.0f} ms a replicate (T = 1e7), {wall:.0f} s:\n\n"
        "| rows a second | of what the actors can | driver, share of a core |"
        " rows a second that fill a core | MB on disk |\n|---|---|---|---|---|\n"
        f"| {rows / wall:,.0f} | {rows * seconds / wall / given.actors:.2f} | **{cpu / wall:.2f}**"
        f" | {rows / cpu:,.0f} | {stored / 1e6:,.0f} |"
    )


class Watched(driving.Driver):
    """The driver, its time, processor time and rows noted while all slots work."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.marks: list[tuple[float, float, int]] = []
        self.begin = time.monotonic()
        self.me = psutil.Process()

    def _flush_is_due(self) -> bool:
        now, counts = time.monotonic(), self.counts
        if now - self.begin > START and counts.seconds_done < 0.9 * counts.seconds:
            times = self.me.cpu_times()
            self.marks.append((now, times.user + times.system, counts.replicates_done))
        return super()._flush_is_due()


if __name__ == "__main__":
    main()
