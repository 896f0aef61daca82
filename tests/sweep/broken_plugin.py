"""A user's own module with a kernel that doesn't compile."""

from __future__ import annotations

from numba import njit

from algos import Algorithm, register
from algos.environments import number_of_arms, pull
from algos.traces import record


@njit(cache=True)
def mistaken(env, rng, trace, T):
    """Play arm 0 for ever."""
    name = "arm " + number_of_arms(env)
    for t in range(1, T + 1):
        pull(env, rng, len(name), t, 1)
        record(trace, env, t, 0, 1)


@njit(cache=True)
def unready(env, rng, trace, T):
    """Raise in every round: it compiles."""
    for t in range(1, T + 1):
        if t > 0:
            raise ValueError("not ready")
        record(trace, env, t, 0, 1)


for kernel in (mistaken, unready):
    register(
        Algorithm(
            name=kernel.__name__,
            family="bandit",
            kernel=kernel,
            source="tests",
            summary="for tests",
            cost=lambda T, sizes, epsilon: 10.0 * T,
            version=1,
        )
    )
