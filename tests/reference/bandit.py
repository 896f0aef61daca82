"""The bandit algorithms as their papers print them: plain Python, one round at a time.

Each function plays `T` rounds on `K` arms. `reward(t, arm)` is asked once per round, t = 1, 2, …
Every random choice comes from `rng` in a fixed order, so a kernel that is handed an equal
generator and an equal reward table must return the same actions and the same messages:

- one `rng.laplace(0.0, scale)` per released number, at the moment it is released, also when
  epsilon is infinite (the scale is then 0);
- one `rng.random()` per arg max that is tied (exact equality), over the tied arms in ascending
  order; anytime_lazy_ucb draws a whole order of the arms instead and keeps it (see there).

Returned are the actions (T arms, 0-based) and the messages `(t, arm, value)`: the noisy means
that leave the mechanism, with the round at whose end they do. Algorithms without a mechanism
send none. Episodes, epochs and batches that T cuts short release nothing.
"""

from collections.abc import Callable
from math import ceil, log, sqrt

from numpy.random import Generator

from reference.common import Message, RewardSource, Trajectory, kl_upper, uniform_argmax


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


def adap(
    index: Callable[[float, float, int], float],
    reward: RewardSource, K: int, T: int, rng: Generator, epsilon: float,
) -> Trajectory:  # fmt: skip
    """azize2022 Algorithm 1 for an index I(private mean, log t_ell, n).

    n is the number of samples behind the private mean: those of the arm's last episode.
    """
    actions: list[int] = []
    messages: list[Message] = []
    N = [0] * K
    n = [0] * K
    private_mean = [0.0] * K

    def release(t: int, a: int, episode_sum: float, samples: int) -> None:
        n[a] = samples
        private_mean[a] = episode_sum / samples + rng.laplace(0.0, 1.0 / (epsilon * samples))
        messages.append((t, a, private_mean[a]))

    t = 0
    for a in range(K):  # 3
        t += 1
        actions.append(a)
        N[a] = 1
        release(t, a, reward(t, a), 1)
    while t < T:  # 4
        t_ell = t + 1  # 5
        indices = [index(private_mean[a], log(t_ell), n[a]) for a in range(K)]
        A = uniform_argmax(indices, rng)  # 6
        N_before = N[A]
        episode_sum = 0.0
        while N[A] < 2 * N_before and t < T:  # 7
            t += 1
            actions.append(A)
            episode_sum += reward(t, A)
            N[A] += 1
        if N[A] == 2 * N_before:
            release(t, A, episode_sum, N_before)
    return actions, messages


def adap_ucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, alpha: float = 3.1
) -> Trajectory:
    """AdaP-UCB: azize2022 Algorithm 1 with equation (7)."""

    def index(private_mean: float, log_t: float, n: int) -> float:
        return private_mean + sqrt(alpha * log_t / (2.0 * n)) + alpha * log_t / (epsilon * n)

    return adap(index, reward, K, T, rng, epsilon)


def adap_klucb(
    reward: RewardSource, K: int, T: int, rng: Generator, *, epsilon: float, alpha: float = 3.1
) -> Trajectory:
    """AdaP-KLUCB: azize2022 Algorithm 1 with equation (8)."""

    def index(private_mean: float, log_t: float, n: int) -> float:
        clipped = min(max(0.0, private_mean + alpha * log_t / (epsilon * n)), 1.0)
        return kl_upper(clipped, alpha * log_t / n)

    return adap(index, reward, K, T, rng, epsilon)


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
