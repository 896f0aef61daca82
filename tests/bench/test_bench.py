"""The engine's benchmarks run and say what they measured; sizes are tiny, numbers mean nothing."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import efficiency
import overhead
import pandas as pd
import peers
import pytest
import report
from command_line import CommandError, Sweep, run

BASIC = peers.PEERS[0]
HERE = Path(__file__).parent


@pytest.fixture
def venvs(tmp_path: Path) -> Path:
    """The basic launcher's environment: the present one, which has Hydra."""
    binaries = tmp_path / "venvs" / BASIC.environment / "bin"
    binaries.mkdir(parents=True)
    (binaries / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (binaries / "python").chmod(0o755)
    (binaries.parent / "installed.txt").write_text("hydra-core\n")
    return tmp_path / "venvs"


def test_peer_is_measured_and_a_failing_one_is_listed(venvs: Path) -> None:
    # 4 s
    good = peers.Side(replace(BASIC, sizes=(1, 3)), venvs, 2, 120.0)
    bad = peers.Side(replace(BASIC, command=peers.hydra("hydra/launcher=none")), venvs, 2, 120.0)
    assert "Could not find 'hydra/launcher/none'" in bad.error
    for side in (good, bad):
        side.measure()
    assert not good.error and all(len(seconds) == 1 for seconds in good.seconds.values())
    assert good.versions.startswith("hydra-core 1.")
    assert bad.error
    ours = peers.Ours(2, 120.0, (10, 110))
    for seconds in (ours.committed, ours.running, ours.command):
        seconds.update({10: [1.0], 110: [1.1]})
    good.seconds = {1: [1.0], 3: [1.4]}  # 200 ms a job against 1 ms a cell
    text = peers.report(ours, [good, bad])
    assert "failed: " + bad.error in text
    assert "| 200.0 | 200 |" in text
    assert "to the last commit: 200 times the fastest peer" in text and "100 times reached" in text
    good.seconds = {1: [1.0], 3: [1.1]}
    assert "50 times the fastest" in peers.report(ours, [good, bad])


def test_command_that_fails_or_takes_too_long(tmp_path: Path) -> None:
    # 3 s
    with pytest.raises(CommandError, match=r"^ValueError: because$"):
        run([sys.executable, "-c", "raise ValueError('because')"], tmp_path, 60.0)
    note = tmp_path / "pid"
    slow = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(CommandError, match="longer than 2 s"):
        run([sys.executable, "-c", slow], tmp_path, 2.0)
    assert not Path("/proc", note.read_text()).exists()


def test_efficiency_of_a_known_schedule() -> None:
    """Two actors, busy from second 2 to second 10 of twelve, rows committed in second 10."""
    start = time.time()
    units = [(1, 4.0, 6.0), (1, 4.0, 10.0), (2, 3.0, 6.0), (2, 1.0, 6.05), (2, 4.0, 10.0)]
    timings = pd.DataFrame(
        [
            dict(host="h", pid=pid, seconds=seconds, finished=start + end, algorithm="ucb1")
            for pid, seconds, end in units
        ]
    )
    found = Sweep(12.0, 6.0, 7.0, 10.0, 5, 0, start, timings)
    assert efficiency.first_start(timings) - start == pytest.approx(2.0, abs=1e-3)
    text = efficiency.report(found, 2, 0.95)
    assert re.findall(r"\*\*([\d.]+)\*\*", text) == ["1.000", "0.800", "0.667"]
    assert "0.95 reached, in less than 60 s" in text


def test_planner_is_timed() -> None:
    # 4 s
    text = overhead.planner([40], 1, 120.0)
    lines = text.splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["2", "40"]
    assert "failed" not in text
    assert int(lines[-1].split("|")[-2]) > 50  # MB


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["peers.py", "--only", "--repeats", "1", "--few", "2", "--cells", "4"],
        ["overhead.py", "--repeats", "1", "--cells", "10", "20"],
        ["efficiency.py", "--seconds", "1", "--T", "1e5"],
    ],
    ids=lambda command: command[0],
)
def test_whole_scripts_at_tiny_sizes(command: list[str]) -> None:
    # 40 s each
    done = subprocess.run(
        [sys.executable, str(HERE / command[0]), *command[1:]],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| --- |") >= 1 and "failed" not in done.stdout


def test_the_report_is_measured(tmp_path: Path) -> None:
    # 6 s
    grid = ["+grid=quickstart", "grid.epsilon=[1]", "tracking=none", "report=false"]
    run([sys.executable, "-m", "sweep", *grid, f"store={tmp_path}"], HERE.parents[1], 60.0)
    made = report.report(HERE.parents[1], str(tmp_path), "latest")
    assert made.cpu > 0 and 0 < made.wall < 60 and 50 < made.peak < 500
    names = [name for name, _ in report.parts(str(tmp_path), "latest")]
    assert len(names) == 7 and "reading and measuring" in names


@pytest.mark.slow  # 40 s
@pytest.mark.parametrize("handed_over", [False, True])
def test_the_drivers_share_of_a_core_is_measured(handed_over: bool) -> None:
    options = ["--actors", "20", "--seconds", "3", *(["--unreached"] if handed_over else [])]
    done = subprocess.run(
        [sys.executable, HERE / "driver.py", *options], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    cells = done.stdout.strip().split("\n")[-1].strip("|").split("|")
    rows, _, share, _, written = (float(re.sub("[^0-9.]", "", cell)) for cell in cells)
    assert rows > 0 and share > 0 and (written > 0) == handed_over
