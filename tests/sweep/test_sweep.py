"""Whole sweeps on a real local Ray, from the command line to the rows and the report."""

from __future__ import annotations

import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from commands import (
    LOOPBACK,
    alive,
    as_ss_says,
    end,
    family,
    finish,
    keys,
    rows,
    start,
    sweep,
    wait_for,
)
from undisturbed import undisturbed_rows

GRID = ("+grid=quickstart", "grid.T=[1e4,3e6]", "grid.replicates=40", "grid.algorithm=[adap_klucb,"
        "anytime_lazy_ucb,dp_se,successive_elimination,ucb1]")  # fmt: skip


def only(folder: Path) -> Path:
    """The single entry of a folder."""
    [entry] = folder.iterdir()
    return entry


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    """A folder with the store of an undisturbed run on two actors."""
    folder = tmp_path_factory.mktemp("undisturbed")
    status, out, err = sweep([*GRID, "runtime.actors=2"], folder)
    assert status == 0, err
    assert "adap_klucb" in out and "report.html" in out
    return folder


def test_a_sweep_leaves_rows_a_record_and_a_report(undisturbed):
    table = rows(undisturbed / "results")
    cells = 3 * 14 * 2 + 2 * 2
    assert table.num_rows == cells * 40
    assert len(set(keys(table))) == table.num_rows
    folder = only(undisturbed / "results" / "sweeps")
    assert folder.name.startswith("quickstart-") and len(folder.name.split("-")[1]) == 8
    assert pq.read_table(folder / "manifest.parquet").num_rows == cells
    assert pq.read_table(folder / "failures.parquet").num_rows == 0
    assert "grid.replicates=40" in (folder / "command.txt").read_text()
    assert "replicates: 40" in (folder / "config.yaml").read_text()
    page = (folder / "report.html").read_text()
    assert "azize_fig3" in page and "<svg" in page
    assert list((folder / "figures").glob("*.png")) and list((folder / "figures").glob("*.svg"))
    assert sorted(p.name for p in undisturbed.iterdir()) == ["results"]  # nothing of Hydra's
    timings = pq.ParquetDataset(undisturbed / "results" / "timings").read()
    assert sum(timings["seconds"].to_pylist()) > 0


OTHERWISE = [("runtime.actors=1",), ("runtime.actors=4", "runtime.block=1")]


@pytest.mark.parametrize("options", OTHERWISE)
def test_actors_and_blocks_leave_no_mark(undisturbed, tmp_path, options):
    status, _, err = sweep([*GRID, *options], tmp_path)
    assert status == 0, err
    assert rows(tmp_path / "results").equals(rows(undisturbed / "results"))


def test_a_complete_store_starts_no_ray(undisturbed, tmp_path):
    shutil.copytree(undisturbed / "results", tmp_path / "results")
    before = sorted(p.name for p in (tmp_path / "results" / "rows").iterdir())
    process = start([*GRID, "runtime.actors=2"], tmp_path)
    seen = set()
    while process.poll() is None:
        for one in family(process.pid).values():
            with suppress(psutil.Error):
                seen.add(one.name())
    status, out, err = finish(process)
    assert status == 0 and "0 to simulate" in err and "report.html" in out
    assert not any("raylet" in name or "gcs" in name for name in seen), seen
    assert sorted(p.name for p in (tmp_path / "results" / "rows").iterdir()) == before


def test_an_extended_grid_pays_for_what_is_new(undisturbed, tmp_path):
    shutil.copytree(undisturbed / "results", tmp_path / "results")
    more = [*GRID, "grid.replicates=41", "runtime.actors=2"]
    status, _, err = sweep([*more, "dry_run=true"], tmp_path)
    assert status == 0 and "3,520 in the store, 88 to simulate" in err
    assert len(list((tmp_path / "results" / "sweeps").iterdir())) == 1
    status, _, err = sweep(more, tmp_path)
    assert status == 0, err
    table = rows(tmp_path / "results")
    assert len(set(keys(table))) == table.num_rows == 88 * 41
    old = rows(undisturbed / "results")
    assert table.filter(pc.less(table["replicate"], 40)).equals(old)
    assert len(list((tmp_path / "results" / "sweeps").iterdir())) == 2


LONG = ("+grid=quickstart", "grid.T=[1e4,3e5]", "grid.replicates=40",
        "grid.algorithm=[{name:thompson_beta,draws:all,replicates:600},dp_se]",
        "runtime.actors=2")  # fmt: skip


@pytest.fixture(scope="module")
def uninterrupted() -> pa.Table:
    """The rows of the long grid, simulated in this process."""
    return undisturbed_rows(*LONG)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_sweep_that_was_stopped_goes_on(uninterrupted, tmp_path, number):
    process = start([*LONG, "runtime.block=5"], tmp_path)
    try:
        segments = tmp_path / "results" / "rows"
        wait_for(lambda: segments.is_dir() and any(segments.glob("[!.]*.parquet")))
        members = family(process.pid)
        os.kill(process.pid, number)
        status, out, err = finish(process)
    finally:
        end(process)
    assert "Traceback" not in err and "report.html" not in out
    if number != signal.SIGKILL:
        assert status == 130 and "the same command goes on from there" in err
        assert not any(alive(one) for one in members.values())
    had = rows(tmp_path / "results").num_rows
    assert 0 < had < uninterrupted.num_rows
    status, _, err = sweep(LONG, tmp_path)
    assert status == 0 and f"{had:,} in the store" in err
    table = rows(tmp_path / "results")
    assert len(set(keys(table))) == table.num_rows
    assert table.equals(uninterrupted)
    # Ray's agents notice the loss of a killed sweep within a minute; its actors do at once.
    left = [one for one in members.values() if alive(one) and "Agent" not in one.name()]
    assert not left


