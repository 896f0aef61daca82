"""A user's own module with a kernel that doesn't compile."""

from __future__ import annotations

from typing import NamedTuple

from algos import Algorithm, register
from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms, pull
from algos.traces import record


class Mistaken(NamedTuple):
    """It has no parameters."""


class Unready(NamedTuple):
    """It has no parameters."""


@implements(play, Mistaken)
def mistaken(algorithm, env, rng, trace, T):
    """Play arm 0 for ever."""
    name = "arm " + number_of_arms(env)
    for t in range(1, T + 1):
        pull(env, rng, len(name), t, 1)
        record(trace, env, t, 0, 1)


@implements(play, Unready)
def unready(algorithm, env, rng, trace, T):
    """Raise in every round: it compiles."""
    for t in range(1, T + 1):
        if t > 0:
            raise ValueError("not ready")
        record(trace, env, t, 0, 1)


for form in (Mistaken, Unready):
    register(
        Algorithm(
            name=form.__name__.lower(),
            family="bandit",
            form=form,
            source="tests",
            summary="for tests",
            cost=lambda T, sizes, epsilon: 10.0 * T,
            version=1,
        )
    )
