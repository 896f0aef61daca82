"""The `stopping_rule` family: samples in [-R, R] until the mean is known to a relative error.

A rule reads one stream of samples and halts by itself, with an estimate of the mean μ that
should satisfy |estimate - μ| ≤ α|μ| with probability at least 1 - β (an (α, β)-stopping rule).
T is the largest number of samples it may take. μ, R and the distribution belong to the
instance, α and β to the algorithm.

T enters nothing: the run to a smaller T is the start of the longer one. At a horizon that comes
before the halt the rule has used all samples and has no estimate (NaN).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from algos.families import Column, Family, Outcome, register_family
from algos.registry import Algorithm
from algos.stopping_rule.traces import StoppingTrace


def play(
    algorithm: Algorithm,
    env: Any,
    arguments: tuple[float | int, ...],
    checkpoints: np.ndarray,
    horizons: np.ndarray,
    generators: Sequence[np.random.Generator],
) -> Outcome:
    """Play replicates: rounds used, estimate and whether it halted, (replicates, horizons)."""
    never = np.iinfo(np.int64).max
    time = np.full((len(generators), 1), never, np.int64)
    estimate = np.full((len(generators), 1), np.nan)
    kernel = algorithm.kernel
    for i, rng in enumerate(generators):
        kernel(env, rng, StoppingTrace(time[i], estimate[i]), *arguments)
    halted = time <= horizons
    return {
        "stop_time": np.minimum(time, horizons),
        "estimate": np.where(halted, estimate, np.nan),
        "halted": halted,
    }


FAMILY = register_family(
    Family(
        name="stopping_rule",
        axes=(),
        columns=(
            Column("stop_time", "int64", False, "samples used, T if the rule did not halt"),
            Column("estimate", "float64", False, "estimate of the mean, NaN if it did not halt"),
            Column("halted", "bool", False, "whether the rule halted within T samples"),
        ),
        play=play,
        least_T=lambda instance: 1,
        has_regret=False,
    )
)
