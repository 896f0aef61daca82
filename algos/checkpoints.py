"""The rounds at which cumulative regret is recorded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from algos.checks import is_number
from algos.errors import InputError, Words

PER_OCTAVE = 8
LONGEST = 2**61  # rounds; a doubled count of pulls must still fit int64


def grid(T: int, extra: Iterable[int] = ()) -> np.ndarray:
    """int64, ascending: the ⌊2^(k/8)⌋ up to T, T itself and `extra`.

    The grid does not depend on T, so a longer run records every checkpoint of a shorter one.
    """
    octaves = T.bit_length()
    # 2^(k/8) = 2^octave · 2^(r/8): exact powers of two, the rest within float64 below 2^53
    parts = 2.0 ** (np.arange(PER_OCTAVE) / PER_OCTAVE)
    rounds = {int(part * 2.0**octave) for octave in range(octaves) for part in parts}
    rounds = {t for t in rounds if 1 <= t <= T} | {T} | {t for t in extra if t <= T}
    return np.array(sorted(rounds), dtype=np.int64)


def check(checkpoints: Iterable[object], T: int) -> np.ndarray:
    """int64, ascending, without repeats: a user's own checkpoints.

    Raises:
        InputError: there are none, or one is no integer in [1, T].
    """
    rounds = set()
    if not isinstance(checkpoints, Iterable):
        raise InputError("checkpoints", checkpoints, f"a list of integers from 1 to T = {T}")
    for value in checkpoints:
        if not is_number(value) or not float(value).is_integer() or not 1 <= value <= T:
            raise InputError("checkpoints", value, f"integers from 1 to T = {T}")
        rounds.add(int(value))
    if not rounds:
        raise InputError("checkpoints", Words("[]"), f"at least one integer from 1 to T = {T}")
    return np.array(sorted(rounds), dtype=np.int64)
