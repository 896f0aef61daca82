"""Parallel efficiency: (seconds spent in units / cores) / wall, for two sweeps on all cores.

    python3 tests/bench/efficiency.py [--seconds 120] [--cores N] [--T 1e7]

The flagship is the grid that users run most, with replicates of some microseconds each; the slow
sweep has kernels that pay for every round, dp_ucb and naive_dp_ucb, beside light ones, adap_ucb
and dp_se, at eight ε on azize_fig3. A small sweep first compiles the kernels and finds how many
replicates make `--seconds` of work per core. The seconds in units are the sum of the column
`seconds` in STORE/timings: a unit's kernel and the making of its rows, as the actor's clock saw
them. So busy neighbours lengthen both sides of the ratio; what lowers it is waiting: for the
driver, for Ray, for the disk, for the last unit.

Wall is given three times: of the simulation (from the start of the first unit, reckoned back from
when its batch was played, to the last committed row), from the command to the last committed row,
and of the whole command with its report.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pandas as pd
from command_line import CORES, Sweep, axes, flagship, machine, scratch, sweep, table

LEAST = 60.0  # seconds a sweep must last for a goal to mean anything
SLOW = ("dp_ucb", "naive_dp_ucb", "adap_ucb", "dp_se")
EPSILONS = 8
TOGETHER = 0.2  # seconds within which the units of an actor's first batch are noted


def first_start(timings: pd.DataFrame) -> float:
    """When the first unit began (time.time()): an actor's first batch arrives at once, when it
    is done, so its units' seconds lead back to its start. Errs to the early side."""
    starts = []
    for _, units in timings.groupby(["host", "pid"]):
        arrived = units["finished"].min()
        batch = units[units["finished"] <= arrived + TOGETHER]
        starts.append(arrived - batch["seconds"].sum())
    return float(min(starts))


def report(found: Sweep, cores: int, goal: float) -> str:
    """The table and the verdict."""
    busy = float(found.timings["seconds"].sum())
    simulation = found.last_row - (first_start(found.timings) - found.started)
    rows = [
        [name, f"{wall:.1f}", f"**{busy / cores / wall:.3f}**"]
        for name, wall in (
            ("simulation", simulation),
            ("command to last committed row", found.last_row),
            ("whole command with report", found.command),
        )
    ]
    share = found.timings.groupby("algorithm")["seconds"].sum().sort_values(ascending=False)
    shares = ", ".join(f"{name} {seconds / busy:.0%}" for name, seconds in share.items())
    efficiency = busy / cores / simulation
    return "\n".join(
        [
            table(["wall", "seconds", "efficiency"], rows),
            "",
            f"{busy:.1f} s in {len(found.timings):,} units on {cores} cores ({shares});"
            f" {found.rows:,} rows, {found.rows / simulation:,.0f} a second.",
            f"{goal} {'reached' if efficiency >= goal else 'missed'}"
            + ("." if simulation >= LEAST else f", in less than {LEAST:.0f} s: ask for more."),
        ]
    )


def measured(
    folder: Path, grid: Callable[[int], list[str]], trial: int, seconds: float, cores: int
) -> Sweep:
    """A sweep of about so many seconds on each core; `grid` takes a number of replicates."""
    folder.mkdir()
    small = sweep(folder / "s", grid(trial), cores)
    each = float(small.timings["seconds"].sum()) / trial
    replicates = max(trial, round(seconds * cores / each))
    return sweep(folder / "l", grid(replicates), cores, 10 * seconds + 300)


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate, run, print."""
    parser = argparse.ArgumentParser(description="parallel efficiency of sweeps")
    parser.add_argument("--seconds", type=float, default=120.0, help="work per core")
    parser.add_argument("--cores", type=int, default=CORES)
    parser.add_argument("--T", type=float, default=1e7, help="rounds in the slow sweep")
    options = parser.parse_args(arguments)
    print(machine(), flush=True)
    slow = partial(axes, SLOW, EPSILONS, int(options.T))
    with scratch() as folder:
        for name, grid, trial, goal in (
            ("flagship", flagship, 40, 0.9),
            ("slow", slow, 2 * options.cores, 0.95),
        ):
            found = measured(folder / name, grid, trial, options.seconds, options.cores)
            print(f"\n{name}\n\n{report(found, options.cores, goal)}", flush=True)


if __name__ == "__main__":
    main()
