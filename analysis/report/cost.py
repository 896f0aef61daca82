"""What a report is expected to take, for those who ask before there is anything to analyse."""

from __future__ import annotations

import os

# Seconds on an idle machine: imports, figures and page; then of one core for each cell (its fits)
# and each replicate (reading and measuring its curve).
START, CELL, REPLICATE = 2.5, 3e-4, 1e-5


def expected_seconds(cells: int, replicates: int) -> float:
    """Seconds for the report of a sweep of so many cells, with so many replicates in all."""
    cores = len(os.sched_getaffinity(0))
    return START + (CELL * cells + REPLICATE * replicates) / cores
