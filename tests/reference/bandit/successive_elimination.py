"""Successive elimination and DP-SE: sajed2019, Algorithm 3."""

from math import ceil, log, sqrt

from reference.common import Generator, Message, RewardSource, Trajectory


def successive_elimination(
    reward: RewardSource, K: int, T: int, rng: Generator, *, beta: float | None = None
) -> Trajectory:
    """sajed2019 Algorithm 3 with no noise, c_e = 0 and R_e without its epsilon term."""
    beta = 1.0 / T if beta is None else beta
    actions: list[int] = []
    S = list(range(K))  # 1
    t, epoch = 0, 0  # 2
    while True:  # 3
        epoch += 1  # 4
        r = 0  # 5
        total = dict.fromkeys(S, 0.0)  # 6
        Delta_e = 2.0**-epoch  # 7
        R_e = 32.0 * log(8.0 * len(S) * epoch**2 / beta) / Delta_e**2 + 1.0  # 8
        while r < R_e:  # 9
            r += 1  # 10
            for i in S:  # 11
                t += 1  # 12
                total[i] += reward(t, i)  # 13
                actions.append(i)
                if t == T:
                    return actions, []
        h_e = sqrt(log(8.0 * len(S) * epoch**2 / beta) / (2.0 * R_e))  # 15
        mean = {i: total[i] / r for i in S}
        best = max(mean.values())  # 18
        S = [j for j in S if not best - mean[j] > 2.0 * h_e]  # 19-20
        if len(S) == 1:  # 21
            break
    while t < T:  # 22
        t += 1
        reward(t, S[0])
        actions.append(S[0])
    return actions, []


def dp_se(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float,
    beta: float | None = None,
) -> Trajectory:  # fmt: skip
    """DP Successive Elimination: sajed2019 Algorithm 3."""
    beta = 1.0 / T if beta is None else beta
    actions: list[int] = []
    messages: list[Message] = []
    S = list(range(K))  # 1
    t, epoch = 0, 0  # 2
    while True:  # 3
        epoch += 1  # 4
        r = 0  # 5
        total = dict.fromkeys(S, 0.0)  # 6
        Delta_e = 2.0**-epoch  # 7
        R_e = 1.0 + max(  # 8
            32.0 * log(8.0 * len(S) * epoch**2 / beta) / Delta_e**2,
            8.0 * log(4.0 * len(S) * epoch**2 / beta) / (epsilon * Delta_e),
        )
        while r < R_e:  # 9
            r += 1  # 10
            for i in S:  # 11
                t += 1  # 12
                total[i] += reward(t, i)  # 13
                actions.append(i)
                if t == T and not (r >= R_e and i == S[-1]):
                    return actions, messages
        h_e = sqrt(log(8.0 * len(S) * epoch**2 / beta) / (2.0 * R_e))  # 15
        c_e = log(4.0 * len(S) * epoch**2 / beta) / (R_e * epsilon)  # 16
        noisy = {}
        for i in S:  # 17; r is ceil(R_e) here
            noisy[i] = total[i] / r + rng.laplace(0.0, 1.0 / (epsilon * ceil(R_e)))
            messages.append((t, i, noisy[i]))
        best = max(noisy.values())  # 18
        S = [j for j in S if not best - noisy[j] > 2.0 * h_e + 2.0 * c_e]  # 19-20
        if len(S) == 1 or t == T:  # 21
            break
    while t < T:  # 22
        t += 1
        reward(t, S[0])
        actions.append(S[0])
    return actions, messages
