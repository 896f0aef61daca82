"""Kernel benchmarks: ratios measured in one run on one machine.

    python tests/bench/kernels.py [INSTANCE]

1. Skip-ahead kernels at T = 1e12 (and 1e18) against T = 1e7, kernel time only.
2. Round-by-round kernels: nanoseconds a round, and against a plain Numba loop that computes
   every index in every round.

Every algorithm that can play the instance (azize_fig3 unless named) is measured.
"""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numba import njit

from algos import algorithms
from algos.checkpoints import grid
from algos.identity import generator
from algos.instances import Instance, resolve
from algos.work import Work

REPEATS = 15
REPLICATES = 100


def interleaved(jobs: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Median seconds of each job; the jobs take turns, so that noise meets all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(REPEATS):
        for name, job in jobs.items():
            seconds[name].append(job())
    return {name: statistics.median(values) for name, values in seconds.items()}


def kernel_seconds(
    name: str, instance: Instance, T: int, epsilon: float, replicates: int
) -> Callable[[], float]:
    """A job: seconds of `replicates` runs, generators made beforehand."""
    work = Work.checked(name, instance, epsilon, T, {})
    rounds, horizons = grid(T), np.array([T])

    def run() -> float:
        generators = [generator(0, work.stream, r) for r in range(replicates)]
        start = time.perf_counter()
        recorder = work.family.recorder(instance, rounds, horizons, replicates)
        work.run(recorder, work.environments(0, range(replicates)), generators)
        recorder.outcome()
        return time.perf_counter() - start

    return run


@njit
def plain_loop(means: np.ndarray, rng: np.random.Generator, T: int) -> np.ndarray:
    """An index policy as one writes it first: all indices in all rounds."""
    K = means.size
    total, n = np.zeros(K), np.zeros(K, np.int64)
    for t in range(1, T + 1):
        arm, best = 0, -math.inf
        for j in range(K):
            index = math.inf if n[j] == 0 else total[j] / n[j] + math.sqrt(2 * math.log(t) / n[j])
            if index > best:
                arm, best = j, index
        total[arm] += 1.0 if rng.random() < means[arm] else 0.0
        n[arm] += 1
    return n


def main() -> None:
    """Print both tables."""
    instance = resolve(*(sys.argv[1:] or ["azize_fig3"]))
    entries = [entry for entry in algorithms() if entry.family in instance.families]
    print(f"skip-ahead kernels, {instance.label}, kernel time per replicate and ratio to T = 1e7")
    print(
        f"{'algorithm':24}{'ε':>6}{'T=1e7':>10}{'T=1e12':>10}{'ratio':>7}{'T=1e18':>10}{'ratio':>7}"
    )
    for entry in entries:
        if not entry.skips_ahead:
            continue
        for epsilon in (0.1, 1.0) if entry.uses_epsilon else (1.0,):
            jobs = {str(e): kernel_seconds(entry.name, instance, 10**e, epsilon, REPLICATES)
                    for e in (7, 12, 18)}  # fmt: skip
            found = interleaved(jobs)
            short, long, longest = (found[key] / REPLICATES * 1e6 for key in ("7", "12", "18"))
            shown = f"{epsilon:g}" if entry.uses_epsilon else "-"
            print(
                f"{entry.name:24}{shown:>6}{short:>8.1f}µs{long:>8.1f}µs{long / short:>7.2f}"
                f"{longest:>8.1f}µs{longest / short:>7.2f}"
            )
    print(f"\nround-by-round kernels, {instance.label}, T = 1e6")
    T = 10**6
    means = np.array(instance.means)

    def plain() -> float:
        rng = np.random.default_rng(0)
        start = time.perf_counter()
        plain_loop(means, rng, T)
        return time.perf_counter() - start

    names = [entry.name for entry in entries if not entry.skips_ahead]
    found = interleaved(
        {"plain loop": plain} | {name: kernel_seconds(name, instance, T, 1.0, 1) for name in names}
    )
    for name, seconds in found.items():
        ratio = found["plain loop"] / seconds
        print(f"{name:24}{seconds / T * 1e9:>8.1f} ns/round{ratio:>8.1f} × the plain loop")


if __name__ == "__main__":
    main()
