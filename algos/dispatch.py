"""Seams that compile away: functions whose implementation Numba picks by a NamedTuple's type.

@implements(pull)
def _pull_coin(env, rng, arm, t, n, step=1):
    if not is_a(env, FairCoin):
        return None                                  # some other implementation's business
    def coin(env, rng, arm, t, n, step=1):           # compiled
        return float(rng.binomial(n, 0.5))
    return coin
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.extending import overload


def implements(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: one more implementation of `function`, for the types it doesn't return None on.

    Numba's own check compares annotations as well as names, so it is off.
    """
    return overload(function, strict=False)


def is_a(numba_type: Any, *classes: type) -> bool:
    """Whether a Numba type is one of these NamedTuple classes."""
    named = isinstance(numba_type, types.BaseNamedTuple)
    return named and numba_type.instance_class in classes
