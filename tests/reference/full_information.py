"""The full-information algorithms as their papers print them: plain Python, one round at a time.

Each function plays `T` rounds on `K` actions and asks `reward(t, j)` for every action j in every
round t. Every random choice comes from `rng` in a fixed order, so a kernel that is handed an
equal generator and an equal reward table must return the same actions and the same messages:

- ftl: one `rng.random()` per arg max that is tied (exact equality, tied actions in ascending
  order), unless no aggregated reward has changed since the last one: then its outcome is kept;
- decreasing_hedge: one `rng.random()` a round, u, and the action is the first one whose
  cumulative probability, in ascending order, exceeds u;
- ftnl, rnm_ftnl: at the end of a complete epoch one `rng.laplace(0.0, scale)` per action in
  ascending order, also when epsilon is infinite (the scale is then 0), then one `rng.random()` if
  the arg max is tied.

Returned are the actions (T of them, 0-based) and the messages `(t, j, value)`: what leaves the
mechanism, with the round at whose end it does. ftnl sends every noisy count. rnm_ftnl sends
nothing but the index of the largest, as `(t, J, J)`. An epoch that T cuts short sends nothing.
"""

from math import exp, log, sqrt

from numpy.random import Generator

from reference.common import Message, RewardSource, Trajectory, uniform_argmax


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


def decreasing_hedge(reward: RewardSource, K: int, T: int, rng: Generator) -> Trajectory:
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


def ftnl(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, noise: float = 1.0
) -> Trajectory:
    """FTNL: hu2024 section 5, every action's aggregated reward is (epsilon / K)-private."""
    actions: list[int] = []
    messages: list[Message] = []
    J, s, played = 0, 0, 0
    Phi = [0.0] * K
    for t in range(1, T + 1):
        actions.append(J)
        for j in range(K):
            Phi[j] += reward(t, j)
        played += 1
        if played == 2**s:
            noisy = [Phi[j] + rng.laplace(0.0, noise * K / epsilon) for j in range(K)]
            messages += [(t, j, noisy[j]) for j in range(K)]
            J = uniform_argmax(noisy, rng)
            s, played = s + 1, 0
            Phi = [0.0] * K
    return actions, messages


def rnm_ftnl(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, noise: float = 1.0
) -> Trajectory:
    """RNM-FTNL: hu2024 Algorithm 4; its epoch 0 is the one round of line 2, with action 1."""
    actions: list[int] = []
    messages: list[Message] = []
    J, s, played = 0, 0, 0
    Phi = [0.0] * K
    for t in range(1, T + 1):
        actions.append(J)  # 2, 4
        for j in range(K):
            Phi[j] += reward(t, j)
        played += 1
        if played == 2**s:
            noisy = [Phi[j] + rng.laplace(0.0, noise / epsilon) for j in range(K)]
            J = uniform_argmax(noisy, rng)  # 2, 5
            messages.append((t, J, float(J)))
            s, played = s + 1, 0  # 6
            Phi = [0.0] * K
    return actions, messages
