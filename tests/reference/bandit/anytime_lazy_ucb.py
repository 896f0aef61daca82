"""Anytime-Lazy-UCB: hu2024, Algorithm 1."""

from math import log, sqrt

from reference.common import Generator, Message, RewardSource, Trajectory


def anytime_lazy_ucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float
) -> Trajectory:
    """Anytime-Lazy-UCB: hu2024 Algorithm 1.

    A tie that lasts while no index changes is resolved once: the first tie draws a uniform order
    of all arms (Fisher-Yates), the tied arm that stands first is played, and the order holds
    until some private mean is updated.
    """
    actions: list[int] = []
    messages: list[Message] = []
    O = [1] * K  # the paper's letter
    r, N, Phi = [0] * K, [0] * K, [0.0] * K
    mu = [0.0] * K
    for j in range(K):  # 2
        mu[j] = reward(j + 1, j) + rng.laplace(0.0, 1.0 / epsilon)
        actions.append(j)
        messages.append((j + 1, j, mu[j]))
    order: list[int] | None = None
    for t in range(K + 1, T + 1):  # 3
        a = 3.0 * log(t)
        indices = [m + sqrt(a / o) + a / (epsilon * o) for m, o in zip(mu, O, strict=True)]  # 4
        best = max(indices)
        J = indices.index(best)
        if indices.count(best) > 1:
            if order is None:
                order = list(range(K))
                for i in range(K - 1, 0, -1):
                    k = int(rng.random() * (i + 1))
                    order[i], order[k] = order[k], order[i]
            J = next(j for j in order if indices[j] == best)
        actions.append(J)
        N[J] += 1  # 5
        Phi[J] += reward(t, J)
        if N[J] == 2 ** (r[J] + 1):  # 6
            O[J] = 2 ** (r[J] + 1)  # 7
            mu[J] = (Phi[J] + rng.laplace(0.0, 1.0 / epsilon)) / O[J]
            r[J] += 1
            N[J], Phi[J] = 0, 0.0
            messages.append((t, J, mu[J]))
            order = None
    return actions, messages
