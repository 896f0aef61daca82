"""A family of its own in a user's module: pairs of arms, regret in hindsight, a column of its own.

In every round the learner names two of K arms and pays the mean of their losses; it sees the losses
of all. Losses are fixed in advance: arm j loses before[j] in rounds 1 … at, then after[j].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from algos import Algorithm, register
from algos.blocks import opened, play
from algos.dispatch import implements
from algos.environments import benchmark, block_cost
from algos.errors import InputError
from algos.families import Column, Family, register_family
from algos.kinds import Kind, register_kind
from algos.random.continuous import laplace
from algos.random.generator import uniform
from algos.recorders import RunningRecorder
from algos.traces import RunningBlock, RunningTrace, record, release


class Losses(NamedTuple):
    """Losses that change once."""

    before: np.ndarray  # float64 (K,)
    after: np.ndarray  # float64 (K,)
    at: int


@njit(cache=True)
def paid(env, arm, t):
    """What one arm loses in rounds 1 … t."""
    return env.before[arm] * min(t, env.at) + env.after[arm] * max(0, t - env.at)


@implements(block_cost, Losses)
def cost_of_a_pair(env, action, t, n):
    """The mean loss of both arms over the block."""
    total = 0.0
    for i in range(2):
        total += paid(env, action[i], t + n - 1) - paid(env, action[i], t - 1)
    return total / 2


@implements(benchmark, Losses)
def best_pair(env, t):
    """The best fixed pair: the two arms that have lost least."""
    first, second = np.inf, np.inf
    for arm in range(env.before.size):
        lost = paid(env, arm, t)
        if lost < first:
            first, second = lost, first
        elif lost < second:
            second = lost
    return (first + second) / 2


class DuelTrace(NamedTuple):
    """Regret, and how often the pair had changed by each horizon."""

    regret: RunningTrace
    horizons: np.ndarray  # int64 (H,)
    changes_at: np.ndarray  # out: int64 (H,)
    state: np.ndarray  # scratch: int64 (4,): the last pair, its changes, the next horizon


class DuelBlock(NamedTuple):
    """What the replicates of a block record."""

    regret: RunningBlock
    horizons: np.ndarray  # int64 (H,)
    changes_at: np.ndarray  # out: int64 (R, H)
    state: np.ndarray  # scratch: int64 (4,)


@implements(opened, DuelBlock)
def open_duel(block, i):
    """Replicate `i`."""
    block.state[:] = 0
    return DuelTrace(opened(block.regret, i), block.horizons, block.changes_at[i], block.state)


@implements(record, DuelTrace)
def record_pair(trace, env, t, action, n):
    """Count a change of the pair, and pass the block on to the regret."""
    record(trace.regret, env, t, action, n)
    if t > 1 and (trace.state[0] != action[0] or trace.state[1] != action[1]):
        trace.state[2] += 1
    trace.state[0], trace.state[1] = action[0], action[1]
    while trace.state[3] < trace.horizons.size and trace.horizons[trace.state[3]] < t + n:
        trace.changes_at[trace.state[3]] = trace.state[2]
        trace.state[3] += 1


class Recorder:
    """Records a block of replicates."""

    def __init__(self, instance, checkpoints, horizons, replicates):
        self.regret = RunningRecorder(checkpoints, replicates)
        changes = np.zeros((replicates, len(horizons)), np.int64)
        self.block = DuelBlock(self.regret.block, horizons, changes, np.zeros(4, np.int64))

    def outcome(self):
        """Regret and changes."""
        return {**self.regret.outcome(), "changes": self.block.changes_at}


def resolve(given: dict[str, Any]) -> dict[str, Any]:
    """Arm j loses 0.2 + gap · j at first and in the opposite order later."""
    K, gap, at = int(given["K"]), float(given["gap"]), int(given["at"])
    if not 0 <= 0.2 + gap * (K - 1) <= 1:
        raise InputError("gap", gap, f"losses in [0, 1] with K = {K}")
    losses = [round(0.2 + gap * j, 12) for j in range(K)]
    return {"name": "duel_losses", "before": losses, "after": losses[::-1], "at": at}


def build(content) -> Losses:
    """The environment."""
    return Losses(np.array(content["before"]), np.array(content["after"]), int(content["at"]))


register_kind(
    "duel_losses",
    Kind({"before": 1, "after": 1, "at": 0}, lambda given: {"name": "duel_losses", **given}, build,
         sizes=lambda env: {"K": env.before.size}),
)  # fmt: skip
register_kind(
    "duel_switch",
    Kind({"gap": 0, "at": 0, "K": 0}, resolve, takes={"K": (3, 100)}),
)
register_family(
    Family(
        name="duels",
        summary="two arms a round, the losses of all are seen",
        action="a pair of arms",
        sizes=("K",),
        regret="hindsight",
        columns=(Column("changes", "int64", False, "how often the pair of arms changed by T"),),
        recorder=Recorder,
        kinds=("duel_losses", "duel_switch"),
        action_shape=lambda sizes: (2,),
        examples=({"name": "duel_switch", "gap": 0.1, "at": 50, "K": 4},),
    )
)


class NoisyPair(NamedTuple):
    """The parameters of `noisy_pair`."""

    epsilon: float


@implements(play, NoisyPair)
def noisy_pair(algorithm, env, rng, trace, T):
    """In epochs of doubling length: the two arms with the least noisy losses of the last one."""
    K, scale = env.before.size, env.before.size / algorithm.epsilon
    pair = np.array([0, 1])
    noisy = np.empty(K)
    t, length = 0, 1
    while t < T:
        n = min(length, T - t)
        record(trace, env, t + 1, pair, n)
        for arm in range(K):
            noisy[arm] = paid(env, arm, t + n) - paid(env, arm, t) + laplace(rng, scale)
            release(trace, t + n, arm, noisy[arm])
        t += n
        pair[0] = np.argmin(noisy)
        noisy[pair[0]] = np.inf
        pair[1] = np.argmin(noisy)
        length *= 2


class RandomPair(NamedTuple):
    """It has no parameters."""


@implements(play, RandomPair)
def random_pair(algorithm, env, rng, trace, T):
    """Two different arms at random, block after block of ten rounds."""
    K = env.before.size
    t = 0
    while t < T:
        n = min(10, T - t)
        first = int(uniform(rng) * K)
        second = (first + 1 + int(uniform(rng) * (K - 1))) % K
        record(trace, env, t + 1, (first, second), n)
        t += n


register(
    Algorithm(
        name="noisy_pair",
        family="duels",
        form=NoisyPair,
        source="tests",
        summary="leaders of the last epoch",
        regret="no theorem",
        guarantee="ε-DP",
        uses_epsilon=True,
        doubling=True,
        cost=lambda T, sizes, epsilon: 50.0 * sizes["K"] * np.log2(T),
        version=1,
    )
)
register(
    Algorithm(
        name="random_pair",
        family="duels",
        form=RandomPair,
        source="tests",
        summary="for comparison",
        regret="O(T)",
        cost=lambda T, sizes, epsilon: 2.0 * T,
        version=1,
    )
)
