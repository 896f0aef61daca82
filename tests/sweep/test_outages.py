"""Disks and servers that fail under a sweep: a clear line, nothing lost, the command goes on."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from commands import LIMIT, finish, rows, start
from undisturbed import undisturbed_rows
from wandb_endpoint import Endpoint, endpoint

GRID = ("+grid=quickstart", "grid.T=[1e4,2e5]", "grid.replicates=40", "runtime.block=10",
        "grid.algorithm=[{name:thompson_beta,draws:all,replicates:700},dp_se,adap_klucb]",
        "runtime.actors=2")  # fmt: skip


@pytest.fixture(scope="module")
def undisturbed() -> pa.Table:
    """The rows of the grid, simulated in this process."""
    return undisturbed_rows(*GRID)


SMALL = """
set -u
mkdir results
mount -t tmpfs -o size={size} none results
{sweep} 2>first.err >first.out &
sweep=$!
{during}
wait $sweep; echo $? >first.status
cp -r results/rows first-rows
mount -o remount,rw,size=64m none results
{sweep} 2>second.err >second.out; echo $? >second.status
cp -r results final
umount results
"""

UNTIL_READ_ONLY = """
until ls results/rows/*.parquet >/dev/null 2>&1; do sleep 0.01; done
until mount -o remount,ro none results 2>/dev/null; do sleep 0.01; done
"""


@pytest.mark.parametrize(
    ("size", "during", "says"),
    [
        ("120k", "", "No space left on device"),
        ("64m", UNTIL_READ_ONLY, "Read-only file system"),
    ],
    ids=["full", "read-only"],
)
def test_a_disk_that_fails_under_a_sweep(undisturbed, tmp_path, size, during, says):
    """In a mount namespace of its own, so that no rights are needed and nothing stays mounted."""
    sweep = shlex.join([sys.executable, "-m", "sweep", *GRID, "tracking=none"])
    script = SMALL.format(size=size, during=during, sweep=sweep)
    subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script],
        cwd=tmp_path,
        check=True,
        timeout=2 * LIMIT,
    )

    def text(name: str) -> str:
        return (tmp_path / name).read_text()

    error = text("first.err").rstrip().split("\n")[-1]
    assert text("first.status") == "2\n", text("first.err")
    assert error.startswith("error: store: got 'results'") and says in error
    assert "the same command goes on from there" in error and "Traceback" not in error
    kept = [pa.parquet.read_table(path) for path in (tmp_path / "first-rows").glob("[!.]*.parquet")]
    assert text("second.status") == "0\n", text("second.err")
    had = sum(table.num_rows for table in kept)
    assert 0 < had < undisturbed.num_rows and f"{had:,} in the store" in text("second.err")
    assert rows(tmp_path / "final").equals(undisturbed)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A W&B server, and a user with a key for it and nothing else."""
    for name in ("WANDB_MODE", "WANDB_CONFIG_DIR", "NETRC"):
        monkeypatch.delenv(name, raising=False)
    with endpoint() as running:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("WANDB_BASE_URL", running.url)
        monkeypatch.setenv("WANDB_API_KEY", "5ecre7c0ffee42" * 3)
        yield running


@pytest.mark.parametrize(
    "answer",
    [
        "hang",
        pytest.param("error", marks=pytest.mark.slow),
        pytest.param("refuse", marks=pytest.mark.slow),
    ],
)
def test_a_server_that_fails_under_a_sweep(undisturbed, server: Endpoint, tmp_path, answer):
    """W&B is there when the sweep begins and fails when the first run has been made."""
    folder = tmp_path / "work"
    folder.mkdir()
    process = start([*GRID, "tracking=online"], folder)
    assert server.wait_for("UpsertBucket", LIMIT)
    if answer == "refuse":
        server.close()
    else:
        server.answer = answer
    status, out, err = finish(process)
    assert status == 0 and "report.html" in out, err
    assert "Traceback" not in err
    note = [line for line in err.split("\n") if line.startswith("W&B: ")]
    assert len(note) == 1 and "wandb sync" in note[0]
    assert rows(folder / "results").equals(undisturbed)
    assert "5ecre7c0ffee42" not in err + out + everything(folder / "results")
    server.answer = "ok"
    status, out, err = finish(start([*GRID, "tracking=online"], folder))
    assert status == 0 and "report.html" in out and "0 to simulate" in err


def everything(folder: Path) -> str:
    """What all the files below a folder hold."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode("latin-1") for path in files)
