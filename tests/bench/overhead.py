"""Fixed overhead of a sweep and the planner's time, in one run.

    python3 tests/bench/overhead.py [--repeats 5] [--cells 10000 1000000]

1. From the command to the first committed row, for the quickstart's cells at T = 1e4 into a fresh
   store with kernels already compiled, against the least that Ray needs: a process that imports
   Ray, starts it with the same options, and has one call of one actor answered. Medians; the two
   take turns. The parts are seen from outside: a dry run (imports, configuration, plan; its own
   leaving included), from there to the first rows that came back (Ray, actors, warm kernels, the
   first batch), and from there to the first commit.
2. The planner: a dry run over that many cells (two algorithms × ε, no store yet) less a dry run
   over one cell each, and the largest resident set of the process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence

from command_line import (
    CORES,
    RAY_ENVIRONMENT,
    CommandError,
    Finished,
    axes,
    machine,
    run,
    scratch,
    sweep,
    sweep_command,
    sweep_environment,
    table,
)

QUICKSTART = ("adap_klucb", "dp_se", "ucb1")
EPSILONS, T, REPLICATES = 14, 10_000, 20
PLANNED = ("adap_klucb", "adap_ucb")
RAY_ALONE = """
import time
start = time.perf_counter()
import ray
ray.init(num_cpus={cores}, num_gpus=0, include_dashboard=False, log_to_driver=False,
         logging_level="ERROR", object_store_memory=512 * 1024**2, _temp_dir="{folder}")

@ray.remote
class Actor:
    def answer(self):
        return 1

ray.get(Actor.remote().answer.remote())
print("SECONDS", time.perf_counter() - start)
"""


def ray_alone(cores: int, timeout: float) -> float:
    """Seconds until one actor has answered, Ray's import included."""
    with scratch() as folder:
        code = RAY_ALONE.format(cores=cores, folder=folder / "ray")
        finished = run([sys.executable, "-c", code], folder, timeout, RAY_ENVIRONMENT)
    return float(finished.output.split("SECONDS")[1].split()[0])


def dry_run(
    algorithms: Sequence[str], epsilons: int, rounds: int, replicates: int, timeout: float
) -> Finished:
    """A dry run into a store that is not there."""
    with scratch() as folder:
        command = sweep_command(axes(algorithms, epsilons, rounds, replicates), folder / "s")
        return run([*command, "dry_run=true"], folder, timeout, sweep_environment())


def first_row(repeats: int, cores: int, timeout: float) -> str:
    """The table of the fixed overhead."""
    seconds: dict[str, list[float]] = {}

    def note(name: str, value: float) -> None:
        seconds.setdefault(name, []).append(value)

    for number in range(repeats + 1):  # the first round compiles and fills the disk's cache
        planned = dry_run(QUICKSTART, EPSILONS, T, REPLICATES, timeout).seconds
        with scratch() as folder:
            grid = axes(QUICKSTART, EPSILONS, T, REPLICATES)
            found = sweep(folder / "s", grid, cores, timeout)
        alone = ray_alone(cores, timeout)
        if number:
            note("Ray alone: import, init, one actor call", alone)
            note("**command to first committed row**", found.first_row)
            note("… imports, configuration, plan (dry run)", planned)
            note("… Ray, actors, warm kernels, first batch", found.first_back - planned)
            note("… first rows back to first commit", found.first_row - found.first_back)
            note("command to last committed row", found.last_row)
    base = statistics.median(seconds["Ray alone: import, init, one actor call"])
    rows = []
    for name, values in seconds.items():
        middle = statistics.median(values)
        spread = f"{min(values):.2f} to {max(values):.2f}"
        rows.append([name, f"{middle:.2f}", spread, f"{middle / base:.2f}"])
    return table(["what", "median s", "range", "times Ray alone"], rows)


def planner(sizes: Sequence[int], repeats: int, timeout: float) -> str:
    """The table of the planner."""
    wanted = [len(PLANNED), *sizes]
    found: dict[int, list[Finished | str]] = {size: [] for size in wanted}
    for _ in range(repeats):
        for size in wanted:
            try:
                found[size].append(dry_run(PLANNED, size // len(PLANNED), 10, 1, timeout))
            except CommandError as error:
                found[size].append(str(error))
    rows = []
    base = 0.0
    first_each = 0.0
    for size, attempts in found.items():
        good = [attempt for attempt in attempts if isinstance(attempt, Finished)]
        if not good:
            rows.append([f"{size:,}", f"failed: {attempts[0]}", "", "", "", ""])
            continue
        whole = statistics.median(attempt.seconds for attempt in good)
        peak = max(attempt.peak for attempt in good) / 1e6
        if size == wanted[0]:
            base = whole
            rows.append([f"{size:,}", f"{whole:.2f}", "", "", "", f"{peak:.0f}"])
            continue
        spent = whole - base
        each = spent / size
        first_each = first_each or each
        rows.append(
            [
                *(f"{size:,}", f"{whole:.2f}", f"{spent:.2f}", f"{each * 1e6:.1f}"),
                *(f"{each / first_each:.2f}", f"{peak:.0f}"),
            ]
        )
    header = ["cells", "dry run, s", "planner, s", "µs per cell", "ratio", "peak memory, MB"]
    return table(header, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description="fixed overhead and planner time")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cells", type=int, nargs="*", default=[10_000, 1_000_000])
    parser.add_argument("--cores", type=int, default=CORES)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of one command")
    options = parser.parse_args(arguments)
    print(machine(), flush=True)
    print(first_row(options.repeats, options.cores, options.timeout), flush=True)
    print()
    print(planner(sorted(options.cells), min(options.repeats, 3), options.timeout))


if __name__ == "__main__":
    main()
