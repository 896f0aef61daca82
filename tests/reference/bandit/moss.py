"""MOSS and IMED.

An arg max or arg min that stays tied while no index changes keeps its arm without a new draw.
"""

from collections.abc import Callable
from math import inf, log, log1p, sqrt

from reference.common import Generator, RewardSource, Trajectory, uniform_argmax


def kl(p: float, q: float) -> float:
    """d(p, q) of Bernoulli(p) from Bernoulli(q) for q >= p, 0 log 0 = 0.

    Written in q - p: with rewards that are bits, indices are often equal but for their rounding
    (6 d(1/3, 2/3) + ln 6 = ln 24), so the same form has to be rounded here as in the kernel.
    """
    if q >= 1.0:
        return inf if p < 1.0 else 0.0
    divergence = 0.0
    if p > 0.0:
        divergence -= p * log1p((q - p) / p)
    divergence -= (1.0 - p) * log1p(-(q - p) / (1.0 - p))
    return divergence


def imed_indices(means: list[float], n: list[int]) -> list[float]:
    """Honda & Takemura 2015: n kl(mean, best mean) + ln n."""
    best = max(means)
    return [m * kl(mean, best) + log(m) for mean, m in zip(means, n, strict=True)]


def moss_indices(means: list[float], n: list[int], T: int) -> list[float]:
    """Audibert & Bubeck 2010: mean + sqrt(max{0, ln(T / (K n))} / n)."""
    K = len(means)
    return [mean + sqrt(max(0.0, log(T / (K * m))) / m) for mean, m in zip(means, n, strict=True)]


def greedy(
    indices: Callable[[list[float], list[int]], list[float]],
    reward: RewardSource, K: int, T: int, rng: Generator,
) -> Trajectory:  # fmt: skip
    """One pull of each arm, then the largest index in every round."""
    actions: list[int] = []
    total, n = [0.0] * K, [0] * K
    before: list[float] = []
    for t in range(1, T + 1):
        if t <= K:
            arm = t - 1
        else:
            now = indices([s / m for s, m in zip(total, n, strict=True)], n)
            if now != before:
                arm = uniform_argmax(now, rng)
            before = now
        total[arm] += reward(t, arm)
        n[arm] += 1
        actions.append(arm)
    return actions, []


def moss(reward: RewardSource, K: int, T: int, rng: Generator) -> Trajectory:
    """MOSS: Audibert & Bubeck 2010."""
    return greedy(lambda means, n: moss_indices(means, n, T), reward, K, T, rng)


def imed(reward: RewardSource, K: int, T: int, rng: Generator) -> Trajectory:
    """IMED: Honda & Takemura 2015; its index is minimised."""
    return greedy(lambda means, n: [-i for i in imed_indices(means, n)], reward, K, T, rng)
