"""The algorithms in NumPy, vectorised over replicates: arrays (R, K), a Python loop over rounds.

The plain way to many replicates without a compiler. Algorithms that choose in every round take one
pass of array operations a round; those that commit go from one episode, epoch or batch of every
replicate to the next. Indices are formed anew for all arms, as array code does.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray
Outcome = dict[str, Array]
ALPHA = 3.1  # of the AdaP indices
REL, FAIL = 0.1, 0.05  # α and β of the stopping rules
CHUNK = 1024  # rounds that a stopping rule looks at together


def grid(T: int) -> Array:
    """⌊2^(k/8)⌋ up to T, and T."""
    powers = np.floor(2.0 ** (np.arange(8 * T.bit_length() + 1) / 8.0)).astype(np.int64)
    return np.unique(np.append(powers[powers <= T], T))


class Run:
    """R replicates on K Bernoulli arms: what was pulled, what it paid, regret at the checkpoints.

    `n`, `total` and `mean` are (R, K); `t` holds the rounds that each replicate has played.
    """

    def __init__(self, means: Array, T: int, epsilon: float, R: int, rng: np.random.Generator):
        self.means, self.T, self.epsilon, self.R, self.rng = means, T, epsilon, R, rng
        self.K, self.rows = means.size, np.arange(R)
        self.gaps, self.grid = means.max() - means, grid(T)
        self.due = set(self.grid.tolist())
        self.regret = np.zeros((R, self.grid.size))
        self.n, self.total, self.mean = (np.zeros((R, self.K)) for _ in range(3))
        self.sum, self.t = np.zeros(R), np.zeros(R, np.int64)

    def shape(self) -> tuple[int, int]:
        """(R, K)."""
        return self.R, self.K

    def laplace(self, scale: float | Array, size: tuple[int, ...] | None = None) -> Array:
        """Fresh noise."""
        return self.rng.laplace(0.0, scale, size)

    def argmax(self, index: Array) -> Array:
        """The place of each row's largest; ties by uniform numbers, drawn when there are any."""
        top = index == index.max(axis=1, keepdims=True)
        if np.count_nonzero(top) == len(index):
            return top.argmax(axis=1)
        return (top * (1.0 - self.rng.random(index.shape))).argmax(axis=1)

    def play(self, t: int, arms: Array) -> None:
        """Round t: one arm in each replicate."""
        self.n[self.rows, arms] += 1.0
        if t in self.due:
            self.regret[:, np.searchsorted(self.grid, t)] = self.n @ self.gaps

    def pull(self, t: int, arms: Array) -> None:
        """Play and see the reward."""
        self.play(t, arms)
        self.total[self.rows, arms] += self.rng.random(self.R) < self.means[arms]
        self.mean[self.rows, arms] = self.total[self.rows, arms] / self.n[self.rows, arms]

    def first_pulls(self) -> None:
        """Each arm once."""
        for j in range(self.K):
            self.pull(j + 1, np.full(self.R, j))

    def block(self, arms: Array, length: Array) -> None:
        """The next `length` rounds of each replicate, one arm in each."""
        rounds = self.grid - self.t[:, None]
        inside = (rounds > 0) & (rounds <= length[:, None])
        value = self.sum[:, None] + self.gaps[arms][:, None] * rounds
        self.regret[inside] = value[inside]
        self.sum += self.gaps[arms] * length
        self.n[self.rows, arms] += length
        self.t += length

    def outcome(self) -> Outcome:
        """What a family records."""
        return {"regret": self.regret, "pulls": self.n}


def entropy(p: Array) -> Array:
    """-p ln p - (1 - p) ln(1 - p)."""
    inside = np.clip(p, 1e-300, 1.0 - 1e-16)
    value = -p * np.log(inside) - (1 - p) * np.log1p(-inside)
    return np.where((p > 0) & (p < 1), value, 0.0)


