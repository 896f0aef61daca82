"""DP-UCB.

The tree is kept whole: a dictionary from (level, number) to a node's noise, drawn when the node
first enters a released sum, which is when its last leaf arrives.
"""

from math import inf, log, log2, sqrt

from reference.common import Generator, Message, RewardSource, Trajectory, uniform_argmax


def tiles(n: int) -> list[tuple[int, int]]:
    """The dyadic nodes that tile {1..n}, largest first: (level, number) is the node of the leaves
    number 2^level + 1 … (number + 1) 2^level.
    """
    found: list[tuple[int, int]] = []
    leaf = 0
    while leaf < n:
        level = 0
        while leaf % 2 ** (level + 1) == 0 and leaf + 2 ** (level + 1) <= n:
            level += 1
        found.append((level, leaf // 2**level))
        leaf += 2**level
    return found


def height(T: int) -> int:
    """L = floor(log2 T) + 1 levels."""
    L = 1
    while 2**L <= T:
        L += 1
    return L


def bound_on_noise(bound: str, K: int, T: int, epsilon: float, gamma: float) -> float:
    """B: what a released sum's noise does not exceed, by the paper each choice comes from."""
    L = height(T)
    if epsilon == inf:
        return 0.0
    if bound == "mt15":
        return L * (L / epsilon) * log(K * T * L / gamma)
    if bound == "log2.5":
        return (L / epsilon) * sqrt(8.0 * L) * log(2.0 * K * T / gamma)
    delta = gamma if bound == "pointwise" else gamma / (K * T)
    # Chan et al. 2011, Corollary 2.9: a sum of Lap(b_i) exceeds nu sqrt(8 ln(2 / delta)) with
    # probability at most delta, nu = max{sqrt(sum b_i^2), max b_i sqrt(ln(2 / delta))}.
    b = [L / epsilon] * L
    nu = max(sqrt(sum(scale**2 for scale in b)), max(b) * sqrt(log(2.0 / delta)))
    return nu * sqrt(8.0 * log(2.0 / delta))


def dp_ucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float,
    bound: str = "union", budget: str = "per_arm", gamma: float = 0.1,
) -> Trajectory:  # fmt: skip
    """DP-UCB: sajed2019 section 1, azize2022 section 1; the released numbers are noisy sums."""
    if budget == "split":
        epsilon = epsilon / K
    L = int(log2(T)) + 1
    B = bound_on_noise(bound, K, T, epsilon, gamma)
    actions: list[int] = []
    messages: list[Message] = []
    rewards: list[list[float]] = [[] for _ in range(K)]
    nodes: list[dict[tuple[int, int], float]] = [{} for _ in range(K)]
    noisy_sum = [0.0] * K
    for t in range(1, T + 1):
        if t <= K:
            arm = t - 1
        else:
            indices = []
            for a in range(K):
                n = len(rewards[a])
                indices.append(noisy_sum[a] / n + sqrt(2.0 * log(t) / n) + B / n)
            arm = uniform_argmax(indices, rng)
        rewards[arm].append(reward(t, arm))
        n = len(rewards[arm])
        noise = 0.0
        for node in tiles(n):
            if node not in nodes[arm]:
                nodes[arm][node] = rng.laplace(0.0, L / epsilon)
            noise += nodes[arm][node]
        noisy_sum[arm] = sum(rewards[arm]) + noise
        messages.append((t, arm, noisy_sum[arm]))
        actions.append(arm)
    return actions, messages
