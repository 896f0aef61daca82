"""Decreasing Hedge.

The kernel does this with draws = "all". One `rng.random()` a round, u, and the action is the first
one whose cumulative probability, in ascending order, exceeds u.
"""

from math import exp, log, sqrt

from reference.common import Generator, RewardSource, Trajectory


def decreasing_hedge(
    reward: RewardSource, K: int, T: int, rng: Generator, *, draws: str = "all"
) -> Trajectory:
    """Mourtada & Gaïffas 2019: weights exp(-eta_t L_{j,t-1}), eta_t = 2 sqrt(log(K) / t).

    With rewards for losses the weights are exp(eta_t G_{j,t-1}): the common t - 1 cancels.
    """
    actions: list[int] = []
    G = [0.0] * K
    for t in range(1, T + 1):
        eta = 2.0 * sqrt(log(K) / t)
        highest = max(G)
        weights = [exp(eta * (gain - highest)) for gain in G]
        threshold = rng.random() * sum(weights)
        J, cumulative = 0, weights[0]
        while cumulative <= threshold and J < K - 1:
            J += 1
            cumulative += weights[J]
        actions.append(J)
        for j in range(K):
            G[j] += reward(t, j)
    return actions, []
