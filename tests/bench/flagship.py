"""Runs a second on the grid that users run most, beside another checkout.

    python3 tests/bench/flagship.py [--replicates 400 2000] [--repeats 3] [--against PATH]

`+grid=eps_transition` with its four private algorithms (856 cells to T = 1e7), on an empty store,
tracking off, kernels compiled by an uncounted run. The rate is that from the start of the first
unit to the last committed row, with one actor and with one per core. The sides take turns; medians.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from command_line import CORES, ROOT, flagship, machine, scratch, sweep, table
from efficiency import first_start

LIMIT = 1800.0  # seconds


def rate(checkout: Path, replicates: int, actors: int) -> float:
    """Runs a second of one sweep."""
    with scratch() as folder:
        found = sweep(folder / "s", flagship(replicates), actors, LIMIT, checkout)
    return found.rows / (found.last_row - (first_start(found.timings) - found.started))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replicates", type=int, nargs="+", default=[400, 2000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--against", type=Path, metavar="PATH", help="another checkout")
    given = parser.parse_args()
    sides = {"this checkout": ROOT}
    if given.against:
        sides["the other"] = given.against.resolve()
    print(machine(), flush=True)
    rows = []
    for checkout in sides.values():
        rate(checkout, 2, CORES)  # compiles
    for replicates in given.replicates:
        found: dict[tuple[str, int], list[float]] = {}
        for _ in range(given.repeats):
            for name, checkout in sides.items():
                for actors in (1, CORES):
                    runs = found.setdefault((name, actors), [])
                    runs.append(rate(checkout, replicates, actors))
        middle = {key: statistics.median(values) for key, values in found.items()}
        ours = middle["this checkout", CORES]
        for (name, actors), value in middle.items():
            rows.append(
                [
                    *(f"{replicates:,}", name, str(actors), f"**{value:,.0f}**"),
                    f"{value / middle[name, 1]:.2f}",
                    f"{ours / middle[name, CORES]:.2f}",
                ]
            )
    header = ["replicates", "side", "actors", "runs a second", "times one actor", "ours are"]
    print(table(header, rows))


if __name__ == "__main__":
    main()
