"""`simulate`: many replicates of one algorithm on one instance, from a notebook or a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from algos import checkpoints as rounds
from algos.checks import check_count
from algos.instances import resolve
from algos.work import MOST_REPLICATES, Work


@dataclass(frozen=True)
class Simulation:
    """What `simulate` returns.

    The columns of the algorithm's family are attributes too: for a bandit, `pulls` is int64
    (replicates, K) at T, and each row sums to T exactly.

    Attributes:
        checkpoints: int64 (C,), rounds, ascending.
        regret: float64 (replicates, C), cumulative regret at the checkpoints; C = 0 in families
            without regret.
        outcome: the family's columns by name, first axis the replicate.
        stream: the identity that seeds the replicates.
    """

    checkpoints: np.ndarray
    regret: np.ndarray
    outcome: Mapping[str, np.ndarray]
    stream: str

    def __getattr__(self, name: str) -> np.ndarray:
        if name != "outcome" and name in self.outcome:
            return self.outcome[name]
        raise AttributeError(f"this simulation has no {name!r}")


def simulate(
    algorithm: str,
    instance: str | Mapping[str, Any],
    *,
    epsilon: float | None = None,
    T: int,
    replicates: int = 1,
    seed: int = 0,
    checkpoints: Iterable[int] | None = None,
    **parameters: Any,
) -> Simulation:
    """Run replicates of one algorithm on one instance in this process.

    A result is a function of (seed, stream, T, replicate) alone; the same cell run through a
    sweep gives the same bits.

    Args:
        algorithm: a registered name.
        instance: a name or a mapping, see `algos.instances`.
        epsilon: privacy budget; inf for no noise; ignored by algorithms without one.
        T: rounds.
        replicates: how many runs; they are numbered from 0.
        seed: an integer ≥ 0.
        checkpoints: rounds at which regret is recorded; default ⌊2^(k/8)⌋ and T.
        parameters: the algorithm's own, such as `alpha`.

    Raises:
        InputError: a value that can't be used; one line says which and what is allowed.

    Example:
        >>> from algos import simulate
        >>> simulate("ucb1", "azize_fig3", T=100, replicates=3).pulls.sum(axis=1).tolist()
        [100, 100, 100]
    """
    work = Work.checked(algorithm, resolve(instance), epsilon, T, parameters)
    if checkpoints is None:
        recorded = kept = rounds.grid(work.T)
    else:
        kept = rounds.check(checkpoints, work.T)
        recorded = np.union1d(kept, [work.T])
    count = check_count("replicates", replicates, 1, MOST_REPLICATES)
    outcome = work.play(
        check_count("seed", seed, 0), range(count), recorded, np.array([work.T], np.int64)
    )
    regret, at = np.zeros((count, 0)), kept[:0]
    if "regret" in outcome:
        regret, at = outcome["regret"], kept
        if len(kept) < len(recorded):
            regret = regret[:, np.searchsorted(recorded, kept)]
    columns = {name: values[:, -1] for name, values in outcome.items() if name != "regret"}
    return Simulation(at, regret, columns, work.stream)
