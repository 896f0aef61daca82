"""DP-NAS and DP exponential NAS: sajed2019, Algorithms 1 and 2.

`dp_nas_box` draws a Laplace variable in every round, as the box does. `dp_nas` is the same rule
with other draws (see there): the compiled kernel makes those.
"""

from math import exp, floor, inf, log, log1p, nan, sqrt

from reference.common import Generator
from reference.stopping_rule import Outcome, SampleSource


def dp_nas(
    sample: SampleSource,
    R: float,
    T: int,
    rng: Generator,
    *,
    epsilon: float,
    alpha: float,
    beta: float,
) -> Outcome:
    """Algorithm 1 with line 10 decided by candidates instead of one A_t per round.

    Given the samples and B, round t halts with probability p_t = Pr[A_t <= -gap(t)], on its own.
    A stretch of rounds begins with an upper bound on its p_t; a round is a candidate with the
    bound's probability (an exponential variable says how many rounds until the next one), and a
    candidate halts with probability p_t / bound. A stretch is as long as half of the smallest
    gap that its first round can have, measured in R, or as sigma_2 if that is less and more than
    one candidate would be expected; it ends with its first candidate.
    """
    sigma_1, sigma_2, sigma_3 = 12.0 * R / epsilon, 12.0 * R / epsilon, 4.0 * R / epsilon
    B = rng.laplace(0.0, sigma_1)
    total = 0.0

    def gap(t: int, magnitude: float) -> float:
        h_t = R * sqrt(2.0 / t * log(16.0 * t**2 / beta))
        c_t = (
            sigma_1 * log(4.0 / beta)
            + sigma_2 * log(8.0 * t**2 / beta)
            + sigma_3 / alpha * log(4.0 / beta)
        )
        return t * h_t * (1.0 + 1.0 / alpha) + c_t + B - magnitude

    def below(x: float) -> float:
        """Pr[A_t <= -x]."""
        if sigma_2 == 0.0:
            return 1.0 if x <= 0.0 else 0.0
        return 0.5 * exp(-x / sigma_2) if x >= 0.0 else 1.0 - 0.5 * exp(x / sigma_2)

    left, candidate, bound = 0, False, 0.0
    for t in range(1, T + 1):
        if left == 0:
            start = gap(t, abs(total))
            for fall in (start / 2.0, min(start / 2.0, sigma_2)):
                left = max(1, floor(fall / R))
                bound = below(start - max(fall, R))
                if left * bound <= 1.0:
                    break
            wait = 1.0 if bound == 1.0 else inf
            if 0.0 < bound < 1.0:
                wait = 1 + floor(rng.standard_exponential() / -log1p(-bound))
            candidate = wait <= left
            left = min(left, int(min(wait, T + 1)))
        total += sample(t)
        left -= 1
        if left == 0 and candidate and rng.random() * bound < below(gap(t, abs(total))):
            return t, total / t + rng.laplace(0.0, sigma_3) / t, True
    return T, nan, False


def dp_nas_box(
    sample: SampleSource,
    R: float,
    T: int,
    rng: Generator,
    *,
    epsilon: float,
    alpha: float,
    beta: float,
) -> Outcome:
    """Algorithm 1 as it is printed: a Laplace variable in every round."""
    sigma_1, sigma_2, sigma_3 = 12.0 * R / epsilon, 12.0 * R / epsilon, 4.0 * R / epsilon  # 1
    B = rng.laplace(0.0, sigma_1)  # 2
    t = 0  # 3
    total = 0.0
    while t < T:  # 4
        t += 1  # 5
        A_t = rng.laplace(0.0, sigma_2)  # 6
        total += sample(t)  # 7
        h_t = R * sqrt(2.0 / t * log(16.0 * t**2 / beta))  # 8
        c_t = (  # 9
            sigma_1 * log(4.0 / beta)
            + sigma_2 * log(8.0 * t**2 / beta)
            + sigma_3 / alpha * log(4.0 / beta)
        )
        if abs(total / t) >= h_t * (1.0 + 1.0 / alpha) + (c_t + B + A_t) / t:  # 10
            L = rng.laplace(0.0, sigma_3)  # 11
            return t, total / t + L / t, True  # 12
    return T, nan, False


def dp_exp_nas(
    sample: SampleSource,
    R: float,
    T: int,
    rng: Generator,
    *,
    epsilon: float,
    alpha: float,
    beta: float,
) -> Outcome:
    """sajed2019 Algorithm 2."""
    sigma_1, sigma_2, sigma_3 = 12.0 * R / epsilon, 12.0 * R / epsilon, 4.0 * R / epsilon  # 1
    B = rng.laplace(0.0, sigma_1)  # 2
    k, t = 0, 0  # 3
    total = 0.0
    while True:  # 4
        k += 1  # 5
        while t != 2**k:  # 6, 9
            if t == T:
                return T, nan, False
            t += 1  # 7
            total += sample(t)  # 8
        A_t = rng.laplace(0.0, sigma_2)  # 10
        c_t = (  # 11
            sigma_1 * log(4.0 / beta)
            + sigma_2 * log(8.0 * k**2 / beta)
            + sigma_3 / alpha * log(4.0 / beta)
        )
        h_t = R * sqrt(2.0 / t * log(16.0 * k**2 / beta))  # 12
        if abs(total / t) >= h_t * (1.0 + 1.0 / alpha) + (c_t + B + A_t) / t:  # 13
            L = rng.laplace(0.0, sigma_3)  # 14
            return t, total / t + L / t, True  # 15