def kl_upper(p: Array, level: Array, guess: Array | None = None) -> Array:
    """-ln(1 - q) of the largest q with d(p, q) ≤ level, by Newton in all places at once."""
    bound, one = level + entropy(p), np.maximum(1.0 - p, 1e-300)
    z = bound / one
    if guess is not None:
        z = np.where(np.exp(-guess) < 0.999 * one, guess, z)
    for _ in range(60):
        rest = np.exp(-z)
        ratio = rest / (1.0 - rest)
        move = (one * z - p * np.log1p(-rest) - bound) / (one - p * ratio)
        z = z - move
        if (np.abs(move) <= 1e-8 * z)[p < 1.0].all():
            break
    return np.where(p < 1.0, np.where(p > 0.0, z, level), math.inf)


def ucb1(run: Run) -> None:
    """mean + √(2 ln t / n)."""
    run.first_pulls()
    for t in range(run.K + 1, run.T + 1):
        run.pull(t, run.argmax(run.mean + np.sqrt(2.0 * math.log(t) / run.n)))


def kl_ucb(run: Run) -> None:
    """The largest q with n d(mean, q) ≤ ln t; equal states tie, whatever Newton started from."""
    run.first_pulls()
    z = np.zeros(run.shape())
    for t in range(run.K + 1, run.T + 1):
        z = kl_upper(run.mean, math.log(t) / run.n, z)
        run.pull(t, run.argmax(np.round(z, 9)))
        z[np.isinf(z)] = 0.0


def moss(run: Run) -> None:
    """mean + √(max{0, ln(T / (K n))} / n)."""
    run.first_pulls()
    share = run.T / run.K
    for t in range(run.K + 1, run.T + 1):
        run.pull(t, run.argmax(run.mean + np.sqrt(np.log(np.maximum(share / run.n, 1.0)) / run.n)))


def imed_index(mean: Array, n: Array) -> Array:
    """n d(mean, best mean) + ln n, its sign turned."""
    best = mean.max(axis=1, keepdims=True)
    below = np.minimum(mean, best)
    cross = below * np.log(np.maximum(best, 1e-300)) + (1 - below) * np.log1p(-best)
    d = np.where(mean < best, -entropy(mean) - cross, 0.0)
    return -(n * d + np.log(n))


def imed(run: Run) -> None:
    """The least n d(mean, best mean) + ln n."""
    run.first_pulls()
    for t in range(run.K + 1, run.T + 1):
        run.pull(t, run.argmax(imed_index(run.mean, run.n)))


def thompson_beta(run: Run) -> None:
    """The largest posterior draw."""
    for t in range(1, run.T + 1):
        hits = run.total + 1.0
        run.pull(t, run.argmax(run.rng.beta(hits, run.n - run.total + 1.0)))


def naive_dp_ucb(run: Run) -> None:
    """UCB1 with fresh noise on every mean."""
    run.first_pulls()
    scale = run.K * float(run.T) / run.epsilon
    for t in range(run.K + 1, run.T + 1):
        noisy = run.mean + run.laplace(scale / run.n)
        run.pull(t, run.argmax(noisy + np.sqrt(2.0 * math.log(t) / run.n)))


def dp_ucb(run: Run) -> None:
    """UCB1 on sums from one tree per arm; a pull takes one draw."""
    L = run.T.bit_length()
    scale = L / run.epsilon
    tail = math.log(2.0 / 0.1) + math.log(run.K * float(run.T))
    B = scale * math.sqrt(max(float(L), tail)) * math.sqrt(8.0 * tail)
    tiles = np.zeros((run.R, run.K, L))
    noisy = np.zeros(run.shape())

    def pull(t: int, arms: Array) -> None:
        run.pull(t, arms)
        n = run.n[run.rows, arms].astype(np.int64)
        larger = n & (n - 1)
        noise = run.laplace(scale, (run.R,))
        digit = np.frexp(larger & -larger)[1] - 1
        noise += np.where(larger > 0, tiles[run.rows, arms, digit], 0.0)
        tiles[run.rows, arms, np.frexp(n & -n)[1] - 1] = noise
        noisy[run.rows, arms] = (run.total[run.rows, arms] + noise + B) / n

    for j in range(run.K):
        pull(j + 1, np.full(run.R, j))
    for t in range(run.K + 1, run.T + 1):
        pull(t, run.argmax(noisy + np.sqrt(2.0 * math.log(t) / run.n)))


