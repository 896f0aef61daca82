"""Helpers for tests that run whole sweeps, as a user would: the command line in a new process."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

LOOPBACK = ("127.0.0.1", "::1", "::ffff:127.0.0.1")
LIMIT = 600.0  # seconds: Ray gives its actors the lowest share of a busy machine


def start(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """`python -m sweep ARGUMENTS` in `folder`, without W&B unless the arguments say so."""
    given = list(arguments)
    if not any(argument.startswith("tracking") for argument in given):
        given.append("tracking=none")
    return subprocess.Popen(
        [sys.executable, "-m", "sweep", *given],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    out, err = process.communicate(timeout=LIMIT)
    return process.returncode, out, err


def sweep(arguments: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Run a sweep to its end."""
    return finish(start(arguments, folder))


def rows(store: Path) -> pa.Table:
    """All rows of a store, sorted by cell and replicate."""
    tables = [pq.read_table(path) for path in sorted((store / "rows").glob("*.parquet"))]
    return pa.concat_tables(tables).sort_by([("cell", "ascending"), ("replicate", "ascending")])


def keys(table: pa.Table) -> list[tuple[str, int]]:
    """(cell, replicate) of each row."""
    return list(zip(table["cell"].to_pylist(), table["replicate"].to_pylist(), strict=True))


def distinct(table: pa.Table) -> pa.Table:
    """The rows each once; those of one cell and replicate must be equal. They come sorted."""
    named = keys(table)
    again = [i for i in range(1, len(named)) if named[i] == named[i - 1]]
    second = np.array(again, np.int64)
    assert table.take(second).equals(table.take(second - 1))
    return table.filter(pa.array(np.isin(np.arange(len(named)), again, invert=True)))


def wait_for(condition: Callable[[], bool], seconds: float = LIMIT) -> None:
    """Return when the condition holds; fail when it doesn't within `seconds`."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def family(pid: int) -> dict[int, psutil.Process]:
    """A sweep's process, its descendants, and Ray processes that name its temporary folder."""
    found: dict[int, psutil.Process] = {}
    for process in psutil.process_iter():
        try:
            parents = [parent.pid for parent in process.parents()]
            line = " ".join(process.cmdline())
            if pid in (process.pid, *parents) or f"sweep-ray-{pid}-" in line:
                found[process.pid] = process
        except psutil.Error:
            continue
    return found


def as_ss_says(pids: set[int]) -> set[str]:
    """Addresses (without ports) on which processes listen, from `ss -ltnp`."""
    lines = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in lines.splitlines():
        local, *_ = line.split()[3:]
        if any(f"pid={pid}," in line for pid in pids):
            found.add(local.rpartition(":")[0].strip("[]").partition("%")[0])
    return found


def alive(process: psutil.Process) -> bool:
    """Whether a process still runs; one that ended and was not collected does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def end(process: subprocess.Popen[str]) -> None:
    """End a sweep that a failing test left, and the processes it started."""
    started = family(process.pid) if process.poll() is None else {}
    for one in started.values():
        if alive(one):
            one.kill()
    process.wait(timeout=30)
