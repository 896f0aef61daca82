"""`simulate`: one call from a notebook, a test, a benchmark or a sweep's actor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algos import checkpoints as rounds
from algos.checks import check_count, is_number
from algos.errors import InputError
from algos.families import FAMILIES, Outcome
from algos.identity import generator, stream_id
from algos.instances import Instance, resolve
from algos.registry import Algorithm, Value
from algos.registry import algorithm as registered
from algos.traces import ActionTrace

MOST_REPLICATES = 10_000_000  # of one cell


@dataclass(frozen=True)
class Work:
    """An algorithm with everything its replicates depend on but the seed: one stream."""

    algorithm: Algorithm
    instance: Instance
    epsilon: float | None
    T: int
    parameters: Mapping[str, Value]
    stream: str = field(init=False)

    def __post_init__(self) -> None:
        name = stream_id(
            self.algorithm, self.parameters, self.instance.definition, self.epsilon, self.T
        )
        object.__setattr__(self, "stream", name)

    @classmethod
    def checked(
        cls,
        algorithm: object,
        instance: Instance,
        epsilon: object,
        T: object,
        parameters: Mapping[str, Any],
    ) -> Work:
        """The work these values state.

        Raises:
            InputError: any of them is unknown or out of range.
        """
        entry = registered(algorithm)
        if entry.family not in instance.families:
            allowed = f"an instance of the family {entry.family} (for {entry.name})"
            raise InputError("instance", instance.label, allowed)
        return cls(
            entry,
            instance,
            entry.check_epsilon(epsilon),
            check_T(T, instance, FAMILIES[entry.family].least_T(instance)),
            entry.check_parameters(parameters),
        )

    def play(
        self, seed: int, replicates: Iterable[int], checkpoints: np.ndarray, horizons: np.ndarray
    ) -> Outcome:
        """Outcomes of the numbered replicates, bit for bit the same in any order or grouping.

        Args:
            seed: the sweep's seed, ≥ 0.
            replicates: their numbers, from 0.
            checkpoints: int64 (C,), ascending, containing the horizons.
            horizons: int64 (H,), ascending, the last equal to T.
        """
        family = FAMILIES[self.algorithm.family]
        return family.play(
            self.algorithm,
            self.instance.environment,
            self.algorithm.arguments(self.T, self.epsilon, self.parameters),
            checkpoints,
            horizons,
            [generator(seed, self.stream, replicate) for replicate in replicates],
        )


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


@dataclass(frozen=True)
class Replay:
    """One replicate, action for action.

    Attributes:
        actions: int64 (T,), the arm played in each round.
        message_round, message_arm, message_value: (M,), every number a private mechanism
            released, in order: the round after which it is known, its arm, the value.
    """

    actions: np.ndarray
    message_round: np.ndarray
    message_arm: np.ndarray
    message_value: np.ndarray


def check_T(T: object, instance: Instance, least: int) -> int:
    """T as int64 rounds (1e7 is an integer), at least `least`.

    Raises:
        InputError: no integer, fewer rounds than the family needs, or more than can be played.
    """
    longest = rounds.LONGEST if instance.rounds is None else instance.rounds
    named = f"K = {least}" if least == instance.K > 1 else str(least)
    allowed = f"an integer from {named} to {longest}"
    if not is_number(T) or not math.isfinite(T) or int(T) != T or not least <= T <= longest:
        raise InputError("T", T, allowed)
    return int(T)


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
    outcome = work.play(
        check_count("seed", seed, 0),
        range(check_count("replicates", replicates, 1, MOST_REPLICATES)),
        recorded,
        np.array([work.T], np.int64),
    )
    count = len(next(iter(outcome.values())))
    regret, at = np.zeros((count, 0)), kept[:0]
    if "regret" in outcome:
        regret, at = outcome["regret"][:, np.searchsorted(recorded, kept)], kept
    columns = {name: values[:, -1] for name, values in outcome.items() if name != "regret"}
    return Simulation(at, regret, columns, work.stream)


def replay(
    algorithm: str,
    instance: str | Mapping[str, Any],
    *,
    epsilon: float | None = None,
    T: int,
    seed: int = 0,
    replicate: int = 0,
    rng: np.random.Generator | None = None,
    **parameters: Any,
) -> Replay:
    """Play one replicate and keep every action and every released number (T up to 1e8).

    `rng` replaces the replicate's own generator. Other arguments and errors as `simulate`.
    """
    work = Work.checked(algorithm, resolve(instance), epsilon, T, parameters)
    if work.T > 10**8:
        raise InputError("T", T, "at most 100000000 for a replay, which keeps every action")
    if rng is None:
        rng = generator(check_count("seed", seed, 0), work.stream, replicate)
    state = rng.bit_generator.state
    room = 1024
    while True:  # the number of messages is known only afterwards
        rng.bit_generator.state = state
        trace = ActionTrace(
            np.zeros(work.T, np.int64),
            np.zeros(room, np.int64),
            np.zeros(room, np.int64),
            np.zeros(room),
            np.zeros(1, np.int64),
        )
        arguments = work.algorithm.arguments(work.T, work.epsilon, work.parameters)
        work.algorithm.kernel(work.instance.environment, rng, trace, *arguments)
        count = int(trace.seen[0])
        if count <= room:
            break
        room = count
    messages: Iterator[np.ndarray] = (column[:count] for column in trace[1:4])
    return Replay(trace.actions, *messages)
