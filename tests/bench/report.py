"""The report of a sweep: where its seconds and its memory go, beside another checkout.

    python3 tests/bench/report.py --store PATH [--sweep latest] [--repeats 3] [--against PATH]

The report of a complete store is made anew, by the command line, in turns with that of another
checkout. Given are the least wall and CPU seconds (with all processes that it starts), the largest
memory of the command's own process, and the seconds of the parts, from one more report made within
this process: its imports, finding the rows, reading and measuring the cells, the chapters with
their fits, the end of drawing and the page.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil
from command_line import ROOT, machine, table

PARTS = """
import json, sys, time
begin = time.perf_counter()
import analysis.report.writing as writing
stages = [["imports of the report", time.perf_counter()]]
def timed(module, name, stage):
    function = getattr(module, name)
    def call(*given, **named):
        made = function(*given, **named)
        stages.append([stage, time.perf_counter()])
        return made
    setattr(module, name, call)
timed(writing, "find_chapters", "imports of chapters and figures")
timed(writing, "Data", "finding the rows")
timed(writing, "ask_chapters", "reading and measuring")
timed(writing, "_draft", "fits, tables, figures")
timed(writing, "_write", "the end of drawing, CSV, page")
writing.write_report(sys.argv[2], sys.argv[1])
stages.append(["ending", time.perf_counter()])
ends = [begin, *(end for _, end in stages)]
print(json.dumps([[name, end - start] for (name, end), start in zip(stages, ends)]))
"""


class Made(NamedTuple):
    """A report that was made: seconds, and the megabytes of the command's own process."""

    wall: float
    cpu: float
    peak: float


def environment(checkout: Path) -> dict[str, str]:
    """A checkout's own code first on the path."""
    return {**os.environ, "PYTHONPATH": str(checkout)}


def report(checkout: Path, store: str, sweep: str) -> Made:
    """Make the report once."""
    command = [sys.executable, "-m", "analysis", "report", sweep, "--store", store]
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    peak = 0.0
    with subprocess.Popen(
        command, env=environment(checkout), stdout=subprocess.DEVNULL, cwd=checkout
    ) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                peak = max(peak, watched.memory_info().rss / 1e6)
            except psutil.Error:
                break
            time.sleep(0.02)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise SystemExit(f"the report of {checkout} ended with status {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Made(wall, cpu, peak)


def parts(store: str, sweep: str) -> list[list[str]]:
    """(stage, seconds) of a report of this checkout."""
    done = subprocess.run(
        [sys.executable, "-c", PARTS, store, sweep],
        env=environment(ROOT), stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    return [[name, f"{seconds:.2f}"] for name, seconds in json.loads(done.stdout)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--store", required=True, metavar="PATH")
    parser.add_argument("--sweep", default="latest")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    given = parser.parse_args()
    store = str(Path(given.store).resolve())
    sides = {"this checkout": ROOT} | ({"the other": given.against} if given.against else {})
    print(machine(), flush=True)
    made: dict[str, list[Made]] = {name: [] for name in sides}
    for _ in range(given.repeats):
        for name, checkout in sides.items():
            made[name].append(report(checkout.resolve(), store, given.sweep))
    rows = [
        [
            name,
            f"{min(one.wall for one in found):.2f}",
            f"{min(one.cpu for one in found):.2f}",
            f"{max(one.peak for one in found):.0f}",
        ]
        for name, found in made.items()
    ]
    print(table(["report", "seconds", "CPU seconds", "peak MB"], rows))
    print("\n" + table(["part", "seconds"], parts(store, given.sweep)))


if __name__ == "__main__":
    main()
