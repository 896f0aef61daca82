"""Sweeps on nodes that die, or can't see the store: rows are those of an undisturbed run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from commands import LIMIT, distinct, end, finish, rows, start, wait_for
from ray_nodes import Nodes, actors, kill
from test_plan import planned
from undisturbed import undisturbed_rows

from algos import checkpoints
from sweep.engine import ray_executor as execute
from sweep.engine.batches import Batches, Committed
from sweep.engine.pace import Pace
from sweep.grid.units import Pending
from sweep.store import Store


def grid(replicates: int) -> tuple[str, ...]:
    """A sweep of about 20 ms of work for each of thompson_beta's replicates."""
    slow = f"{{name:thompson_beta,draws:all,replicates:{replicates}}}"
    return ("+grid=quickstart", f"grid.algorithm=[{slow},dp_se,adap_klucb]", "grid.T=[1e4,3e5]",
            "grid.replicates=100", "runtime.block=10")  # fmt: skip


GRID, LONG = grid(1500), grid(8000)


@pytest.fixture(scope="module")
def undisturbed() -> pa.Table:
    """The rows of the grid, simulated in this process."""
    return undisturbed_rows(*GRID)


@pytest.fixture
def cluster() -> Iterator[Nodes]:
    """A head and two workers with one CPU each."""
    with Nodes() as nodes:
        nodes.add()
        nodes.add()
        yield nodes


def committed(folder: Path) -> int:
    """How many segments a store has."""
    return len(list((folder / "results" / "rows").glob("[!.]*.parquet")))


@pytest.mark.slow
def test_nodes_and_actors_die_and_nothing_is_lost(undisturbed, cluster, tmp_path):
    rng = random.Random(4)
    options = ("runtime=cluster", f"runtime.address={cluster.address}")
    process = start([*GRID, *options], tmp_path, cluster.environment)
    try:
        wait_for(lambda: committed(tmp_path) > 0 and len(actors(cluster.nodes[2])) == 1)
        kill(cluster.nodes[2])
        added = cluster.add()
        wait_for(lambda: len(actors(added)) == 1)  # the new node gets an actor of its own
        killed = 0
        while process.poll() is None and killed < 6:
            running = [one for node in cluster.nodes for one in actors(node)]
            if running:
                rng.choice(running).kill()
                killed += 1
            time.sleep(rng.uniform(0.5, 3.0))
        status, out, err = finish(process)
    finally:
        end(process)
    assert status == 0, err
    assert killed >= 3 and "report.html" in out
    assert distinct(rows(tmp_path / "results")).equals(undisturbed)


@pytest.mark.slow
def test_an_actor_that_is_not_restarted_is_replaced(undisturbed, tmp_path, monkeypatch):
    """Here, on a local Ray: the actors are ended for good while they play, again and again."""
    made: list[Any] = []
    simulator = execute.simulator

    def make(*given: Any) -> Any:
        made.append(simulator(*given))
        return made[-1]

    monkeypatch.setattr(execute, "simulator", make)
    plan, _ = planned(*GRID)
    safe, before, killed = 0, 0, 0
    pending = Pending(plan, block=10)
    store = Store(tmp_path)
    store.open_for_writing()
    executor = execute.RayExecutor(pending.kernels(), plan.instances, store, None, 2, ())
    with executor:
        for step in executor.play(Batches(pending), Pace(), "nothing"):
            for outcome in step.outcomes:
                if isinstance(outcome, Committed):
                    safe += sum(unit.rows for done in outcome.batches for unit in done.good)
            if killed < min(4, len(made)) and safe > before:  # once more after each new commit
                execute.ray.kill(made[killed])
                killed, before = killed + 1, safe
    assert killed == 4 and len(made) >= 5
    table = rows(tmp_path)
    assert safe == undisturbed.num_rows <= table.num_rows  # some are there twice
    assert distinct(table).equals(undisturbed)


COUNTED = Path(__file__).with_name("counted_sweep.py")


def counted(arguments: Sequence[str], nodes: Nodes, folder: Path) -> dict[str, int]:
    """Run a sweep on a cluster; what its driver noted (`counted_sweep`)."""
    notes = folder / "notes.json"
    options = ("runtime=cluster", f"runtime.address={nodes.address}", "tracking=none")
    done = subprocess.run(
        [sys.executable, str(COUNTED), str(notes), *arguments, *options, "report=false"],
        cwd=folder, env=nodes.environment, capture_output=True, text=True, timeout=LIMIT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(notes.read_text())
    return found


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Nodes, Path]]:
    """A cluster of four nodes, and a folder that two of them can't see."""
    folder = tmp_path_factory.mktemp("hidden")
    with Nodes() as nodes:
        nodes.add()
        nodes.add(hidden=folder)
        nodes.add(hidden=folder)
        yield nodes, folder


@pytest.mark.slow
def test_half_of_the_nodes_cannot_see_the_store(undisturbed, four, tmp_path):
    nodes, store = four
    notes = counted([*GRID, f"store={store}"], nodes, tmp_path)
    assert notes["rows"] == undisturbed.num_rows
    # Those that see it have committed their segments, the driver has written the others'.
    assert notes["elsewhere"] > 0 and notes["here"] > 0
    assert len(list((store / "rows").iterdir())) == notes["elsewhere"] + notes["here"]
    assert rows(store).equals(undisturbed)


FLAT = ("+grid=quickstart", "grid.algorithm=[adap_ucb]", "grid.epsilon=[0.5,1]",
        "grid.replicates=40000", "runtime.block=2000")  # fmt: skip


@pytest.mark.slow
def test_what_the_driver_receives_does_not_depend_on_the_curves(four, tmp_path):
    a_row = {}
    for T in (10**3, 10**12):
        notes = counted([*FLAT, f"grid.T=[{T}]", f"store=to-{T}"], four[0], tmp_path)
        assert notes["rows"] == 80_000 and "here" not in notes
        a_row[T] = notes["bytes"] / notes["rows"]
    longer = len(checkpoints.grid(10**12)) - len(checkpoints.grid(10**3))
    assert longer > 200  # numbers of 8 bytes that a row has more
    # Batches differ in size, and each has a frame of its own.
    assert max(a_row.values()) < 5 and abs(a_row[10**12] - a_row[10**3]) < 1, a_row


def killed_while(
    working: bool, command: Sequence[str], nodes: Nodes, folder: Path, moment: float
) -> None:
    """Start a sweep and kill its driver `moment` seconds later, or later than its first commit."""
    had = committed(folder)
    process = start(command, folder, nodes.environment)
    try:
        if working:
            wait_for(lambda: process.poll() is not None or committed(folder) > had)
        time.sleep(moment)
        assert process.poll() is None  # there was work left
        process.kill()
        process.communicate(timeout=30)
    finally:
        end(process)


@pytest.mark.slow
def test_the_driver_dies_twenty_times(cluster, tmp_path):
    rng = random.Random(20)
    command = [*LONG, "runtime=cluster", f"runtime.address={cluster.address}"]
    for _ in range(10):
        killed_while(False, command, cluster, tmp_path, rng.uniform(0.0, 8.0))
        killed_while(True, command, cluster, tmp_path, rng.uniform(0.0, 2.0))
    assert committed(tmp_path) >= 10
    status, _, err = finish(start(command, tmp_path, cluster.environment))
    assert status == 0, err
    assert distinct(rows(tmp_path / "results")).equals(undisturbed_rows(*LONG))
