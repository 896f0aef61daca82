"""A user's own module: an algorithm that works, one that raises, and one that takes all down."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from algos import Algorithm, Parameter, register
from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms, pull
from algos.random.generator import uniform
from algos.traces import record


class Coin(NamedTuple):
    """The parameters of `coin`."""

    bias: float


class Crash(NamedTuple):
    """It has no parameters."""


class Die(NamedTuple):
    """It has no parameters."""


@implements(play, Coin)
def coin(algorithm, env, rng, trace, T):
    """Play arm 0 with probability `bias`, else one of the others, without looking."""
    for t in range(1, T + 1):
        arm = 0
        if uniform(rng) >= algorithm.bias:
            arm = 1 + int(uniform(rng) * (number_of_arms(env) - 1))
        pull(env, rng, arm, t, 1)
        record(trace, env, t, arm, 1)


@implements(play, Crash)
def crash(algorithm, env, rng, trace, T):
    """Raise in rounds past the 500th."""
    for t in range(1, T + 1):
        if t > 500:
            raise ValueError("out of luck")
        record(trace, env, t, 0, 1)


abort = ctypes.CDLL(None).abort
abort.argtypes, abort.restype = [], None


@implements(play, Die)
def die(algorithm, env, rng, trace, T):
    """End the process in rounds past the 500th."""
    for t in range(1, T + 1):
        if t > 500:
            abort()
        record(trace, env, t, 0, 1)


for name, form, parameters in (
    ("coin", Coin, (Parameter("bias", 0.5, low=0.0, high=1.0, meaning="chance of arm 0"),)),
    ("crash", Crash, ()),
    ("die", Die, ()),
):
    register(
        Algorithm(
            name=name,
            family="bandit",
            form=form,
            source="tests",
            summary="for tests",
            parameters=parameters,
            cost=lambda T, sizes, epsilon: 10.0 * T,
            version=1,
        )
    )
