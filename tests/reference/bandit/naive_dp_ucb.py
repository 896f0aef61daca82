"""UCB1 on means of which each has its own share of ε."""

from math import log, sqrt

from reference.common import Generator, Message, RewardSource, Trajectory, uniform_argmax


def naive_dp_ucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float
) -> Trajectory:
    """azize2022 section 4's first baseline: UCB1 on means of which each is epsilon / (KT)-DP."""
    actions: list[int] = []
    messages: list[Message] = []
    total, n = [0.0] * K, [0] * K
    for t in range(1, T + 1):
        if t <= K:
            arm = t - 1
        else:
            indices = []
            for a in range(K):
                sensitivity = 1.0 / n[a]
                mean = total[a] / n[a] + rng.laplace(0.0, sensitivity / (epsilon / (K * T)))
                messages.append((t - 1, a, mean))
                indices.append(mean + sqrt(2.0 * log(t) / n[a]))
            arm = uniform_argmax(indices, rng)
        total[arm] += reward(t, arm)
        n[arm] += 1
        actions.append(arm)
    return actions, messages
