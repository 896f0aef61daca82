"""Parallel efficiency: (seconds spent in units / cores) / wall, for one sweep on all cores.

    python3 tests/bench/efficiency.py [--seconds 120] [--cores N] [--T 1e7]

The sweep has heavy cells, ucb1 and kl_ucb round by round, and light ones that skip ahead, adap_ucb
and dp_se at eight ε, all on azize_fig3. A small sweep first compiles the kernels and finds how many
replicates make `--seconds` of work per core. The seconds in units are the sum of the column
`seconds` in STORE/timings: a unit's kernel and the making of its rows, as the actor's clock saw
them. So busy neighbours lengthen both sides of the ratio; what lowers it is waiting: for the
driver, for Ray, for the disk, for the last unit.

Wall is given three times: of the simulation (from the start of the first unit, reckoned back from
when its batch arrived, to the last committed row), from the command to the last committed row, and
of the whole command with its report.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pandas as pd
from command_line import CORES, Sweep, machine, scratch, sweep, table

GOAL = 0.95
LEAST = 60.0  # seconds a sweep must last for the goal to mean anything
ALGORITHMS = ("ucb1", "kl_ucb", "adap_ucb", "dp_se")
EPSILONS = 8
TOGETHER = 0.2  # seconds within which the units of an actor's first batch arrive


def first_start(timings: pd.DataFrame) -> float:
    """When the first unit began (time.time()): an actor's first batch arrives at once, when it
    is done, so its units' seconds lead back to its start. Errs to the early side."""
    starts = []
    for _, units in timings.groupby(["host", "pid"]):
        arrived = units["finished"].min()
        batch = units[units["finished"] <= arrived + TOGETHER]
        starts.append(arrived - batch["seconds"].sum())
    return float(min(starts))


def report(found: Sweep, cores: int) -> str:
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
            f" {found.rows:,} rows.",
            f"{GOAL} {'reached' if efficiency >= GOAL else 'missed'}"
            + ("." if simulation >= LEAST else f", in less than {LEAST:.0f} s: ask for more."),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate, run, print."""
    parser = argparse.ArgumentParser(description="parallel efficiency of a sweep")
    parser.add_argument("--seconds", type=float, default=120.0, help="work per core")
    parser.add_argument("--cores", type=int, default=CORES)
    parser.add_argument("--T", type=float, default=1e7, help="rounds of every replicate")
    options = parser.parse_args(arguments)
    print(machine(), flush=True)
    T, trial = int(options.T), 16 * options.cores
    with scratch() as folder:
        small = sweep(folder / "s", ALGORITHMS, EPSILONS, T, trial, options.cores)
        each = float(small.timings["seconds"].sum()) / trial
        replicates = max(trial, round(options.seconds * options.cores / each))
        limit = 10 * options.seconds + 300
        found = sweep(folder / "l", ALGORITHMS, EPSILONS, T, replicates, options.cores, limit)
    print(report(found, options.cores))


if __name__ == "__main__":
    main()