def lazy(run: Run, index: Callable[[Array, Array, float], Array]) -> None:
    """A choice every round; a batch of 2^(r+1) rewards is one binomial, drawn when it is full."""
    mean, O = np.zeros(run.shape()), np.ones(run.shape())
    left = np.full(run.shape(), 2.0)  # rounds until the next batch is full
    for j in range(run.K):
        run.play(j + 1, np.full(run.R, j))
    mean[:] = run.rng.binomial(1, run.means, run.shape()) + run.laplace(
        1.0 / run.epsilon, run.shape()
    )
    for t in range(run.K + 1, run.T + 1):
        arms = run.argmax(index(mean, O, math.log(t)))
        run.play(t, arms)
        left[run.rows, arms] -= 1.0
        full = np.flatnonzero(left[run.rows, arms] == 0.0)
        if full.size:
            a = arms[full]
            n = 2.0 * O[full, a]
            sums = run.rng.binomial(n.astype(np.int64), run.means[a])
            mean[full, a] = (sums + run.laplace(1.0 / run.epsilon, full.shape)) / n
            O[full, a], left[full, a] = n, 2.0 * n


def anytime_lazy_ucb(run: Run) -> None:
    """mean + √(3 ln t / O) + 3 ln t / (ε O)."""
    epsilon = run.epsilon
    lazy(run, lambda mean, O, log: mean + np.sqrt(3 * log / O) + 3 * log / (epsilon * O))


def lazy_dp_ts(run: Run) -> None:
    """The largest draw of the optimistic posteriors."""

    def draw(mean: Array, O: Array, log: float) -> Array:
        high = np.clip(mean + 3 * log / (run.epsilon * O), 0.0, 1.0)
        return run.rng.beta(high * O + 1.0, (1.0 - high) * O + 1.0)

    lazy(run, draw)


def adap(run: Run, index: Callable[[Array, Array, Array], Array]) -> None:
    """Episodes that double an arm's pulls, a binomial each; `index` of means, n, ln t (R, 1)."""
    n, N = np.ones(run.shape()), np.ones(run.shape(), np.int64)
    mean = run.rng.binomial(1, run.means, run.shape()) + run.laplace(1.0 / run.epsilon, run.shape())
    for j in range(run.K):
        run.block(np.full(run.R, j), np.ones(run.R, np.int64))
    while (run.t < run.T).any():
        arms = run.argmax(index(mean, n, np.log(run.t + 1.0)[:, None]))
        whole = N[run.rows, arms]
        length = np.minimum(whole, run.T - run.t)
        run.block(arms, length)
        full = np.flatnonzero(length == whole)
        a, samples = arms[full], length[full]
        sums = run.rng.binomial(samples, run.means[a])
        mean[full, a] = sums / samples + run.laplace(1.0 / (run.epsilon * samples))
        n[full, a] = samples
        N[full, a] += samples


def bonus(run: Run, n: Array, log: Array) -> Array:
    """The private indices' ε term."""
    return ALPHA * log / (run.epsilon * n)


def adap_ucb(run: Run) -> None:
    """AdaP with UCB's index."""
    adap(run, lambda m, n, log: m + np.sqrt(ALPHA * log / (2 * n)) + bonus(run, n, log))


def adap_klucb(run: Run) -> None:
    """AdaP with KL-UCB's index."""
    adap(
        run,
        lambda m, n, log: kl_upper(np.clip(m + bonus(run, n, log), 0.0, 1.0), ALPHA * log / n),
    )


def adap_moss(run: Run) -> None:
    """AdaP with MOSS's index."""
    share = run.T / run.K
    adap(
        run,
        lambda m, n, log: m + np.sqrt(np.log(np.maximum(share / n, 1.0)) / n) + bonus(run, n, log),
    )


def adap_imed(run: Run) -> None:
    """AdaP with IMED's index."""
    adap(run, lambda m, n, log: imed_index(np.clip(m + bonus(run, n, log), 0.0, 1.0), n))


