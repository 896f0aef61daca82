"""FTNL and RNM-FTNL: hu2024, section 5 and Algorithm 4.

At the end of a complete epoch one `rng.laplace(0.0, scale)` per action in ascending order, also
when epsilon is infinite (the scale is then 0), then one `rng.random()` if the arg max is tied.
ftnl sends every noisy count. rnm_ftnl sends nothing but the index of the largest, as `(t, J, J)`.
An epoch that T cuts short sends nothing.
"""

from reference.common import Generator, Message, RewardSource, Trajectory, uniform_argmax


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
