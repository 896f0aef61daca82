"""Checks of single values that several modules make."""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeGuard

import numpy as np

from algos.errors import InputError

SMALLEST_EPSILON = 1e-100  # below, 1/ε and what is added to it leave float64


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a real number of Python or NumPy; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def check_epsilon(key: str, value: object, allowed: str, high: float = math.inf) -> float:
    """`value` as a privacy parameter ε: a number above 0 and at most `high`, inf for no noise.

    Raises:
        InputError: it is none, or so small that 1/ε leaves float64; `allowed` says what is.
    """
    if not is_number(value) or not 0.0 < value <= high:
        raise InputError(key, value, allowed)
    if value < SMALLEST_EPSILON:
        raise InputError(key, value, f"{allowed}, and ≥ {SMALLEST_EPSILON:g}")
    return float(value)


def check_count(key: str, value: object, least: int, most: int = 2**63 - 1) -> int:
    """`value` as an integer from `least` to `most`; 1e6 is an integer.

    Raises:
        InputError: it is none.
    """
    allowed = f"an integer ≥ {least}" + (f", at most {most}" if most < 2**63 - 1 else "")
    if not is_number(value) or not math.isfinite(value) or int(value) != value:
        raise InputError(key, value, allowed)
    if not least <= value <= most:
        raise InputError(key, value, allowed if most < 2**63 - 1 else f"{allowed}, below 2^63")
    return int(value)
