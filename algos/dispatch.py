"""Seams that compile away, and the decorator of shipped kernels.

A seam is a function whose implementation is chosen by the type of its first argument, a
NamedTuple: an environment, a trace, an index rule. Numba chooses when it compiles the caller, so
the seam costs nothing; plain Python (NUMBA_DISABLE_JIT=1) chooses at every call, so that a kernel
can be stepped through.

    @seam
    def pull(env, rng, arm, t, n, step=1):
        "Sum of the rewards of `arm` in the `n` rounds t, t + step, …"

    @implements(pull, FairCoin)
    def pull_coin(env, rng, arm, t, n, step=1):
        return float(rng.binomial(n, 0.5))

A plugin adds implementations of its own in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core.errors import TypingError
from numba.extending import overload

from algos import kernel_cache

F = TypeVar("F", bound=Callable[..., Any])

# Options of Numba: references to arrays are not counted; a call is replaced by what it calls.
UNCOUNTED: Any = {"_nrt": False}
INLINED: Any = {"_nrt": False, "forceinline": True}

_SEAMS: dict[Callable[..., Any], dict[type | None, Callable[..., Any]]] = {}


def seam(function: F) -> F:
    """A seam with this signature; the body is not used.

    Implementations return a number or nothing and allocate nothing. They are compiled into their
    callers and without counting references to arrays: handing over a trace's arrays and counting
    them would cost more than most of them do.

    A call raises TypeError (inside a compiled kernel Numba's TypingError) where nothing
    implements the seam for the type of its first argument.
    """

    return _seam(function, counting=False)


def allocating_seam(function: F) -> F:
    """As `seam`, for implementations that allocate arrays or return some."""
    return _seam(function, counting=True)


def _seam(function: F, counting: bool) -> F:
    @wraps(function)
    def call(*arguments: Any) -> Any:
        return _resolved(call, type(arguments[0]), TypeError)(*arguments)

    def resolve(*arguments: Any) -> Callable[..., Any]:
        first = arguments[0]
        named = isinstance(first, types.BaseNamedTuple)
        return _resolved(call, first.instance_class if named else type(first), TypingError)

    _SEAMS[call] = {}
    # Numba's own check compares names and annotations with those of `resolve`.
    overload(call, strict=False, jit_options={} if counting else INLINED)(resolve)
    return cast(F, call)


def implements(function: Callable[..., Any], *classes: type) -> Callable[[F], F]:
    """Decorator of an implementation of the seam `function` for these classes of NamedTuples.

    The implementation is a plain function at module level with the seam's signature; it may call
    seams and compiled functions. Without `classes` it serves every type that has none of its own.
    """

    def register(implementation: F) -> F:
        for one in classes or (None,):
            _SEAMS[function][one] = implementation
        return implementation

    return register


def implementation(function: Callable[..., Any], first: type) -> Callable[..., Any]:
    """What serves the seam `function` for a first argument of the class `first`.

    Raises:
        TypeError: nothing does.
    """
    return _resolved(function, first, TypeError)


def _resolved(
    function: Callable[..., Any], first: type, error: type[Exception]
) -> Callable[..., Any]:
    """What serves `function` for a first argument of the class `first`."""
    found = _SEAMS[function].get(first, _SEAMS[function].get(None))
    if found is None:
        known = ", ".join(sorted(one.__name__ for one in _SEAMS[function] if one is not None))
        line = f"{function.__name__} is not implemented for {first.__name__}, only for {known}"
        raise error(line)
    return found


def compiled(function: F) -> F:
    """`njit(cache=True)` for functions that kernels call: numbers in, arrays filled, numbers out.

    They allocate nothing and return no arrays, so references to arrays are not counted: a count
    costs more than most of them do. Division by zero gives inf or NaN, as in NumPy.

    They are kept in the folder of today's sources (`algos.kernel_cache`), also where they are
    first imported while a plugin is loaded. A plugin's own functions go to the plugin's folder,
    whether they use this decorator or a plain `njit(cache=True)`.
    """
    return _compiled(function, error_model="numpy", **UNCOUNTED)


def allocating(function: F) -> F:
    """As `compiled`, for functions that allocate arrays or return some.

    Other threads may run while Python waits for one of these.
    """
    return _compiled(function, error_model="numpy", nogil=True)


def inlined(function: F) -> F:
    """As `compiled`, for short functions: they become part of their callers."""
    return _compiled(function, error_model="numpy", **INLINED)


def _compiled(function: F, **options: Any) -> F:
    if function.__module__.partition(".")[0] != kernel_cache.PACKAGE:
        return cast(F, njit(cache=True, **options)(function))
    dispatcher: Any = njit(**options)(function)
    if dispatcher is not function:  # it is, with NUMBA_DISABLE_JIT=1
        dispatcher._cache = kernel_cache.KernelCache(function)
    return cast(F, dispatcher)
