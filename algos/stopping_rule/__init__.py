"""The `stopping_rule` family: samples in [-R, R] until the mean is known to a relative error.

A rule reads one stream of samples and halts by itself, with an estimate of the mean μ that
should satisfy |estimate - μ| ≤ α|μ| with probability at least 1 - β (an (α, β)-stopping rule).
T is the largest number of samples it may take. μ, R and the distribution belong to the
instance, α and β to the algorithm.

T enters nothing: the run to a smaller T is the start of the longer one. At a horizon that comes
before the halt the rule has used all samples and has no estimate (NaN).
"""

from __future__ import annotations

from algos.families import Family, register_family
from algos.stopping_rule import instances, traces

FAMILY = register_family(
    Family(
        name="stopping_rule",
        summary="samples are taken until the mean is known to a relative error",
        action="taking a sample (0), or none after the halt (-1)",
        sizes=(),
        regret="none",
        columns=traces.COLUMNS,
        recorder=traces.StoppingRecorder,
        kinds=tuple(instances.KINDS),
        examples=tuple({"name": "two_point", "mu": mu} for mu in (0.9, -0.4, 0.0)),
    )
)
