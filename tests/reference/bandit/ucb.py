"""UCB1 and KL-UCB."""

from math import log, sqrt

from reference.common import Generator, RewardSource, Trajectory, kl_upper, uniform_argmax


def ucb1(reward: RewardSource, K: int, T: int, rng: Generator) -> Trajectory:
    """UCB1: Auer et al. 2002; sajed2019 section 2 (B_{a,t} = mean + sqrt(2 log t / t_a))."""
    actions: list[int] = []
    total = [0.0] * K
    n = [0] * K
    for t in range(1, T + 1):
        if t <= K:
            arm = t - 1
        else:
            indices = [total[j] / n[j] + sqrt(2.0 * log(t) / n[j]) for j in range(K)]
            arm = uniform_argmax(indices, rng)
        total[arm] += reward(t, arm)
        n[arm] += 1
        actions.append(arm)
    return actions, []


def kl_ucb(reward: RewardSource, K: int, T: int, rng: Generator, *, c: float = 0.0) -> Trajectory:
    """KL-UCB: Garivier & Cappé 2011, Algorithm 1."""
    actions: list[int] = []
    S = [0.0] * K
    N = [0] * K
    for t in range(1, T + 1):
        if t <= K:
            arm = t - 1
        else:
            level = log(t) + c * log(log(t))
            arm = uniform_argmax([kl_upper(S[j] / N[j], level / N[j]) for j in range(K)], rng)
        S[arm] += reward(t, arm)
        N[arm] += 1
        actions.append(arm)
    return actions, []
