"""Follow the Leader.

One `rng.random()` per arg max that is tied (exact equality, tied actions in ascending order),
unless no aggregated reward has changed since the last one: then its outcome is kept.
"""

from reference.common import Generator, RewardSource, Trajectory, uniform_argmax


def ftl(reward: RewardSource, K: int, T: int, rng: Generator) -> Trajectory:
    """Follow the Leader: the largest aggregated reward of all rounds so far."""
    actions: list[int] = []
    total = [0.0] * K
    decided_on: list[float] = []
    J = -1
    for t in range(1, T + 1):
        if total != decided_on:
            J = uniform_argmax(total, rng)
            decided_on = total.copy()
        actions.append(J)
        for j in range(K):
            total[j] += reward(t, j)
    return actions, []
