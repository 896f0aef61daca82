"""A user's own module: an algorithm that works, one that raises, and one that takes all down."""

from __future__ import annotations

import ctypes

from numba import njit

from algos import Algorithm, Parameter, register
from algos.environments import number_of_arms, pull
from algos.traces import record


@njit(cache=True)
def coin(env, rng, trace, T, bias):
    """Play arm 0 with probability `bias`, else one of the others, without looking."""
    for t in range(1, T + 1):
        arm = 0
        if rng.random() >= bias:
            arm = 1 + int(rng.random() * (number_of_arms(env) - 1))
        pull(env, rng, arm, t, 1)
        record(trace, env, t, arm, 1)


@njit(cache=True)
def crash(env, rng, trace, T):
    """Raise in rounds past the 500th."""
    for t in range(1, T + 1):
        if t > 500:
            raise ValueError("out of luck")
        record(trace, env, t, 0, 1)


abort = ctypes.CDLL(None).abort
abort.argtypes, abort.restype = [], None


@njit
def die(env, rng, trace, T):
    """End the process in rounds past the 500th."""
    for t in range(1, T + 1):
        if t > 500:
            abort()
        record(trace, env, t, 0, 1)


for name, kernel, parameters in (
    ("coin", coin, (Parameter("bias", 0.5, low=0.0, high=1.0, meaning="chance of arm 0"),)),
    ("crash", crash, ()),
    ("die", die, ()),
):
    register(
        Algorithm(
            name=name,
            family="bandit",
            kernel=kernel,
            source="tests",
            summary="for tests",
            parameters=parameters,
            cost=lambda T, sizes, epsilon: 10.0 * T,
            version=1,
        )
    )
