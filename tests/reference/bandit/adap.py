"""AdaP with UCB's and KL-UCB's index: azize2022, Algorithm 1."""

from collections.abc import Callable
from math import log, sqrt

from reference.common import Generator, Message, RewardSource, Trajectory, kl_upper, uniform_argmax


def adap(
    index: Callable[[float, float, int], float],
    reward: RewardSource, K: int, T: int, rng: Generator, epsilon: float,
) -> Trajectory:  # fmt: skip
    """azize2022 Algorithm 1 for an index I(private mean, log t_ell, n).

    n is the number of samples behind the private mean: those of the arm's last episode.
    """
    actions: list[int] = []
    messages: list[Message] = []
    N = [0] * K
    n = [0] * K
    private_mean = [0.0] * K

    def release(t: int, a: int, episode_sum: float, samples: int) -> None:
        n[a] = samples
        private_mean[a] = episode_sum / samples + rng.laplace(0.0, 1.0 / (epsilon * samples))
        messages.append((t, a, private_mean[a]))

    t = 0
    for a in range(K):  # 3
        t += 1
        actions.append(a)
        N[a] = 1
        release(t, a, reward(t, a), 1)
    while t < T:  # 4
        t_ell = t + 1  # 5
        indices = [index(private_mean[a], log(t_ell), n[a]) for a in range(K)]
        A = uniform_argmax(indices, rng)  # 6
        N_before = N[A]
        episode_sum = 0.0
        while N[A] < 2 * N_before and t < T:  # 7
            t += 1
            actions.append(A)
            episode_sum += reward(t, A)
            N[A] += 1
        if N[A] == 2 * N_before:
            release(t, A, episode_sum, N_before)
    return actions, messages


def adap_ucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, alpha: float = 3.1
) -> Trajectory:
    """AdaP-UCB: azize2022 Algorithm 1 with equation (7)."""

    def index(private_mean: float, log_t: float, n: int) -> float:
        return private_mean + sqrt(alpha * log_t / (2.0 * n)) + alpha * log_t / (epsilon * n)

    return adap(index, reward, K, T, rng, epsilon)


def adap_klucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, alpha: float = 3.1
) -> Trajectory:
    """AdaP-KLUCB: azize2022 Algorithm 1 with equation (8)."""

    def index(private_mean: float, log_t: float, n: int) -> float:
        clipped = min(max(0.0, private_mean + alpha * log_t / (epsilon * n)), 1.0)
        return kl_upper(clipped, alpha * log_t / n)

    return adap(index, reward, K, T, rng, epsilon)
