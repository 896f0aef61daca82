"""How long units took: measured over expected seconds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow.parquet as pq

from sweep.store.places import Place
from sweep.store.segments import TIMINGS, UNREADABLE

KEYS = ("algorithm", "version", "distribution")
SUMS = ("seconds", "uncorrected")


def corrections(place: Place, names: Iterable[str]) -> dict[tuple[str, int, str], float]:
    """Measured over expected seconds by (algorithm, version, distribution), of these segments.

    Timings only tune the size of blocks, so unreadable ones are passed over.
    """
    sums: dict[tuple[str, int, str], np.ndarray] = {}
    for name in names:
        try:
            with place.source(f"{TIMINGS}/{name}") as source:
                table = pq.read_table(
                    source, columns=[*KEYS, *SUMS], page_checksum_verification=True
                )
            groups = table.group_by(KEYS).aggregate([(column, "sum") for column in SUMS])
        except UNREADABLE:
            continue
        for row in groups.to_pylist():
            key = (row["algorithm"], row["version"], row["distribution"])
            pair = np.array([row["seconds_sum"], row["uncorrected_sum"]])
            sums[key] = sums.get(key, np.zeros(2)) + pair
    return {key: float(a / b) for key, (a, b) in sums.items() if a > 0 and b > 0}