def eliminate(run: Run, epsilon: float) -> None:
    """sajed2019 Algorithm 3, epoch by epoch; checkpoints from each arm's place in a pass."""
    alive = np.ones(run.shape(), bool)
    for epoch in range(1, 64):
        left = run.T - run.t
        S = alive.sum(axis=1)
        Delta, square = 0.5**epoch, run.T * float(epoch) ** 2  # β = 1/T
        log8, log4 = np.log(8.0 * S * square), np.log(4.0 * S * square)
        R = np.maximum(32.0 * log8 / Delta**2, 8.0 * log4 / (epsilon * Delta)) + 1.0
        passes = np.minimum(np.ceil(R), run.T).astype(np.int64)
        many = S > 1
        length = np.where(many, np.minimum(passes * S, left), left)
        if not length.any():
            return
        place = np.where(alive, alive.cumsum(axis=1) - 1, run.K)

        def plays(m: Array, place: Array = place, S: Array = S) -> Array:
            """Of each arm in the cycle's first m (R, ·) rounds: (R, ·, K)."""
            whole, rest = np.divmod(m, S[:, None])
            return whole[:, :, None] * (place < run.K)[:, None] + (
                place[:, None] < rest[:, :, None]
            )

        rounds = run.grid - run.t[:, None]
        inside = (rounds > 0) & (rounds <= length[:, None])
        value = run.sum[:, None] + plays(np.where(inside, rounds, 0)) @ run.gaps
        run.regret[inside] = value[inside]
        counts = plays(length[:, None])[:, 0]
        run.n += counts
        run.sum += counts @ run.gaps
        run.t += length
        means = run.rng.binomial(passes[:, None], run.means) / passes[:, None]
        if epsilon < math.inf:
            means += run.laplace(1.0 / (epsilon * passes[:, None]), run.shape())
        means[~alive] = -math.inf
        far = 2.0 * np.sqrt(log8 / (2.0 * R)) + 2.0 * log4 / (R * epsilon)
        decided = many & (passes <= left // S)
        near = means.max(axis=1, keepdims=True) - means <= far[:, None]
        alive &= near | ~decided[:, None]


def dp_se(run: Run) -> None:
    """Successive elimination by noisy means."""
    eliminate(run, run.epsilon)


def successive_elimination(run: Run) -> None:
    """Successive elimination."""
    eliminate(run, math.inf)


def observe(run: Run, totals: Array) -> Array:
    """Add a round's rewards of all actions; the rewards."""
    rewards = run.rng.random(run.shape()) < run.means
    totals += rewards
    return rewards


def ftl(run: Run) -> None:
    """The largest sum so far; a tie stays as it is while no sum changes."""
    totals = np.zeros(run.shape())
    leader = run.argmax(totals)
    for t in range(1, run.T + 1):
        run.play(t, leader)
        changed = observe(run, totals).any(axis=1)
        leader = np.where(changed, run.argmax(totals), leader)


def decreasing_hedge(run: Run) -> None:
    """Exponential weights, one action by inversion."""
    totals = np.zeros(run.shape())
    for t in range(1, run.T + 1):
        rate = 2.0 * math.sqrt(math.log(run.K) / t)
        mass = np.exp(rate * (totals - totals.max(axis=1, keepdims=True))).cumsum(axis=1)
        u = run.rng.random((run.R, 1)) * mass[:, -1:]
        run.play(t, np.minimum((mass <= u).sum(axis=1), run.K - 1))
        observe(run, totals)


def noisy_leader(run: Run, scale: float) -> None:
    """Doubling epochs, the noisy leader of the last."""
    leader, length = np.zeros(run.R, np.int64), 1
    while run.t[0] < run.T:
        n = min(length, run.T - int(run.t[0]))
        run.block(leader, np.full(run.R, n))
        sums = run.rng.binomial(n, run.means, run.shape())
        leader = run.argmax(sums + run.laplace(scale, run.shape()))
        length *= 2


def ftnl(run: Run) -> None:
    """Lap(K/ε) on every sum."""
    noisy_leader(run, run.K / run.epsilon)


def rnm_ftnl(run: Run) -> None:
    """Lap(1/ε) on every sum."""
    noisy_leader(run, 1.0 / run.epsilon)


def barrier(t: Array, log: Array) -> Array:
    """t h_t (1 + 1/α) with R = 1."""
    return np.sqrt(2.0 * t * log) * (1.0 + 1.0 / REL)


def stop(
    run: Run,
    rounds: Callable[[int], Array],
    threshold: Callable[[Array, int], tuple[Array, Array]],
    scale: float,
) -> Outcome:
    """The first of the tested rounds in which |S_t| reaches its threshold, chunk by chunk.

    Args:
        rounds: the tested rounds after t, a chunk; empty at the end.
        threshold: for (rounds, replicates) the fixed part and the noisy rest (replicates, rounds).
        scale: of the noise on the estimate's sum.
    """
    up = 0.5 * (1.0 + run.means[0])
    time, estimate = np.full(run.R, float(run.T)), np.zeros(run.R)
    halted = np.zeros(run.R, bool)
    B = run.laplace(12.0 / run.epsilon, (run.R,)) if scale else np.zeros(run.R)
    S, t, going = np.zeros(run.R), 0, np.arange(run.R)
    while going.size and (at := rounds(t)).size:
        steps, shape = np.diff(at, prepend=t), (going.size, at.size)
        if steps.max() > 1:
            ups = run.rng.binomial(steps, up, shape)
        else:
            ups = run.rng.random(shape) < up
        sums = S[going, None] + np.cumsum(2.0 * ups - steps, axis=1)
        fixed, noise = threshold(at.astype(float), going.size)
        over = np.abs(sums) >= fixed + noise + B[going, None]
        first, done = over.argmax(axis=1), over.any(axis=1)
        who = going[done]
        halted[who], time[who] = True, at[first[done]]
        S[going] = sums[:, -1]
        S[who] = sums[done, first[done]]
        estimate[who] = (S[who] + (run.laplace(scale, who.shape) if scale else 0.0)) / time[who]
        going, t = going[~done], int(at[-1])
    return {"stop_time": time, "estimate": estimate, "halted": halted}


def nas(run: Run) -> Outcome:
    """A test in every round."""
    return stop(
        run,
        lambda t: np.arange(t + 1, min(t + CHUNK, run.T) + 1),
        lambda t, count: (barrier(t, np.log(4.0 * t * t / FAIL)), np.zeros((count, 1))),
        0.0,
    )


def private(run: Run, rounds: Callable[[int], Array], time: Callable[[Array], Array]) -> Outcome:
    """The sparse vector technique; `time` says what its logarithms hold for a round."""
    sigma, sigma3 = 12.0 / run.epsilon, 4.0 / run.epsilon
    fixed = (sigma + sigma3 / REL) * math.log(4.0 / FAIL)

    def threshold(t: Array, count: int) -> tuple[Array, Array]:
        square = time(t) ** 2
        c = fixed + sigma * np.log(8.0 * square / FAIL)
        return barrier(t, np.log(16.0 * square / FAIL)) + c, run.laplace(sigma, (count, t.size))

    return stop(run, rounds, threshold, sigma3)


def dp_nas(run: Run) -> Outcome:
    """A noisy test in every round."""
    return private(run, lambda t: np.arange(t + 1, min(t + CHUNK, run.T) + 1), lambda t: t)


def dp_exp_nas(run: Run) -> Outcome:
    """A noisy test at powers of two."""
    return private(
        run, lambda t: np.array([u for u in [max(2 * t, 2)] if u <= run.T], np.int64), np.log2
    )


BY_ROUND = {
    **{f.__name__: f for f in (ucb1, kl_ucb, moss, imed, thompson_beta, naive_dp_ucb, dp_ucb)},
    **{f.__name__: f for f in (anytime_lazy_ucb, lazy_dp_ts, ftl, decreasing_hedge)},
}
BY_BLOCK = {
    **{f.__name__: f for f in (adap_ucb, adap_klucb, adap_moss, adap_imed, dp_se)},
    **{f.__name__: f for f in (successive_elimination, ftnl, rnm_ftnl, nas, dp_nas, dp_exp_nas)},
}


def play(
    algorithm: str, means: list[float], T: int, epsilon: float, replicates: int, seed: int
) -> Outcome:
    """What R replicates record, by column, first axis the replicate."""
    run = Run(np.array(means), T, epsilon, replicates, np.random.default_rng(seed))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = (BY_ROUND | BY_BLOCK)[algorithm](run)
    return run.outcome() if found is None else found