@pytest.mark.slow
def test_a_killed_sweep_leaves_no_process_for_long(tmp_path):
    process = start([*LONG, "runtime.block=5"], tmp_path)
    try:
        segments = tmp_path / "results" / "rows"
        wait_for(lambda: segments.is_dir() and any(segments.glob("[!.]*.parquet")))
        members = family(process.pid)
        process.kill()
        finish(process)
    finally:
        end(process)
    wait_for(lambda: not any(alive(one) for one in members.values()), 120)


def test_listeners_are_on_loopback_and_nothing_remains(launch, tmp_path):
    process = launch(*GRID, "runtime.actors=2", "runtime.block=1", "tracking=offline")
    members, addresses, names, said = {}, set(), set(), set()
    while process.poll() is None:
        if shutil.which("ss"):
            said |= as_ss_says(set(members))
        for pid, one in family(process.pid).items():
            members[pid] = one
            with suppress(psutil.NoSuchProcess):
                names.add(one.name())
                addresses |= {c.laddr for c in one.net_connections("tcp") if c.status == "LISTEN"}
    status, _, err = finish(process)
    assert status == 0, err
    assert "raylet" in names and addresses
    assert not {address for address in addresses if address.ip not in LOOPBACK}
    assert not said - set(LOOPBACK) and (said or not shutil.which("ss"))
    assert not [one for one in members.values() if alive(one)]
    assert not list(Path("/tmp").glob(f"sweep-ray-{process.pid}-*"))


def test_a_plugin_runs_and_a_failing_kernel_fails_alone(tmp_path, monkeypatch):
    shutil.copy(Path(__file__).with_name("coin_plugin.py"), tmp_path / "coin_plugin.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    arguments = ["+grid=quickstart", "plugins=[coin_plugin]", "grid.algorithm=[coin,crash]",
                 "grid.T=[1000]", "grid.epsilon=null", "grid.replicates=5",
                 "runtime.actors=1"]  # fmt: skip
    status, out, err = sweep(arguments, tmp_path)
    assert status == 1 and "1 units failed" in err and "out of luck" in err
    assert "Traceback" not in err and "coin" in out
    table = rows(tmp_path / "results")
    assert table["algorithm"].unique().to_pylist() == ["coin"] and table.num_rows == 5
    folder = only(tmp_path / "results" / "sweeps")
    [failure] = pq.read_table(folder / "failures.parquet").to_pylist()
    assert failure["algorithm"] == "crash" and failure["attempts"] == 3
    assert (failure["start"], failure["stop"]) == (0, 5)
    assert "out of luck" in failure["traceback"]
    assert "out of luck" in (folder / "report.html").read_text()


@pytest.mark.slow
def test_a_unit_that_takes_its_actor_down_fails_alone(tmp_path, monkeypatch):
    """It travels with others, is found out, and the others are played all the same."""
    shutil.copy(Path(__file__).with_name("coin_plugin.py"), tmp_path / "coin_plugin.py")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    arguments = ["+grid=quickstart", "plugins=[coin_plugin]", "grid.algorithm=[coin,die]",
                 "grid.T=[400,1000]", "grid.epsilon=null", "grid.replicates=3", "runtime.block=3",
                 "runtime.actors=1"]  # fmt: skip
    status, _, err = sweep(arguments, tmp_path)
    assert status == 1 and "1 units failed" in err and "Traceback" not in err
    table = rows(tmp_path / "results")
    assert table["algorithm"].unique().to_pylist() == ["coin"] and table.num_rows == 6
    folder = only(tmp_path / "results" / "sweeps")
    [failure] = pq.read_table(folder / "failures.parquet").to_pylist()
    assert failure["algorithm"] == "die" and failure["attempts"] == 5
    assert "Actor" in failure["error"]


@pytest.mark.slow
def test_actors_with_other_kernels_are_refused(tmp_path, monkeypatch):
    """A plugin that every import changes: the actors have another one than the driver."""
    source = Path(__file__).with_name("coin_plugin.py").read_text()
    more = (
        "import pathlib, uuid\npathlib.Path(__file__).with_name(uuid.uuid4().hex + '.py').touch()"
    )
    (tmp_path / "plugin").mkdir()
    (tmp_path / "plugin" / "__init__.py").write_text(f"{source}\n{more}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    arguments = ["+grid=quickstart", "plugins=[plugin]", "grid.algorithm=[coin]",
                 "grid.epsilon=null", "runtime.actors=2"]  # fmt: skip
    status, _, err = sweep(arguments, tmp_path)
    last = err.rstrip().split("\n")[-1]
    assert status == 2 and "Traceback" not in err
    assert (
        last.startswith("error: runtime: got no actor that can start") and "other kernels" in last
    )
    assert not list((tmp_path / "results" / "rows").iterdir())


def test_offline_tracking_leaves_runs_to_send(undisturbed, tmp_path):
    shutil.copytree(undisturbed / "results", tmp_path / "results")
    status, _, err = sweep([*GRID, "runtime.actors=2", "tracking=offline"], tmp_path)
    assert status == 0 and "wandb sync" in err
    folder = only(tmp_path / "results" / "sweeps")
    logged = list((folder / "wandb").rglob("*.wandb"))
    assert len(logged) == 11  # ten series, and the sweep's own
