"""A family from outside the repository: pairs of actions, regret in hindsight, its own column.

In every round the player picks two of K actions and pays the losses of both; the losses of all
actions are seen. The comparator is the best fixed pair in hindsight. A row also holds how often
the pair changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from algos import Algorithm, register
from algos.contents import Content
from algos.dispatch import implements, seam
from algos.environments import benchmark, block_cost, number_of_arms
from algos.families import Column, Family, Outcome, register_family
from algos.instances import Instance, Kind, register_kind
from algos.recorders import RunningRecorder
from algos.traces import RunningTrace, record, release
from algos.values import Numbers

LOSSES = Numbers("rows of K losses in [0, 1], one a round")


class LossTable(NamedTuple):
    """sums[t, j]: what action j has cost in rounds 1 … t."""

    sums: np.ndarray  # float64 (rounds + 1, K)


@seam
def see(env: Any, t: int, n: int, out: np.ndarray) -> None:
    """Add the losses of all actions in the rounds t … t + n - 1 to `out` (K,)."""


@implements(see, LossTable)
def see_table(env: LossTable, t: int, n: int, out: np.ndarray) -> None:
    """A difference of sums."""
    out += env.sums[t - 1 + n] - env.sums[t - 1]


@implements(number_of_arms, LossTable)
def count_actions(env: LossTable) -> int:
    """K."""
    return env.sums.shape[1]


@implements(block_cost, LossTable)
def cost_of_pair(env: LossTable, action: np.ndarray, t: int, n: int) -> float:
    """The losses of both."""
    cost = 0.0
    for j in action:
        cost += env.sums[t - 1 + n, j] - env.sums[t - 1, j]
    return cost


@implements(benchmark, LossTable)
def best_pair(env: LossTable, t: int) -> float:
    """The two smallest sums."""
    least = np.sort(env.sums[t])
    return least[0] + least[1]


class PairTrace(NamedTuple):
    """Regret, and how often the pair changed up to each horizon."""

    regret: RunningTrace
    horizons: np.ndarray  # int64 (H,), ascending
    changes_at: np.ndarray  # out: int64 (H,)
    last: np.ndarray  # scratch: int64 (2,), the pair played last, -1 at the start


@implements(record, PairTrace)
def record_pair(trace: PairTrace, env: Any, t: int, action: np.ndarray, n: int) -> None:
    """A change in round t counts at every horizon from t on."""
    record(trace.regret, env, t, action, n)
    if trace.last[0] >= 0 and (trace.last[0] != action[0] or trace.last[1] != action[1]):
        for h in range(trace.horizons.size):
            if trace.horizons[h] >= t:
                trace.changes_at[h] += 1
    trace.last[0], trace.last[1] = action[0], action[1]


class PairRecorder(RunningRecorder):
    """The running regret, and the changes."""

    def __init__(
        self, instance: Instance, checkpoints: np.ndarray, horizons: np.ndarray, replicates: int
    ) -> None:
        super().__init__(checkpoints, replicates)
        self._horizons = horizons
        self._changes = np.zeros((replicates, len(horizons)), np.int64)
        self._last = np.zeros(2, np.int64)

    def trace(self, i: int) -> Any:
        """The trace of replicate `i`."""
        self._last[:] = -1
        return PairTrace(super().trace(i), self._horizons, self._changes[i], self._last)

    def outcome(self) -> Outcome:
        """`regret` and `changes`."""
        return super().outcome() | {"changes": self._changes}


register_family(
    Family(
        name="pairs",
        summary="two of K actions are played a round, the losses of all are seen",
        action="two different actions, in ascending order",
        sizes=("K",),
        regret="hindsight",
        columns=(Column("changes", "int64", False, "how often the pair changed"),),
        recorder=PairRecorder,
        kinds=("loss_table", "drifting_losses"),
        action_shape=lambda sizes: (2,),
        examples=(
            {"name": "drifting_losses", "rounds": 4000, "K": 4, "step": 0.3},
            {"name": "drifting_losses", "rounds": 20_000, "K": 3, "step": 0.1},
        ),
    )
)


def _sizes(env: LossTable) -> dict[str, int]:
    return {"K": env.sums.shape[1]}


def _table(given: Mapping[str, Any]) -> Content:
    return {"name": "loss_table", "losses": LOSSES.table("losses", given["losses"], depth=2)}


def _summed(losses: np.ndarray) -> LossTable:
    return LossTable(np.concatenate([np.zeros((1, losses.shape[1])), np.cumsum(losses, axis=0)]))


register_kind(
    "loss_table",
    Kind(
        {"losses": 2},
        _table,
        lambda content: _summed(np.asarray(content["losses"])),
        sizes=_sizes,
        rounds=lambda content: len(content["losses"]),
    ),
)


def _drifting(given: Mapping[str, Any]) -> Content:
    step = Numbers("a number in [0, 1]").one("step", given["step"])
    rounds = int(Numbers("a number of rounds", 1, 1e6).one("rounds", given["rounds"]))
    return {"name": "drifting_losses", "rounds": rounds, "step": step, "K": given["K"]}


def _middle(content: Content) -> LossTable:
    """All losses one half: what the draws vary."""
    return _summed(np.full((content["rounds"], content["K"]), 0.5))


def _drawn(content: Content, rng: np.random.Generator) -> LossTable:
    """Losses with means 1/2 ± step, another sign for each action and quarter of the rounds."""
    signs = np.repeat(
        rng.choice([-1.0, 1.0], (4, content["K"])), -(-content["rounds"] // 4), axis=0
    )
    means = 0.5 + content["step"] * signs[: content["rounds"]]
    return _summed((rng.random(means.shape) < means).astype(float))


register_kind(
    "drifting_losses",
    Kind(
        {"rounds": 0, "step": 0, "K": 0},
        _drifting,
        _middle,
        draw=_drawn,
        takes={"K": (2, 1000)},
        sizes=_sizes,
        rounds=lambda content: content["rounds"],
    ),
)


@njit(cache=True)
def noisy_pair(env, rng, trace, T, epsilon):
    """The two smallest noisy sums of the last epoch; epochs double."""
    K = number_of_arms(env)
    pair = np.array([0, 1])
    t, length = 0, 1
    while t < T:
        n = min(length, T - t)
        losses = np.zeros(K)
        see(env, t + 1, n, losses)
        record(trace, env, t + 1, pair, n)
        t += n
        if n == length:
            for j in range(K):
                losses[j] += rng.laplace(0.0, K / epsilon)
                release(trace, t, j, losses[j])
            order = np.argsort(losses)
            pair = np.sort(order[:2])
        length *= 2


register(
    Algorithm(
        name="noisy_pair",
        family="pairs",
        kernel=noisy_pair,
        source="tests",
        summary="doubling epochs, the two smallest noisy sums",
        regret="no theorem",
        guarantee="ε-DP",
        uses_epsilon=True,
        skips_ahead=True,
        cost=lambda T, sizes, epsilon: 100.0 * sizes["K"] * (1.0 + np.log2(T)),
        version=1,
    )
)
