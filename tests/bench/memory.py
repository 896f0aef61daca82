"""The driver's memory while it carries out plans of 10^4 and of 10^6 cells.

    python3 tests/bench/memory.py [--cells 10000 1000000] [--replicates 10] [--store PATH]

Whole sweeps by the command line, on all cores: adap_klucb at T = 10 on azize_fig3, over as many ε
as cells, every row committed. Sampled every second: the memory that belongs to the driver's
process alone (unique set size), from its start to the last commit. Printed are its peak, what it
was when a tenth and when all of the rows were there, and the rows a second.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pyarrow.parquet as pq


def sweep(folder: Path, cells: int, replicates: int) -> tuple[list[tuple[float, float]], int]:
    """(seconds, megabytes) of the driver's process, and the rows committed."""
    command = [sys.executable, "-m", "sweep", "+grid=quickstart", "grid.algorithm=[adap_klucb]",
               f"grid.epsilon=[{{logspace:[0.01,100,{cells}]}}]", "grid.T=[10]",
               f"grid.replicates={replicates}", "tracking=none", f"store={folder}"]  # fmt: skip
    begin = time.monotonic()
    samples = []
    with subprocess.Popen(command) as process:
        watched = psutil.Process(process.pid)
        while process.poll() is None:
            try:
                samples.append((time.monotonic() - begin, watched.memory_full_info().uss / 1e6))
            except psutil.Error:
                break
            time.sleep(1.0)
    if process.returncode:
        raise SystemExit(f"the sweep ended with status {process.returncode}")
    return samples, sum(pq.read_metadata(path).num_rows for path in folder.glob("rows/*.parquet"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--replicates", type=int, default=10)
    given = parser.parse_args()
    print("| cells | rows | seconds | rows a second | peak, MB | at a tenth, MB | at the end, MB |")
    print("|---|---|---|---|---|---|---|")
    for cells in given.cells:
        with tempfile.TemporaryDirectory() as folder:
            samples, rows = sweep(Path(folder), cells, given.replicates)
        seconds = samples[-1][0]
        memory = [megabytes for _, megabytes in samples]
        print(
            f"| {cells:,} | {rows:,} | {seconds:.0f} | {rows / seconds:,.0f} | {max(memory):.0f}"
            f" | {memory[len(memory) // 10]:.0f} | {memory[-2]:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
