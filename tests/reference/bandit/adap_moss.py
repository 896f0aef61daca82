"""AdaP with MOSS's and IMED's index: azize2022, Algorithm 1.

Indices of all arms at once, as IMED's compares each with the best.
"""

from collections.abc import Callable
from math import log

from reference.bandit.moss import imed_indices, moss_indices
from reference.common import Generator, Message, RewardSource, Trajectory, uniform_argmax


def adap(
    indices: Callable[[list[float], list[int], float], list[float]],
    reward: RewardSource, K: int, T: int, rng: Generator, epsilon: float,
) -> Trajectory:  # fmt: skip
    """azize2022 Algorithm 1: the arm of the largest of indices(private means, n, log t_ell)."""
    actions: list[int] = []
    messages: list[Message] = []
    N, n, private_mean = [0] * K, [0] * K, [0.0] * K
    t = 0
    while t < T:
        A = t
        if t >= K:
            A = uniform_argmax(indices(private_mean, n, log(t + 1)), rng)
        samples = max(1, N[A])
        episode = []
        while len(episode) < samples and t < T:
            t += 1
            actions.append(A)
            episode.append(reward(t, A))
        if len(episode) == samples:
            noise = rng.laplace(0.0, 1.0 / (epsilon * samples))
            private_mean[A] = sum(episode) / samples + noise
            messages.append((t, A, private_mean[A]))
            N[A] += samples
            n[A] = samples
    return actions, messages


def adap_moss(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, alpha: float = 3.1
) -> Trajectory:
    """Algorithm 1 with MOSS's index on the private mean plus equation (7)'s epsilon term."""

    def indices(means: list[float], n: list[int], log_t: float) -> list[float]:
        moss = moss_indices(means, n, T)
        return [index + alpha * log_t / (epsilon * m) for index, m in zip(moss, n, strict=True)]

    return adap(indices, reward, K, T, rng, epsilon)


def adap_imed(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, alpha: float = 3.1
) -> Trajectory:
    """Algorithm 1, IMED's index with the clipped optimistic private mean for every mean."""

    def indices(means: list[float], n: list[int], log_t: float) -> list[float]:
        clipped = [
            min(1.0, max(0.0, mean + alpha * log_t / (epsilon * m)))
            for mean, m in zip(means, n, strict=True)
        ]
        return [-i for i in imed_indices(clipped, n)]

    return adap(indices, reward, K, T, rng, epsilon)
