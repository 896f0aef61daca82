"""What the engine's benchmarks share: commands run and bounded, sweeps seen from outside.

A sweep is observed through its command line and the Parquet files of its store alone, so that the
numbers are those a user gets.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import psutil
import pyarrow.dataset as ds

ROOT = Path(__file__).resolve().parents[2]
CORES = len(os.sched_getaffinity(0))
GRACE = 15.0  # seconds a command gets to end by itself once its time is over

# Ray quiet, on loopback, without usage statistics: for our own side and for the peers.
RAY_ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DISABLE_IMPORT_WARNING": "1",
}


class CommandError(Exception):
    """A command failed or was stopped; the message is one line."""


@dataclass(frozen=True)
class Finished:
    """A command that ended with status 0."""

    seconds: float
    started: float  # time.time() at its start
    peak: int  # bytes: the largest resident set of the process
    output: str


def run(
    command: Sequence[str], folder: Path, timeout: float, environment: Mapping[str, str] = {}
) -> Finished:
    """Run a command in `folder`.

    Raises:
        CommandError: it failed, or took longer than `timeout` seconds and was stopped.
    """
    late = threading.Event()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        started, clock = time.time(), time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

        def stop() -> None:
            late.set()
            _stop(process.pid)

        timer = threading.Timer(timeout, stop)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _stop(process.pid)
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - clock
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if late.is_set():
        raise CommandError(f"took longer than {timeout:g} s")
    if process.returncode != 0:
        raise CommandError(error_line(text) or f"exit status {process.returncode}")
    return Finished(seconds, started, usage.ru_maxrss * 1024, text)


def error_line(text: str) -> str:
    """The last line that names an exception or begins with pip's ERROR, else the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = [line for line in lines if re.match(r"ERROR:|[\w.]+(Error|Exception|Warning)\b", line)]
    return (named or lines or [""])[-1]


def _stop(pid: int) -> None:
    """Interrupt a process; end it and all that it started where that does not help."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        family = [process, *process.children(recursive=True)]
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and any(map(_alive, family)):
            time.sleep(0.2)
        for member in family:
            with suppress(psutil.Error):
                member.kill()


def _alive(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


@dataclass(frozen=True)
class Sweep:
    """A sweep into a fresh store; times in seconds from the command's start."""

    command: float  # to its end, report included
    first_back: float  # until the driver had the first unit's rows
    first_row: float  # until the first row was committed
    last_row: float  # until the last row was committed
    rows: int
    peak: int
    started: float
    timings: pd.DataFrame


def sweep(
    store: Path,
    grid: Sequence[str],
    actors: int = CORES,
    timeout: float = 600.0,
    checkout: Path = ROOT,
) -> Sweep:
    """Run `python -m sweep` of a checkout on a grid, into the new folder `store`.

    Raises:
        CommandError: the command failed or took too long.
    """
    command = [*sweep_command(grid, store), f"runtime.actors={actors}"]
    finished = run(command, store.parent, timeout, sweep_environment(checkout))
    # A segment gets its name when it is complete, which changes the file's status.
    segments = list((store / "rows").rglob("[!.]*.parquet"))
    committed = [segment.stat().st_ctime - finished.started for segment in segments]
    timings = ds.dataset(store / "timings", format="parquet").to_table().to_pandas()
    return Sweep(
        command=finished.seconds,
        first_back=float(timings["finished"].min()) - finished.started,
        first_row=min(committed),
        last_row=max(committed),
        rows=ds.dataset(store / "rows", format="parquet").count_rows(),
        peak=finished.peak,
        started=finished.started,
        timings=timings,
    )


def sweep_command(grid: Sequence[str], store: Path) -> list[str]:
    """The command of a sweep."""
    return [sys.executable, "-m", "sweep", "tracking=none", f"store={store}", *grid]


def flagship(replicates: int) -> list[str]:
    """The grid that users run most: private algorithms over ε, to T = 1e7."""
    private = "adap_klucb,adap_ucb,anytime_lazy_ucb,dp_se"
    return [
        "+grid=eps_transition", f"grid.algorithm=[{private}]", f"grid.replicates={replicates}"
    ]  # fmt: skip


def axes(algorithms: Sequence[str], epsilons: int, T: int, replicates: int) -> list[str]:
    """A grid over algorithms and ε, from 0.01 to 100, on azize_fig3."""
    return [
        f"+grid.algorithm=[{','.join(algorithms)}]",
        "+grid.instance=[azize_fig3]",
        f"+grid.epsilon=[{{logspace: [0.01, 100, {epsilons}]}}]" if epsilons > 1
        else "+grid.epsilon=[1]",
        f"+grid.T=[{T}]",
        f"grid.replicates={replicates}",
    ]  # fmt: skip


def sweep_environment(checkout: Path = ROOT) -> dict[str, str]:
    """A checkout's own code first on the path, whatever is installed."""
    path = [str(checkout), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(path)}


@contextmanager
def scratch(parent: str | None = None) -> Iterator[Path]:
    """A folder that goes away; its name is short, as Ray makes sockets below it."""
    with tempfile.TemporaryDirectory(prefix="b-", dir=parent, ignore_cleanup_errors=True) as name:
        yield Path(name)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    """One line about where the numbers come from."""
    load = os.getloadavg()[0]
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return f"{CORES} cores, load {load:.1f} before the start, {limit} files may be open"
