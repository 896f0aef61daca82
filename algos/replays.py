"""One replicate, action for action (`replay`), or only what it released (`messages`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from algos.blocks import State
from algos.checks import check_count
from algos.errors import InputError
from algos.identity import words
from algos.instances import resolve
from algos.random.generator import Rng
from algos.random.seeding import state
from algos.traces import MOST_MESSAGES, ActionTrace, MessageTrace, TooManyMessages
from algos.work import Work

MOST_ACTIONS = 10**8
_ROOM = 1024  # messages that the first attempt has room for


@dataclass(frozen=True)
class Messages:
    """Every number that left a user or a private mechanism in one replicate, in order.

    Attributes:
        message_round: int64 (M,), the round after which the number is known.
        message_arm: int64 (M,), whose it is: an arm, an action, a user.
        message_value: float64 (M,), the number.
    """

    message_round: np.ndarray
    message_arm: np.ndarray
    message_value: np.ndarray


@dataclass(frozen=True)
class Replay(Messages):
    """One replicate, action for action, and what it released.

    Attributes:
        actions: int64 (T,), the action of each round; (T, …) where an action is an array of the
            family's `action_shape`.
    """

    actions: np.ndarray


def replay(
    algorithm: str,
    instance: str | Mapping[str, Any],
    *,
    epsilon: float | None = None,
    T: int,
    seed: int = 0,
    replicate: int = 0,
    rng: Rng | None = None,
    **parameters: Any,
) -> Replay:
    """Play one replicate and keep every action and every released number (T up to 1e8).

    `rng`, a state of `algos.random`, replaces the replicate's own; it is not changed. Other
    arguments and errors as `simulate`.
    """
    work = Work.checked(algorithm, resolve(instance), epsilon, T, parameters)
    if work.T > MOST_ACTIONS:
        raise InputError("T", T, f"at most {MOST_ACTIONS} for a replay, which keeps every action")
    shape = work.family.action_shape(work.instance.sizes)
    actions = np.zeros((work.T, *shape), np.int64)
    found = _heard(work, seed, replicate, rng, lambda trace: ActionTrace(actions, trace))
    return Replay(found.message_round, found.message_arm, found.message_value, actions)


def messages(
    algorithm: str,
    instance: str | Mapping[str, Any],
    *,
    epsilon: float | None = None,
    T: int,
    seed: int = 0,
    replicate: int = 0,
    rng: Rng | None = None,
    **parameters: Any,
) -> Messages:
    """Play one replicate and keep the numbers it released, up to 1e8 of them, but no actions.

    T may be as large as in `simulate`. Other arguments as `replay`.

    Raises:
        InputError: as `simulate`, and where there are more than 1e8 numbers.
    """
    work = Work.checked(algorithm, resolve(instance), epsilon, T, parameters)
    return _heard(work, seed, replicate, rng, lambda trace: trace)


def _heard(
    work: Work,
    seed: int,
    replicate: int,
    rng: Rng | None,
    trace: Callable[[MessageTrace], Any],
) -> Messages:
    """The messages of one replicate, played with `trace` of a message trace."""
    seed, replicate = check_count("seed", seed, 0), check_count("replicate", replicate, 0)
    if rng is None:
        rng = state(seed, words(work.stream), replicate)
    room = _ROOM
    while True:  # the number of messages is known only afterwards
        rounds, sources, values = np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(room)
        kept = MessageTrace(rounds, sources, values, np.zeros(1, np.int64))
        try:
            work.run(trace(kept), work.environments(seed, [replicate]), State(rng))
        except TooManyMessages:
            allowed = f"so few rounds that {work.algorithm.name} releases at most {MOST_MESSAGES}"
            raise InputError("T", work.T, f"{allowed} numbers") from None
        count = int(kept.seen[0])
        if count <= room:
            return Messages(rounds[:count], sources[:count], values[:count])
        room = count
