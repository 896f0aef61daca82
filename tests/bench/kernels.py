"""Time per replicate through `algos.simulate`, beside an earlier checkout, in one run.

    python tests/bench/kernels.py [--against CHECKOUT] [--repeats 7] [--only NAME …]

1. Kernels that commit, on azize_fig3 at ε = 1: 10,000 replicates with all checkpoints to T = 1e7,
   1e12 and 1e18, and the ratios to T = 1e7.
2. Kernels that choose in every round, on azize_fig3 and sajed_c2: T = 1e9 and 1e12.

Each checkout plays in a process of its own, pinned to one core; they take turns. Numbers are
medians [least, most] over the turns. What an earlier checkout needs minutes for is left out there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
COMMITTED = (
    "adap_ucb", "adap_klucb", "adap_moss", "adap_imed", "anytime_lazy_ucb", "dp_se",
    "successive_elimination", "ftnl", "rnm_ftnl",
)  # fmt: skip
EVERY_ROUND = ("ucb1", "kl_ucb", "moss", "imed", "thompson_beta", "lazy_dp_ts")
WORKER = """
import json, sys, time
from algos import simulate
for line in sys.stdin:
    name, instance, T, replicates = json.loads(line)
    start = time.perf_counter()
    simulate(name, instance, epsilon=1.0, T=T, replicates=replicates)
    print((time.perf_counter() - start) / replicates * 1e6, flush=True)
"""


@dataclass(frozen=True)
class Case:
    """What is played, and how many replicates by an earlier checkout: none if it takes minutes."""

    name: str
    instance: str
    T: int
    replicates: int
    earlier: int


class Side:
    """A checkout's process."""

    def __init__(self, checkout: Path) -> None:
        core = min(os.sched_getaffinity(0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=checkout,  # before anything installed
            env={**os.environ, "PYTHONPATH": str(checkout)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {core}),
        )

    def microseconds(self, case: Case, replicates: int) -> float:
        """Of one replicate."""
        assert self._process.stdin is not None and self._process.stdout is not None
        line = json.dumps([case.name, case.instance, case.T, replicates])
        print(line, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def cases(only: list[str]) -> list[Case]:
    """Both parts."""
    found = [
        Case(name, "azize_fig3", T, 10_000, 300)
        for name in COMMITTED
        for T in (10**7, 10**12, 10**18)
    ]
    for name in EVERY_ROUND:
        for instance in ("azize_fig3", "sajed_c2"):
            for T in (10**9, 10**12):
                quick = name == "thompson_beta" or (name == "lazy_dp_ts" and T == 10**9)
                found.append(Case(name, instance, T, 20, 20 if quick else int(T == 10**9)))
    return [case for case in found if not only or case.name in only]


def measured(
    wanted: list[Case], sides: dict[str, Side], repeats: int
) -> dict[str, dict[Case, list[float]]]:
    """Microseconds of every turn."""
    found: dict[str, dict[Case, list[float]]] = {label: {} for label in sides}
    for turn in range(-1, repeats):  # the first, which compiles, doesn't count
        for case in wanted:
            for label, side in sides.items():
                count = case.replicates if label == "here" else case.earlier
                if count == 0 or (count == 1 and turn > 0):
                    continue  # seconds a replicate: once
                took = side.microseconds(case, count if turn >= 0 else min(count, 2))
                if turn >= 0:
                    found[label].setdefault(case, []).append(took)
    return found


def shown(values: list[float] | None) -> str:
    """Median and range."""
    if not values:
        return "–"
    return f"{statistics.median(values):,.2f} [{min(values):,.2f}, {max(values):,.2f}]"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--against", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    sides = {"here": Side(HERE)}
    if options.against:
        sides["earlier"] = Side(options.against.resolve())
    wanted = cases(options.only)
    found = measured(wanted, sides, options.repeats)
    print(
        "| kernel | instance | T | µs a replicate | T = 1e7 times | earlier, µs | times as fast |"
    )
    print("|---|---|---|---|---|---|---|")
    for case in wanted:
        here, earlier = found["here"][case], found.get("earlier", {}).get(case)
        short = found["here"].get(Case(case.name, case.instance, 10**7, 10_000, 300))
        growth = f"{statistics.median(here) / statistics.median(short):.2f}" if short else ""
        faster = f"{statistics.median(earlier) / statistics.median(here):,.1f}" if earlier else ""
        print(
            f"| `{case.name}` | {case.instance} | {case.T:.0e} | {shown(here)} | {growth} |"
            f" {shown(earlier)} | {faster} |"
        )
    for side in sides.values():
        side.close()


if __name__ == "__main__":
    main()
