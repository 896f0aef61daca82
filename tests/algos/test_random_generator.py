"""xoshiro256++ against its published outputs; what is made of its words, compiled and plain."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from reference.sampling import (
    LEVEL,
    altered,
    cells_pvalue,
    draws,
)

from algos.random import discrete, generator
from algos.random.generator import next_word, uniform, uniform_positive
from algos.random.seeding import state

# From the state (1, 2, 3, 4), by the authors' C program: the numbers in Rust's rand_xoshiro.
PUBLISHED = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]


def publishes(module: ModuleType) -> bool:
    rng = np.array([1, 2, 3, 4], np.uint64)
    with np.errstate(over="ignore"):
        return [int(module.next_word(rng)) for _ in PUBLISHED] == PUBLISHED


def plain_words(state: list[int], count: int) -> list[int]:
    """The algorithm in Python's integers."""

    def rotated(word: int, by: int) -> int:
        return (word << by | word >> 64 - by) % 2**64

    words, s = [], list(state)
    for _ in range(count):
        words.append((rotated((s[0] + s[3]) % 2**64, 23) + s[0]) % 2**64)
        shifted = s[1] << 17 & 2**64 - 1
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= shifted
        s[3] = rotated(s[3], 45)
    return words


def test_words_are_the_published_ones() -> None:
    assert publishes(generator)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            "np.uint64(19), np.uint64(23)",
            "np.uint64(19), np.uint64(24)",
        ),
        ("_45 = np.uint64(41), np.uint64(45)", "_45 = np.uint64(41), np.uint64(44)"),
        ("    s2 ^= s0\n    s3 ^= s1\n", "    s3 ^= s1\n    s2 ^= s0 ^ s3\n"),
        ("total = s0 + s3", "total = s0 + s2"),
        (">> _41)) + s0", ">> _41)) + s3"),
    ],
)
def test_a_mistake_in_the_words_is_noticed(right, wrong) -> None:
    assert not publishes(altered(generator, right, wrong))


def test_words_are_those_of_a_plain_implementation() -> None:
    rng = state(12345, (6, 7), 8)
    expected = plain_words([int(word) for word in rng], 2_000)
    assert [int(next_word(rng)) for _ in expected] == expected


def test_uniform_numbers_are_the_words_upper_53_bits() -> None:
    first, second, third = state(1), state(1), state(1)
    for _ in range(1_000):
        word = int(next_word(first))
        assert uniform(second) == (word >> 11) / 2**53 < 1.0
        assert uniform_positive(third) == ((word >> 11) + 1) / 2**53 > 0.0


def equal_chances(module: ModuleType, n: int, cells: int) -> float:
    """The chi-square test's p-value for integers below n."""
    x = draws(module.below, state(5), 2_000_000, n, whole=True)
    assert x.min() >= 0 and x.max() < n
    return cells_pvalue(np.bincount(x // (n // cells), minlength=cells), np.full(cells, 1 / cells))


@pytest.mark.parametrize(("n", "cells"), [(2, 2), (3, 3), (10, 10), (1000, 1000), (3 * 2**61, 48)])
def test_integers_below_a_bound_are_uniform(n, cells) -> None:
    assert equal_chances(discrete, n, cells) > LEVEL


def test_an_integer_below_1_is_0() -> None:
    assert draws(discrete.below, state(5), 10, 1, whole=True).tolist() == [0] * 10


def test_a_remainder_in_place_of_rejection_is_noticed() -> None:
    biased = altered(discrete, "next_word(rng) & mask", "next_word(rng) % np.uint64(n)")
    assert equal_chances(biased, 3 * 2**61, 48) < LEVEL


SAMPLED = """
import warnings
import numpy as np
from algos.random import continuous, discrete, generator
from algos.random.seeding import state
warnings.simplefilter("error")
rng = state(5, (6,), 7)
with np.errstate(over="ignore"):
    for _ in range(200):
        print(generator.uniform(rng), generator.uniform_positive(rng), discrete.below(rng, 10**12))
        print(continuous.exponential(rng), continuous.laplace(rng, 2.0), continuous.normal(rng))
    for shape in (1e-3, 0.5, 1.0, 7.0, 1e18):
        for _ in range(40):
            print(continuous.gamma(rng, shape), continuous.beta(rng, shape, 0.3))
            print(continuous.beta(rng, 3.0, shape))
    for p in (1e-12, 1e-3, 0.1, 0.5, 0.8):
        for n in (0, 1, 5, 30, 64, 100, 1000, 10**6, 10**12, 10**18):
            print(*(discrete.binomial(rng, n, p) for _ in range(10)))
        print(discrete.geometric(rng, p))
    counts = np.empty(3, np.int64)
    for n in (5, 10**3, 10**18):
        discrete.multinomial(rng, n, np.array([0.2, 0.3, 0.5]), counts)
        print(counts)
"""


def test_samplers_draw_the_same_compiled_and_plain() -> None:
    def printed(disable: str) -> str:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disable}
        command = [sys.executable, "-c", SAMPLED]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert printed("1") == printed("0")


@pytest.mark.parametrize("name", ["binomial"])
def test_no_references_are_counted(name) -> None:
    """They would cost as much as the draw."""
    function = getattr(discrete, name)

    def counted(**options: Any) -> bool:
        fresh = njit(error_model="numpy", **options)(function.py_func)
        fresh(state(1), 1_000, 0.3)
        return "NRT_incref" in fresh.inspect_llvm(fresh.signatures[0])

    assert counted()
    assert not counted(**{k: v for k, v in function.targetoptions.items() if k == "_nrt"})
