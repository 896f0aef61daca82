"""Stopping rules: samples used, how often the estimate misses, and who did not halt.

One row per cell. The samples used are means over replicates with the bootstrap's interval; the
misses and the halts are counts with Clopper and Pearson's.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from analysis.curves import DRAWS, SERIES_KEYS, generator, interval
from analysis.tables import bracket, estimate, number, with_labels

INFO = ["cell", *SERIES_KEYS, "epsilon", "uses_epsilon"]

COLUMNS = [
    *INFO, "alpha", "beta", "mu", "n", "stop_time", "stop_time_low", "stop_time_high", "halted",
    "halted_low", "halted_high", "estimates", "misses", "miss", "miss_low", "miss_high", "note",
]  # fmt: skip

MEANING = {
    "samples": "mean number of samples a rule used, 95 % bootstrap interval; T counts where it "
    "did not halt",
    "misses": "share of estimates with |estimate - μ| > α|μ| among the replicates that halted, "
    "95 % Clopper-Pearson interval; β is what the rule promises at most",
    "halted": "share of replicates that halted within T samples",
}


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
        rows = [_row(cell, draws, seed) for _, cell in found.groupby("cell", sort=False)]
    return pd.DataFrame(rows, columns=COLUMNS).astype({"K": "Int64", "N": "Int64"})


def clopper_pearson(count: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of a probability from `count` of `n`; NaN for n = 0."""
    if n == 0:
        return math.nan, math.nan
    tail = (1.0 - level) / 2.0
    low = float(stats.beta.ppf(tail, count, n - count + 1)) if count else 0.0
    high = float(stats.beta.isf(tail, count + 1, n - count)) if count < n else 1.0
    return low, high


def _row(rows: pd.DataFrame, draws: int, seed: int) -> dict[str, Any]:
    """Return the row of one cell."""
    info = rows.iloc[0]
    parameters = json.loads(info["parameters"])
    alpha, mu = parameters.get("alpha", math.nan), float(info["means"][0])
    used = rows["stop_time"].to_numpy(float)
    halted = rows["halted"].to_numpy(bool)
    errors = np.abs(rows["estimate"].to_numpy(float)[halted] - mu)
    n, count, misses = len(used), int(halted.sum()), int((errors > alpha * abs(mu)).sum())
    low, high = interval(used, generator(info["cell"], seed), draws)
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


def view(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table as text, one row per cell, in the words of MEANING."""
    rows = [
        {
            "algorithm": row.label,
            "instance": row.place,
            "T": number(row.T),
            "ε": number(row.epsilon),
            "n": str(row.n),
            "samples": estimate(row.stop_time, row.stop_time_low, row.stop_time_high),
            "misses": estimate(row.miss, row.miss_low, row.miss_high),
            "β": number(row.beta),
            "halted": number(row.halted),
            "note": row.note,
        }
        for row in with_labels(table).itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per series: samples at both ends of ε, all misses, the least share halted.

    Columns: label, place, T, n, epsilon_low, epsilon_high, at_low, at_high (samples as text),
    misses (pooled over ε, as text), beta, halted.
    """
    rows = []
    for _, group in with_labels(table).groupby(SERIES_KEYS, sort=False, dropna=False):
        ordered = list(group.sort_values("epsilon").itertuples(index=False))
        first, last = ordered[0], ordered[-1]
        misses, count = int(group["misses"].sum()), int(group["estimates"].sum())
        share = misses / count if count else math.nan
        low, high = clopper_pearson(misses, count)
        rows.append(
            {
                "label": first.label,
                "place": first.place,
                "T": first.T,
                "n": int(group["n"].min()),
                "epsilon_low": first.epsilon,
                "epsilon_high": last.epsilon,
                "at_low": _samples(first),
                "at_high": _samples(last),
                "misses": f"{number(share)} {bracket(low, high)}".strip(),
                "beta": first.beta,
                "halted": group["halted"].min(),
            }
        )
    return pd.DataFrame(rows)


def _samples(row: Any) -> str:
    """Return a cell's mean samples with interval, short enough for a terminal: 8.28e5."""
    texts = []
    for value in (row.stop_time, row.stop_time_low, row.stop_time_high):
        mantissa, _, exponent = f"{value:.3g}".partition("e")
        texts.append(f"{mantissa}e{int(exponent)}" if value >= 1e4 else number(value))
    return texts[0] if texts[1] == "-" else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def headlines(table: pd.DataFrame, limit: int = 12) -> list[str]:
    """Return the findings as sentences, at most `limit`: broken promises, then samples."""
    lines = []
    for row in view(table[table["miss_low"] > table["beta"]]).itertuples(index=False):
        lines.append(f"{row.algorithm} on {row.instance}: misses {row.misses}, more than β")
    for row in overview(table).itertuples(index=False):
        line = f"{row.label} on {row.place}: {row.at_high} samples"
        if row.epsilon_low < row.epsilon_high:
            line += f" at ε = {number(row.epsilon_high)}, {row.at_low} at {number(row.epsilon_low)}"
        line += f"; misses {row.misses}, β = {number(row.beta)}"
        if row.halted < 1:
            line += f"; share halted down to {number(row.halted)}"
        lines.append(line)
    more = len(lines) - limit
    return lines[:limit] + ([f"… and {more} more in the tables"] if more > 0 else [])
