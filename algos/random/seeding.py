"""States of generators from (seed, stream, replicate), as NumPy's SeedSequence gives them.

Source: O'Neill 2015, "Developing a seed_seq alternative", in the form of NumPy's SeedSequence: a
pool of four 32-bit words into which the entropy is hashed word by word, and from which the state
is hashed. `SeedSequence(entropy=seed, spawn_key=(*words, replicate)).generate_state(4, uint64)` is
the state, bit for bit. All but the replicate's word is mixed once a stream; a replicate then costs
a few nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from algos.dispatch import compiled
from algos.random.generator import Rng

POOL = 4  # 32-bit words
_WORD = 0xFFFFFFFF
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED
_MIX_L, _MIX_R = 0xCA01F9DD, 0x4973F715


class Seeds(NamedTuple):
    """What the states of numbered replicates follow from."""

    pool: np.ndarray  # uint32 (5,): the mixed pool without the replicate's word, the hash constant
    replicates: np.ndarray  # uint32 (R,): their numbers


def seeds(seed: int, words: Sequence[int], replicates: Sequence[int]) -> Seeds:
    """Seeds of the numbered replicates of a stream.

    Args:
        seed: an integer ≥ 0 of any size.
        words: the stream's 32-bit words.
        replicates: numbers below 2^32.
    """
    return Seeds(mixed(seed, words), np.asarray(replicates, np.uint32))


def mixed(seed: int, words: Sequence[int]) -> np.ndarray:
    """The pool of `Seeds`, uint32 (5,).

    Raises:
        ValueError: the seed is negative.
    """
    if seed < 0:
        raise ValueError(f"a seed is an integer ≥ 0, not {seed}")
    entropy = [seed >> shift & _WORD for shift in range(0, max(seed.bit_length(), 1), 32)]
    entropy += [0] * (POOL - len(entropy))  # as where there is a spawn key
    entropy += words
    constant = _INIT_A

    def hashed(value: int) -> int:
        nonlocal constant
        value = (value ^ constant) & _WORD
        constant = constant * _MULT_A & _WORD
        value = value * constant & _WORD
        return value ^ value >> 16

    def mix(x: int, y: int) -> int:
        value = (x * _MIX_L - y * _MIX_R) & _WORD
        return value ^ value >> 16

    pool = [hashed(word) for word in entropy[:POOL]]
    for source in range(POOL):
        for target in range(POOL):
            if source != target:
                pool[target] = mix(pool[target], hashed(pool[source]))
    for word in entropy[POOL:]:
        for target in range(POOL):
            pool[target] = mix(pool[target], hashed(word))
    return np.array([*pool, constant], np.uint32)


@compiled
def start(rng: Rng, pool: np.ndarray, replicate: np.uint32) -> None:
    """Fill `rng` with the state of one replicate of a stream's `pool`."""
    word, sixteen = np.uint64(_WORD), np.uint64(16)
    constant = np.uint64(pool[POOL])
    for i in range(POOL):
        value = np.uint64(replicate) ^ constant
        constant = (constant * np.uint64(_MULT_A)) & word
        value = (value * constant) & word
        value ^= value >> sixteen
        value = (np.uint64(pool[i]) * np.uint64(_MIX_L) - value * np.uint64(_MIX_R)) & word
        rng[i] = value ^ (value >> sixteen)
    generate(rng)


@compiled
def generate(rng: Rng) -> None:
    """Fill `rng`, which holds the four words of a pool, with the state hashed from them."""
    word, sixteen = np.uint64(_WORD), np.uint64(16)
    constant = np.uint64(_INIT_B)
    even, odd = (rng[0], rng[2]), (rng[1], rng[3])
    for i in range(4):
        low = even[i % 2] ^ constant
        constant = (constant * np.uint64(_MULT_B)) & word
        low = (low * constant) & word
        high = odd[i % 2] ^ constant
        constant = (constant * np.uint64(_MULT_B)) & word
        high = (high * constant) & word
        rng[i] = low ^ (low >> sixteen) | (high ^ (high >> sixteen)) << np.uint64(32)


def state(seed: int, words: Sequence[int] = (), replicate: int = 0) -> Rng:
    """The state of one replicate, a new array."""
    rng = np.empty(4, np.uint64)
    with np.errstate(over="ignore"):  # where kernels run as plain Python, words wrap around
        start(rng, mixed(seed, words), np.uint32(replicate))
    return rng
