"""A whole command, from its start to its report: seconds and peak memory, beside another checkout.

    python3 tests/bench/whole_command.py [--grid quickstart] [--repeats 5] [--against PATH] [KEY=…]

The grid as it ships, or with overrides, on an empty store, tracking off, kernels compiled by an
uncounted run. `--grid flagship` is `eps_transition` with its four private algorithms at 400
replicates. With `--against` the same command of another checkout takes turns with it, and the
ratio of the medians is given. The parts of one more run of ours follow: simulation from the start
of the first unit to the end of the last one, commits from there.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.dataset as ds
from command_line import ROOT, Finished, flagship, machine, run, scratch, table
from efficiency import first_start
from timed_sweep import PLAYING

LIMIT = 1800.0  # seconds


def whole(checkout: Path, grid: Sequence[str], folder: Path) -> Finished:
    """The command of a checkout on an empty store."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    command = [sys.executable, "-m", "sweep", *grid, "tracking=none"]
    return run(command, folder, LIMIT, {"PYTHONPATH": str(checkout)})


def parts(grid: Sequence[str], folder: Path) -> dict[str, float]:
    """Seconds by part of one more run."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    script, file = Path(__file__).with_name("timed_sweep.py"), folder / "parts.json"
    command = [sys.executable, str(script), str(file), *grid, "tracking=none"]
    run(command, folder, LIMIT, {"PYTHONPATH": str(ROOT)})
    noted = json.loads(file.read_text(encoding="utf-8"))
    timings = ds.dataset(folder / "results" / "timings").to_table().to_pandas()
    begin, end = noted["playing"][0], noted["playing"][-1]
    first, last = first_start(timings), float(timings["finished"].max())
    seconds: dict[str, float] = noted["seconds"]
    seconds.pop(PLAYING)
    seconds["actors start, kernels load"] = max(0.0, first - begin)
    return seconds | {"simulate": last - max(first, begin), "commit": end - last}


def median(runs: Sequence[Finished]) -> float:
    """Seconds."""
    return statistics.median(one.seconds for one in runs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grid", default="quickstart")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    given = parser.parse_args()
    grid = flagship(400) if given.grid == "flagship" else [f"+grid={given.grid}"]
    grid += given.overrides
    sides = {"this checkout": ROOT} | ({"the other": given.against} if given.against else {})
    print(machine(), flush=True)
    runs: dict[str, list[Finished]] = {name: [] for name in sides}
    with scratch() as folder:
        for repeat in range(given.repeats + 1):
            for name, checkout in sides.items():
                own = folder / name.replace(" ", "-")
                own.mkdir(exist_ok=True)
                finished = whole(checkout.resolve(), grid, own)
                if repeat:
                    runs[name].append(finished)
        rows = [
            [
                name,
                f"**{median(found):.1f}**",
                f"{min(f.seconds for f in found):.1f} to {max(f.seconds for f in found):.1f}",
                f"{max(f.peak for f in found) / 1e6:.0f}",
            ]
            for name, found in runs.items()
        ]
        print(table([given.grid, "seconds", "range", "peak MB"], rows))
        if given.against:
            ratio = median(runs["the other"]) / median(runs["this checkout"])
            print(f"\nthe other takes {ratio:.2f} times as long")
        alone = parts(grid, folder / "this-checkout")
        print("\n" + table(["part", "seconds"], [[k, f"{v:.2f}"] for k, v in alone.items()]))


if __name__ == "__main__":
    main()
