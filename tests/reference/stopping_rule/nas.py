"""NAS: Domingo et al. 2002 in the words of sajed2019 section 3."""

from math import log, nan, sqrt

from reference.common import Generator
from reference.stopping_rule import Outcome, SampleSource


def nas(
    sample: SampleSource, R: float, T: int, rng: Generator, *, alpha: float, beta: float
) -> Outcome:
    """Domingo et al. 2002 in the words of sajed2019 section 3."""
    total = 0.0
    for t in range(1, T + 1):
        total += sample(t)
        h_t = R * sqrt(2.0 / t * log(4.0 * t**2 / beta))
        if abs(total / t) >= h_t * (1.0 + 1.0 / alpha):
            return t, total / t, True
    return T, nan, False
