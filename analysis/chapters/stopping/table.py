"""Stopping rules: samples used, how often the estimate misses, and who did not halt.

One row per cell. The samples used are means over replicates with the bootstrap's interval; the
misses and the halts are counts with Clopper and Pearson's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.curves import CELL_KEYS, SERIES_KEYS, bootstrap_generator
from analysis.labels import parameters_of
from analysis.statistics.bootstrap import DRAWS, interval
from analysis.statistics.proportions import clopper_pearson

INFO = ["cell", *SERIES_KEYS, "epsilon", "uses_epsilon"]

COLUMNS = [
    *INFO, "alpha", "beta", "mu", "n", "stop_time", "stop_time_low", "stop_time_high", "halted",
    "halted_low", "halted_high", "estimates", "misses", "miss", "miss_low", "miss_high", "note",
]  # fmt: skip


def stopping(df: pd.DataFrame, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """Return one row per cell of a stopping rule; none for a sweep without any.

    Columns beside the cell's own: alpha, beta (the algorithm's), mu (the instance's mean); n
    (replicates); stop_time (mean samples used) with its 95 % bootstrap interval; halted (share)
    with its interval; estimates (replicates that halted), misses (those with
    |estimate - mu| > alpha |mu|), miss (their share) with its interval, NaN without estimates;
    note. `draws` and `seed` are the bootstrap's.
    """
    rows = []
    if "stop_time" in df:
        found = df[df["stop_time"].notna()]
        rows = [_row(cell, draws, seed) for _, cell in found.groupby(CELL_KEYS, sort=False)]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"K": "Int64", "N": "Int64"})


def _row(rows: pd.DataFrame, draws: int, seed: int) -> dict[str, Any]:
    """Return the row of one cell."""
    info = rows.iloc[0]
    parameters = parameters_of(info["parameters"])
    alpha, mu = parameters.get("alpha", math.nan), float(info["means"][0])
    used = rows["stop_time"].to_numpy(float)
    halted = rows["halted"].to_numpy(bool)
    errors = np.abs(rows["estimate"].to_numpy(float)[halted] - mu)
    n, count, misses = len(used), int(halted.sum()), int((errors > alpha * abs(mu)).sum())
    low, high = interval(used, bootstrap_generator(info["cell"], seed), draws)
    halted_low, halted_high = clopper_pearson(count, n)
    miss_low, miss_high = clopper_pearson(misses, count)
    beta = parameters.get("beta", math.nan)
    notes = []
    if count < n:
        notes.append("not all halted: samples and misses are those of a cut run")
    if miss_low > beta:
        notes.append("misses more often than β")
    if n < 2:
        notes.append("one replicate: no interval")
    return {name: info[name] for name in INFO} | {
        "alpha": alpha,
        "beta": beta,
        "mu": mu,
        "n": n,
        "stop_time": float(used.mean()),
        "stop_time_low": low,
        "stop_time_high": high,
        "halted": count / n,
        "halted_low": halted_low,
        "halted_high": halted_high,
        "estimates": count,
        "misses": misses,
        "miss": misses / count if count else math.nan,
        "miss_low": miss_low,
        "miss_high": miss_high,
        "note": "; ".join(notes),
    }
