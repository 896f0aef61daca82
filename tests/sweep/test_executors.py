"""Where units are played: in this process or on Ray, by wish or by what takes less."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from commands import distinct, family, finish, rows, start, sweep, wait_for
from test_plan import planned
from undisturbed import undisturbed_rows

from algos.bandit import adap
from sweep.engine import ray_crew, ray_executor
from sweep.engine.batches import Abandoned, Batches, Committed, Done, Lost, Outcome
from sweep.engine.executors import choose
from sweep.engine.inline_executor import InlineExecutor
from sweep.engine.pace import Pace
from sweep.engine.worker import Failed
from sweep.grid.effort import fixed
from sweep.grid.units import Pending, Unit
from sweep.store import Store
from sweep.store.compact import compact
from sweep.store.landmarks import Landmark
from sweep.store.segments import ROWS, Segment

GRID = ("+grid=quickstart", "grid.algorithm=[adap_ucb,dp_se]", "grid.epsilon=[0.1,1]",
        "grid.replicates=6")  # fmt: skip


def chosen(*overrides: str) -> str:
    """The name of the executor that a grid gets."""
    plan, checked = planned(*overrides)
    return type(choose(checked, Pending(plan), Store("results"), fixed, print)).__name__


def test_what_takes_less_than_starting_ray_is_played_here():
    assert chosen(*GRID) == "InlineExecutor"
    assert chosen(*GRID, "runtime.actors=2") == "RayExecutor"
    assert chosen(*GRID, "runtime.executor=ray") == "RayExecutor"
    assert chosen(*GRID, "runtime=cluster") == "RayExecutor"
    long = ("+grid=eps_transition", "grid.replicates=5000")
    assert chosen(*long) == "RayExecutor"
    assert chosen(*long, "runtime=inline") == "InlineExecutor"


def test_rows_are_the_same_wherever_they_are_made(tmp_path):
    stores = {"auto": (), "inline": ("runtime=inline",), "ray": ("runtime.executor=ray",)}
    found = {}
    for name, options in stores.items():
        status, _, err = sweep([*GRID, f"store={name}", *options], tmp_path)
        assert status == 0, err
        found[name] = rows(tmp_path / name)
    assert found["auto"].equals(found["ray"]) and found["inline"].equals(found["ray"])


def test_the_report_may_be_left_out_and_made_later(tmp_path):
    arguments = [*GRID, "grid.T=[1e4]"]
    status, out, err = sweep([*arguments, "report=false"], tmp_path)
    assert status == 0 and out == "" and "for the report" not in err
    [folder] = (tmp_path / "results" / "sweeps").iterdir()
    assert rows(tmp_path / "results").num_rows == 24
    assert not (folder / "report.html").exists() and not (folder / "tables").exists()
    status, out, err = sweep(arguments, tmp_path)
    assert status == 0 and "0 to simulate" in err and (folder / "report.html").is_file()


def test_no_ray_process_is_started_where_none_is_needed(tmp_path):
    process = start([*GRID, "grid.T=[1e4]"], tmp_path)
    seen = set()
    while process.poll() is None:
        seen |= {one.name() for one in family(process.pid).values() if one.is_running()}
        time.sleep(0.1)
    status, _, err = finish(process)
    assert status == 0, err
    assert not [name for name in seen if "ray" in name.lower() or "gcs" in name]


def copied(name: str, folder: Path, monkeypatch) -> None:
    """A test's plugin as a user's module."""
    shutil.copy(Path(__file__).with_name(f"{name}.py"), folder / f"{name}.py")
    monkeypatch.setenv("PYTHONPATH", str(folder))


@pytest.mark.parametrize("options", [(), ("runtime.executor=ray",)], ids=["auto", "ray"])
def test_a_kernel_that_does_not_compile_is_one_line(tmp_path, monkeypatch, options):
    copied("broken_plugin", tmp_path, monkeypatch)
    before = set(os.listdir(tmp_path))
    status, out, err = sweep(["+grid=quickstart", "plugins=[broken_plugin]", "grid.epsilon=null",
                              "grid.algorithm=[mistaken]", *options], tmp_path)  # fmt: skip
    line = err.strip().splitlines()[-1]
    assert status == 2 and out == "" and "Traceback" not in err
    assert line.startswith("error: grid.algorithm: got mistaken on azize_fig3; allowed: ")
    assert "No implementation of function" in line and "broken_plugin.py:25" in line
    assert 'name = "arm " + number_of_arms(env)' in line
    assert set(os.listdir(tmp_path)) - before <= {"__pycache__"}


def test_a_kernel_that_raises_shows_its_traceback_inline(tmp_path, monkeypatch):
    copied("broken_plugin", tmp_path, monkeypatch)
    arguments = ["+grid=quickstart", "plugins=[broken_plugin]", "grid.epsilon=null",
                 "grid.algorithm=[unready]", "grid.T=[100]"]  # fmt: skip
    status, _, err = sweep([*arguments, "runtime=inline"], tmp_path)
    assert status == 1 and "1 units failed" in err and "not ready" in err
    assert "Traceback" in err and "worker.py" in err
    status, _, err = sweep([*arguments, "store=other"], tmp_path)
    assert status == 1 and "not ready" in err and "Traceback" not in err


def test_kernels_can_be_stepped_through(tmp_path):
    """A breakpoint in a kernel stops there, with the paper's variables in reach."""
    kernel = Path(adap.__file__)
    lines = kernel.read_text(encoding="utf-8").splitlines()
    chosen = next(number for number, line in enumerate(lines, 1) if "# line 6" in line)
    done = subprocess.run(
        [sys.executable, "-m", "pdb", "-m", "sweep", "+grid=quickstart", "tracking=none",
         "grid.algorithm=[adap_ucb]", "grid.T=[50]", "grid.epsilon=[1]", "runtime=inline"],
        input=f"break {kernel}:{chosen}\ncontinue\np ('in a kernel', K, t_l)\nquit\n",
        cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert "('in a kernel', 5, 6)" in done.stdout, done.stdout + done.stderr


def test_units_that_fail_are_tried_and_given_up():
    plan, _ = planned(*GRID)
    batches = Batches(Pending(plan, block=6))
    [unit] = batches.take(100)[:1]
    failure = Failed(0, "no luck", "")
    outcomes = []
    for _ in range(5):
        outcomes += batches.lost([unit], failure, suspect=True)
        if batches.urgent:
            assert batches.take(1) == [unit]
    [abandoned] = outcomes
    assert abandoned.attempts == 5 and abandoned.unit is unit
    innocent = batches.take(100)
    assert list(batches.lost(innocent, failure, suspect=False)) == []
    assert batches.take(100) == innocent


def test_the_inline_executor_plays_what_is_added_between_steps(tmp_path):
    plan, _ = planned(*GRID)
    pending = Pending(plan, block=6)
    units = list(pending)
    batches = Batches(pending)
    safe: list[Unit] = []
    store = Store(tmp_path)
    store.open_for_writing()
    for number, step in enumerate(InlineExecutor(store).play(batches, Pace(), "nothing")):
        for outcome in step.outcomes:
            if isinstance(outcome, Committed):
                assert not any(segment.content for segment in outcome.segments)
                safe += [unit for done in outcome.batches for unit in done.good]
        if number == 0:
            batches.add(units[:1])
    assert sorted(safe, key=repr) == sorted([*units, units[0]], key=repr) and not batches
    assert rows(tmp_path).num_rows == sum(unit.rows for unit in safe)


MANY = ("+grid=quickstart", "grid.algorithm=[adap_ucb,dp_se]", "grid.replicates=60")


class Local:
    """A sweep on two real actors of a local Ray, step by step."""

    def __init__(self, root: str | Path) -> None:
        plan, _ = planned(*MANY)
        self.pending = Pending(plan, block=5)
        self.store = Store(root)
        self.store.open_for_writing()
        self.executor = ray_executor.RayExecutor(
            self.pending.kernels(), plan.instances, self.store, None, 2, ()
        )
        self.batches = Batches(self.pending)
        self.outcomes: list[Outcome] = []

    def play(self) -> Iterator[None]:
        """Play all units and write what is handed over; stops after each step."""
        for step in self.executor.play(self.batches, Pace(), "nothing"):
            self.take(step.outcomes)
            yield

    def take(self, outcomes: Sequence[Outcome]) -> None:
        self.outcomes += outcomes
        for segment in self.segments(outcomes):
            if segment.content is not None:
                self.store.keep_segment(segment)

    def segments(self, outcomes: Sequence[Outcome]) -> list[Segment]:
        found = [outcome.segments for outcome in outcomes if isinstance(outcome, Committed)]
        return [segment for segments in found for segment in segments]

    @property
    def safe(self) -> int:
        """Rows that the driver knows to be safe."""
        found = [outcome.batches for outcome in self.outcomes if isinstance(outcome, Committed)]
        return sum(unit.rows for batches in found for done in batches for unit in done.good)

    @property
    def done(self) -> list[Done]:
        return [outcome for outcome in self.outcomes if isinstance(outcome, Done)]


@pytest.fixture(scope="module")
def undisturbed() -> pa.Table:
    """The rows of MANY, simulated in this process."""
    return undisturbed_rows(*MANY)


def test_half_of_the_actors_cannot_reach_the_store(undisturbed, tmp_path, monkeypatch):
    simulator, elsewhere = ray_executor.simulator, Landmark(str(tmp_path / "no"), "x", b"")
    marks = []

    def make(plugins: Sequence[str], code: str, mark: Landmark) -> Any:
        marks.append(elsewhere if len(marks) % 2 else mark)
        return simulator(plugins, code, marks[-1])

    fill = ray_crew.Crew.fill

    def together(self: ray_crew.Crew, member: ray_crew.Member) -> None:
        """Nothing to play until both are there, so that each plays some of it."""
        if all(one.started for one in self.members):
            for one in self.members:
                fill(self, one)

    monkeypatch.setattr(ray_crew.Crew, "fill", together)
    monkeypatch.setattr(ray_executor, "simulator", make)
    local = Local(tmp_path / "store")
    with local.executor:
        for _ in local.play():
            pass
    assert len(marks) == 2
    written = {segment.content is None for segment in local.segments(local.outcomes)}
    assert written == {True, False}  # both kinds of actors have left some
    assert rows(tmp_path / "store").equals(undisturbed)
    assert local.safe == undisturbed.num_rows
    assert not list((tmp_path / "store" / "rows").glob(".*"))


def test_a_compaction_beside_actors_that_commit(undisturbed, tmp_path, monkeypatch):
    """They commit as often as they can; what was there at each moment stays there."""
    monkeypatch.setattr(Pace, "is_due", lambda *unused: True)
    monkeypatch.setattr(ray_crew, "POLL_SECONDS", 0.01)
    local = Local(tmp_path)
    merged = 0
    with local.executor:
        for _ in local.play():
            done = compact(local.store, ROWS)
            merged += done.segments - done.segments_after
            assert not done.damaged
            assert not local.safe or rows(tmp_path).num_rows >= local.safe
    assert merged > 0
    assert rows(tmp_path).equals(undisturbed)


def test_rows_that_die_with_an_idle_actor_are_made_again(undisturbed, tmp_path, monkeypatch):
    """Ray restarts it before the driver asks anything of it, so that no call fails."""
    monkeypatch.setattr(Pace, "is_due", lambda *unused: False)
    local = Local(tmp_path)
    with local.executor:
        steps = local.play()
        while len(local.done) < 4:
            next(steps)
        time.sleep(2.0)  # what they were given ahead is played by now
        before = simulators()
        for one in before:
            one.kill()
        wait_for(lambda: len(set(simulators()) - set(before)) == 2)
        for _ in steps:
            pass
    lost = [outcome for outcome in local.outcomes if isinstance(outcome, Lost)]
    assert lost and sum(unit.rows for one in lost for unit in one.units) > 0
    assert not any(isinstance(outcome, Abandoned) for outcome in local.outcomes)
    assert distinct(rows(tmp_path)).equals(undisturbed)
    assert local.safe == undisturbed.num_rows


def test_what_is_played_is_put_away_when_a_sweep_is_interrupted(undisturbed, tmp_path, monkeypatch):
    monkeypatch.setattr(Pace, "is_due", lambda *unused: False)
    local = Local(tmp_path)
    with local.executor:
        steps = local.play()
        while len(local.done) < 3:
            next(steps)
        steps.close()
        assert local.safe == 0
        local.take(local.executor.settle())
    played = sum(unit.rows for done in local.done for unit in done.good)
    assert 0 < played <= local.safe <= rows(tmp_path).num_rows
    assert rows(tmp_path).num_rows < undisturbed.num_rows


def simulators() -> list[psutil.Process]:
    """The actors below this process."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process.name().startswith("ray::Simulator"):
                found.append(process)
    return found


def test_ray_still_reads_its_settings_when_it_is_asked(tmp_path):
    """What `sweep.engine.ray_private` relies on."""
    code = (
        "import os\nfrom sweep.engine.ray_session import ray\n"
        "from sweep.engine.ray_private import notice_mode\nfrom ray import _raylet\n"
        "modes = []\n"
        "for mode in ('token', 'disabled'):\n"
        "    os.environ['RAY_AUTH_MODE'] = mode\n    notice_mode()\n"
        "    modes.append(str(_raylet.get_authentication_mode()))\n"
        "assert len(set(modes)) == 2, modes\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
