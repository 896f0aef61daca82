"""Stopping rules: samples used, misses and halts of one cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from analysis.curves import Curves, bootstrap_generator, parameters_of
from analysis.statistics.bootstrap import DRAWS, interval
from analysis.statistics.proportions import clopper_pearson


class Stopping(NamedTuple):
    """The measured columns of `analysis.stopping`, which says what they are."""

    alpha: float
    beta: float
    mu: float
    n: int
    stop_time: float
    stop_time_low: float
    stop_time_high: float
    halted: float
    halted_low: float
    halted_high: float
    estimates: int
    misses: int
    miss: float
    miss_low: float
    miss_high: float
    note: str


@dataclass(frozen=True)
class MeasureStopping:
    """The samples, misses and halts of a stopping rule's cell; None for other cells."""

    draws: int = DRAWS
    seed: int = 0

    def __call__(self, cell: Curves) -> Stopping | None:
        if "stop_time" not in cell.outcomes:
            return None
        used = cell.outcomes["stop_time"].astype(float)
        known = ~np.isnan(used)
        used, halted = used[known], cell.outcomes["halted"][known].astype(bool)
        estimate = cell.outcomes.get("estimate", np.full(len(known), math.nan))[known]
        parameters = parameters_of(cell.info["parameters"])
        alpha, mu = parameters.get("alpha", math.nan), float(cell.info["means"][0])
        errors = np.abs(estimate.astype(float)[halted] - mu)
        n, count, misses = len(used), int(halted.sum()), int((errors > alpha * abs(mu)).sum())
        low, high = interval(used, bootstrap_generator(cell.info["cell"], self.seed), self.draws)
        miss_low, miss_high = clopper_pearson(misses, count)
        beta = parameters.get("beta", math.nan)
        notes = []
        if count < n:
            notes.append("not all halted: samples and misses are those of a cut run")
        if miss_low > beta:
            notes.append("misses more often than β")
        if n < 2:
            notes.append("one replicate: no interval")
        miss = misses / count if count else math.nan
        return Stopping(
            alpha, beta, mu, n, float(used.mean()), low, high, count / n,
            *clopper_pearson(count, n), count, misses, miss, miss_low, miss_high, "; ".join(notes),
        )  # fmt: skip
