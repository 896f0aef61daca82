"""xoshiro256++ and the uniform numbers made of it.

Source: Blackman & Vigna 2021, "Scrambled linear pseudorandom number generators", xoshiro256++
with rotations 23 and 45 and shift 17. Period 2^256 - 1; the state must not be all zero.
"""

from __future__ import annotations

import numpy as np

from algos.dispatch import inlined

Rng = np.ndarray  # uint64 (4,): the state of a replicate's generator

_11, _17, _19, _23 = np.uint64(11), np.uint64(17), np.uint64(19), np.uint64(23)
_41, _45 = np.uint64(41), np.uint64(45)
UNIT = 2.0**-53


@inlined
def next_word(rng: Rng) -> np.uint64:
    """The next 64 bits."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    total = s0 + s3
    result = ((total << _23) | (total >> _41)) + s0
    shifted = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    rng[0], rng[1], rng[2] = s0, s1, s2
    rng[3] = (s3 << _45) | (s3 >> _19)
    return result


@inlined
def uniform(rng: Rng) -> float:
    """A multiple of 2^-53, uniform on [0, 1)."""
    return float(next_word(rng) >> _11) * UNIT


@inlined
def uniform_positive(rng: Rng) -> float:
    """A multiple of 2^-53, uniform on (0, 1]: its logarithm is finite."""
    return (float(next_word(rng) >> _11) + 1.0) * UNIT
