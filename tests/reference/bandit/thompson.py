"""Thompson sampling and Lazy-DP-TS as hu2024 prints them.

A posterior draw is one `rng.beta(a, b)` per arm and round, in index order: what the kernels
do with draws = "all".
"""

from math import log

from reference.common import Generator, Message, RewardSource, Trajectory, uniform_argmax


def thompson_beta(
    reward: RewardSource, K: int, T: int, rng: Generator, *, draws: str = "all"
) -> Trajectory:
    """Algorithm 2: Thompson Sampling using Beta Priors."""
    actions: list[int] = []
    O = [0] * K  # 2
    mean = [0.0] * K
    for t in range(1, T + 1):  # 3
        theta = [rng.beta(mean[j] * O[j] + 1.0, (1.0 - mean[j]) * O[j] + 1.0) for j in range(K)]
        J = uniform_argmax(theta, rng)  # 5
        mean[J] = (mean[J] * O[J] + reward(t, J)) / (O[J] + 1)
        O[J] += 1
        actions.append(J)
    return actions, []


def lazy_dp_ts(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, draws: str = "all"
) -> Trajectory:
    """Algorithm 3: Lazy-DP-TS."""
    actions: list[int] = []
    messages: list[Message] = []
    O, r, N, Phi, mu = [1] * K, [0] * K, [0] * K, [0.0] * K, [0.0] * K
    for j in range(K):  # 2
        mu[j] = reward(j + 1, j) + rng.laplace(0.0, 1.0 / epsilon)
        actions.append(j)
        messages.append((j + 1, j, mu[j]))
    for t in range(K + 1, T + 1):  # 3
        theta = []
        for j in range(K):  # 4
            clipped = min(max(mu[j] + 3.0 * log(t) / (epsilon * O[j]), 0.0), 1.0)
            theta.append(rng.beta(clipped * O[j] + 1.0, (1.0 - clipped) * O[j] + 1.0))
        J = uniform_argmax(theta, rng)  # 5
        actions.append(J)
        N[J] += 1  # 6
        Phi[J] += reward(t, J)
        if N[J] == 2 ** (r[J] + 1):  # 7
            O[J] = 2 ** (r[J] + 1)  # 8
            mu[J] = (Phi[J] + rng.laplace(0.0, 1.0 / epsilon)) / O[J]
            r[J] += 1
            N[J], Phi[J] = 0, 0.0
            messages.append((t, J, mu[J]))
    return actions, messages
