"""Blocks of replicates: Python is entered once a block, and one compiled loop plays it.

An algorithm is a NamedTuple of its parameters, ε among them, with an implementation of `play` for
its type (see `algos.dispatch`):

    class Uniform(NamedTuple):
        "Each arm in turn, n rounds at a time."
        n: int

    @implements(play, Uniform)
    def uniform_allocation(algorithm, env, rng, trace, T):
        …

A block holds what its replicates record, again as a NamedTuple; `opened` gives the trace of one of
them. Where all replicates play the same environment the loop gets that; where each has its own, a
typed list of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from algos.dispatch import allocating, allocating_seam, implements, seam
from algos.random.generator import Rng
from algos.random.seeding import Seeds, start


@allocating_seam
def play(algorithm: Any, env: Any, rng: Rng, trace: Any, T: int) -> None:
    """Play rounds 1 … T of one replicate and report them to `trace`."""
    raise NotImplementedError


@allocating_seam
def prepared(algorithm: Any, env: Any) -> Any:
    """The algorithm as `play` takes it for the replicates of a block, first `env`'s.

    Called once a block: what is worth keeping from one replicate to the next, such as tables of a
    law, is put beside the parameters, in a NamedTuple of its own with an implementation of `play`.
    A result must not depend on what was kept.
    """
    raise NotImplementedError


@implements(prepared)
def as_it_is(algorithm: Any, env: Any) -> Any:
    """Nothing is kept."""
    return algorithm


@allocating_seam
def opened(block: Any, i: int) -> Any:
    """The trace of the block's replicate `i`; the one before has been played."""
    raise NotImplementedError


@implements(opened)
def same_trace(block: Any, i: int) -> Any:
    """For a trace that is given as it is."""
    return block


class State(NamedTuple):
    """In place of seeds: the state from which a single replicate is played."""

    words: np.ndarray  # uint64 (4,)


@seam
def begin(seeds: Any, i: int, rng: Rng) -> None:
    """Fill `rng` with the state of the block's replicate `i`."""
    raise NotImplementedError


@implements(begin, Seeds)
def begin_numbered(seeds: Seeds, i: int, rng: Rng) -> None:
    """From the replicate's number."""
    start(rng, seeds.pool, seeds.replicates[i])


@implements(begin, State)
def begin_given(seeds: State, i: int, rng: Rng) -> None:
    """As it is."""
    for word in range(rng.size):
        rng[word] = seeds.words[word]


@seam
def size(seeds: Any) -> int:
    """How many replicates the block has."""
    raise NotImplementedError


@implements(size, Seeds)
def count_numbers(seeds: Seeds) -> int:
    """As many as there are numbers."""
    return seeds.replicates.size


@implements(size, State)
def only_one(seeds: State) -> int:
    """One."""
    return 1


@allocating_seam
def environment_of(environments: Any, i: int) -> Any:
    """The environment that the block's replicate `i` plays."""
    raise NotImplementedError


@implements(environment_of)
def shared(environments: Any, i: int) -> Any:
    """The same one."""
    return environments


@implements(environment_of, list, types.ListType)
def own(environments: Any, i: int) -> Any:
    """Its own."""
    return environments[i]


def is_compiled(form: type) -> bool:
    """Whether the loop was compiled, or loaded, for algorithms of this class in this process."""
    dispatcher: Any = play_block
    return any(arguments[0].instance_class is form for arguments in dispatcher.signatures)


@allocating
def play_block(algorithm: Any, environments: Any, seeds: Any, block: Any, T: int) -> None:
    """Play the block's replicates one after another.

    Args:
        algorithm: the NamedTuple of its parameters.
        environments: one for all, or a typed list with one for each replicate.
        seeds: `Seeds` of the replicates.
        block: what they record.
        T: rounds, int64.
    """
    rng = np.empty(4, np.uint64)
    ready = prepared(algorithm, environment_of(environments, 0))
    for i in range(size(seeds)):
        begin(seeds, i, rng)
        play(ready, environment_of(environments, i), rng, opened(block, i), T)
