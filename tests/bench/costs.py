"""What the registry expects a replicate to cost, over what it takes, through `algos.simulate`.

    python tests/bench/costs.py [NAME …]

A plan's estimate is the sum of these expectations. Cells are T = 1e4, 1e6, 1e9 and 1e12 at ε = 0.1,
1 and ∞ on easy (azize_fig3) and hard (sajed_c2) arms and with two equal best arms; a cell is left
out where one replicate is expected to take more than 5 s. Printed are the ratios' range and median,
and how many are within a factor of two.
"""

from __future__ import annotations

import math
import statistics
import sys
import time

from algos import Algorithm, algorithms, simulate
from algos.instances import resolve

EVEN = {"name": "bernoulli", "means": [0.8, 0.8, 0.1]}
ARMS = ("azize_fig3", "sajed_c2", EVEN)
SAMPLES = ({"name": "two_point", "mu": 0.3}, {"name": "two_point", "mu": 0.02})
LONGEST = 5e9  # nanoseconds


def ratios(entry: Algorithm) -> dict[str, float]:
    """Expected over measured, by cell."""
    found = {}
    for given in ARMS if entry.family != "stopping_rule" else SAMPLES:
        instance = resolve(given)
        for epsilon in (0.1, 1.0, math.inf) if entry.uses_epsilon else (1.0,):
            for T in (10**4, 10**6, 10**9, 10**12):
                expected = entry.steps(T, instance.sizes, instance.means, epsilon)
                if expected > LONGEST:
                    continue
                replicates = int(min(2000, max(1, 3e8 / expected)))
                simulate(entry.name, given, epsilon=epsilon, T=min(T, 10**4))
                start = time.process_time()
                simulate(entry.name, given, epsilon=epsilon, T=T, replicates=replicates)
                taken = (time.process_time() - start) / replicates * 1e9
                found[f"{instance.label}, ε = {epsilon:g}, T = {T:.0e}"] = expected / taken
    return found


def main() -> None:
    """Print the table."""
    wanted = sys.argv[1:]
    print("| kernel | least | median | most | within a factor of two |")
    print("|---|---|---|---|---|")
    for entry in algorithms():
        if wanted and entry.name not in wanted:
            continue
        found = ratios(entry)
        values = sorted(found.values())
        near = sum(0.5 <= value <= 2.0 for value in values)
        print(
            f"| `{entry.name}` | {values[0]:.2f} | {statistics.median(values):.2f} |"
            f" {values[-1]:.2f} | {near} of {len(values)} |",
            flush=True,
        )
        if wanted:
            for cell, value in found.items():
                print(f"    {cell}: {value:.2f}")


if __name__ == "__main__":
    main()
