"""Checks of the numbers in a specification: one, a list, a table, given as lists or arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from algos.checks import is_number
from algos.errors import InputError, Words


@dataclass(frozen=True)
class Numbers:
    """Finite numbers in [low, high]; errors say `allowed`."""

    allowed: str
    low: float = 0.0
    high: float = 1.0

    def one(self, key: str, value: object) -> float:
        """`value` as a float.

        Raises:
            InputError: it is no number, or outside the range.
        """
        if not is_number(value) or not math.isfinite(value):
            raise InputError(key, value, self.allowed)
        number = float(value)
        if not self.low <= number <= self.high:
            raise InputError(key, value, self.allowed)
        return number + 0.0  # no minus zero

    def vector(self, key: str, value: object) -> list[float]:
        """A list of at least one number.

        Raises:
            InputError: it is none, or one of its numbers is not allowed.
        """
        if isinstance(value, np.ndarray) and value.ndim == 1:
            value = value.tolist()
        if not isinstance(value, list | tuple) or not value:
            raise InputError(key, value, self.allowed)
        return [self.one(key, entry) for entry in value]

    def table(self, key: str, value: object, depth: int) -> np.ndarray:
        """Nested lists or an array as float64, C order, read-only: the caller's array is copied.

        Raises:
            InputError: it has another depth, is empty or ragged, or holds a number that is not
                allowed.
        """
        if isinstance(value, list | tuple):
            value = self._from_lists(key, value, depth)
        if not isinstance(value, np.ndarray) or value.ndim != depth or not value.size:
            raise InputError(key, value, self.allowed)
        if value.dtype.kind not in "iuf":
            raise InputError(key, value.flat[0], self.allowed)
        outside = ~((value >= self.low) & (value <= self.high))
        if outside.any():
            raise InputError(key, value[outside][0], self.allowed)
        numbers = np.array(value, np.float64, order="C")
        numbers += 0.0  # no minus zero
        numbers.flags.writeable = False
        return numbers

    def _from_lists(self, key: str, value: object, depth: int) -> np.ndarray:
        if depth == 1:
            return np.array(self.vector(key, value))
        if not isinstance(value, list | tuple) or not value:
            raise InputError(key, value, self.allowed)
        rows = [self._from_lists(key, row, depth - 1) for row in value]
        if len({row.shape for row in rows}) != 1:
            raise InputError(key, Words("rows of several lengths"), self.allowed)
        return np.array(rows)
