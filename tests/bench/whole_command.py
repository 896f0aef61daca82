"""A whole command, from its start to its report: seconds and peak memory, beside another checkout.

    python3 tests/bench/whole_command.py [--grid quickstart] [--repeats 5] [--against PATH]

The grid as it ships, on an empty store, tracking off, kernels compiled by an uncounted run.
With `--against` the same command of another checkout takes turns with it, and the ratio of the
medians is given. Where time goes here is told by two more commands: a dry run (imports,
configuration, plan), and the report alone, made anew of a complete store.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from command_line import ROOT, Finished, machine, run, scratch, table

LIMIT = 1800.0  # seconds


def command(grid: str, *more: str) -> list[str]:
    """`python -m sweep` on a grid."""
    return [sys.executable, "-m", "sweep", f"+grid={grid}", "tracking=none", *more]


def whole(checkout: Path, grid: str, folder: Path) -> Finished:
    """The command of a checkout on an empty store."""
    shutil.rmtree(folder / "results", ignore_errors=True)
    return run(command(grid), folder, LIMIT, {"PYTHONPATH": str(checkout)})


def parts(grid: str, folder: Path) -> dict[str, float]:
    """Seconds of what can be run alone."""
    environment = {"PYTHONPATH": str(ROOT)}
    dry = run(command(grid, "dry_run=true", "store=none"), folder, LIMIT, environment)
    report = [sys.executable, "-m", "analysis", "report"]
    return {
        "imports, configuration and plan (a dry run)": dry.seconds,
        "report (of a complete store)": run(report, folder, LIMIT, environment).seconds,
    }


def median(runs: Sequence[Finished]) -> float:
    """Seconds."""
    return statistics.median(one.seconds for one in runs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--grid", default="quickstart")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    given = parser.parse_args()
    sides = {"this checkout": ROOT} | ({"the other": given.against} if given.against else {})
    print(machine(), flush=True)
    runs: dict[str, list[Finished]] = {name: [] for name in sides}
    with scratch() as folder:
        for repeat in range(given.repeats + 1):
            for name, checkout in sides.items():
                own = folder / name.replace(" ", "-")
                own.mkdir(exist_ok=True)
                finished = whole(checkout.resolve(), given.grid, own)
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
        print(table([f"+grid={given.grid}", "seconds", "range", "peak MB"], rows))
        if given.against:
            ratio = median(runs["the other"]) / median(runs["this checkout"])
            print(f"\nthe other takes {ratio:.2f} times as long")
        alone = parts(given.grid, folder / "this-checkout")
        print("\n" + table(["part", "seconds"], [[k, f"{v:.1f}"] for k, v in alone.items()]))


if __name__ == "__main__":
    main()
