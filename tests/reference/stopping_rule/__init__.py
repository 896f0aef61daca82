"""The stopping rules as sajed2019 Section 3 prints them: plain Python, one sample at a time.

Each function asks `sample(t)` once per round, t = 1, 2, … up to `T`, and returns the rounds it
used, its estimate (NaN if it did not halt) and whether it halted. Noise comes from `rng`, one
`rng.laplace(0.0, scale)` per number, in the order of the boxes.
"""

from collections.abc import Callable
from pkgutil import extend_path
from typing import Any

import numpy as np

from reference.common import Generator, Trajectory
from reference.tables import GRAIN

__path__ = extend_path(__path__, __name__)

SampleSource = Callable[[int], float]
Outcome = tuple[int, float, bool]

GOLDEN = [{"name": "two_point", "mu": 0.9}, {"name": "two_point", "mu": -0.4, "R": 2}]
CLEAR = {"name": "sample_table", "samples": np.full(9000, 1.0), "R": 1.0}


def table(rng: np.random.Generator, rounds: int) -> dict[str, Any]:
    """Samples of a random mean, bound and spread (exact sums in float64)."""
    R = float(rng.choice([0.5, 1.0, 3.0]))
    mean, width = rng.uniform(-1.0, 1.0), rng.uniform(0.0, 2.0)
    drift = rng.choice([0.0, 0.3]) * np.linspace(-1.0, 1.0, rounds)
    raw = mean + drift + width * (rng.random(rounds) - 0.5)
    samples = np.rint(np.clip(raw, -1.0, 1.0) * R * GRAIN) / GRAIN
    return {"name": "sample_table", "samples": samples, "R": R}


def play(
    function: Callable[..., Outcome],
    instance: dict[str, Any],
    T: int,
    rng: Generator,
    **keywords: Any,
) -> Trajectory:
    """What a rule does on a table: samples are taken (0) until it halts, then none (-1).

    A private rule releases its estimate.
    """
    samples = instance["samples"].tolist()
    t, estimate, halted = function(lambda t: samples[t - 1], instance["R"], T, rng, **keywords)
    messages = [(t, 0, estimate)] if halted and "epsilon" in keywords else []
    return [0] * t + [-1] * (T - t), messages
