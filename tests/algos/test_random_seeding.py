"""States of replicates against NumPy's SeedSequence and its published outputs."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from reference.sampling import altered

from algos.random import seeding

# Entropy of four words and the first two uint64 of the state, from O'Neill's C++ program, as in
# NumPy's test_seed_sequence.py.
PUBLISHED = [
    ((3735928559, 195939070, 229505742, 305419896), (2477551240072187391, 9577394838764454085)),
    (
        (3668361503, 4165561550, 1661411377, 3634257570),
        (15854241394484835714, 11398914698975566411),
    ),
    ((164546577, 4166754639, 1765190214, 1303880213), (13708282465491374871, 16007308345579681096)),
    ((446610472, 3941463886, 522937693, 1882353782), (15424829579845884309, 1898028439751125927)),
    ((2766103236, 2883057919, 4029656435, 862374500), (18305404959516669237, 14103312907920476776)),
]
SEEDS = (0, 1, 42, 2**32 - 1, 2**32, 2**64 + 1, 2**96, 2**128 - 1, 2**128, 3**200, 7**500)
WORDS = ((), (0,), (1, 2, 3), tuple(range(2**32 - 9, 2**32)))
REPLICATES = (0, 1, 9_999_999, 2**32 - 1)


def integer(words: tuple[int, ...]) -> int:
    """The integer with these 32-bit words, the lowest first."""
    return sum(word << 32 * i for i, word in enumerate(words))


def publishes(module: ModuleType) -> bool:
    for entropy, expected in PUBLISHED:
        rng = module.mixed(integer(entropy), ())[: module.POOL].astype(np.uint64)
        with np.errstate(over="ignore"):
            module.generate(rng)
        if tuple(int(word) for word in rng[:2]) != expected:
            return False
    return True


def is_numpys(module: ModuleType, seed: int, words: tuple[int, ...], replicate: int) -> bool:
    expected = np.random.SeedSequence(entropy=seed, spawn_key=(*words, replicate))
    got = module.state(seed, words, replicate)
    return bool((got == expected.generate_state(4, np.uint64)).all())


def test_states_are_the_published_ones() -> None:
    assert publishes(seeding)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: f"{seed.bit_length()} bits")
@pytest.mark.parametrize("words", WORDS, ids=len)
def test_states_are_numpys(seed, words) -> None:
    for replicate in REPLICATES:
        assert is_numpys(seeding, seed, words, replicate)


def test_states_are_numpys_for_random_words() -> None:
    rng = np.random.default_rng(0)
    for _ in range(500):
        seed = integer(tuple(rng.integers(2**32, size=rng.integers(1, 8)).tolist()))
        words = tuple(rng.integers(2**32, size=rng.integers(0, 12)).tolist())
        assert is_numpys(seeding, seed, words, int(rng.integers(2**32)))


def test_a_block_starts_from_the_same_states() -> None:
    seeds = seeding.seeds(3, (4, 5), [0, 7, 2**32 - 1])
    for replicate in (0, 7, 2**32 - 1):
        rng = np.empty(4, np.uint64)
        with np.errstate(over="ignore"):
            seeding.start(rng, seeds.pool, np.uint32(replicate))
        assert (rng == seeding.state(3, (4, 5), replicate)).all()
    assert seeds.replicates.tolist() == [0, 7, 2**32 - 1]


@pytest.mark.parametrize("replicate", [-1, 2**32])
def test_a_replicates_number_has_32_bits(replicate) -> None:
    with pytest.raises(OverflowError):
        seeding.seeds(0, (), [replicate])
    with pytest.raises(OverflowError):
        seeding.state(0, (), replicate)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("_INIT_A, _MULT_A = 0x43B0D7E5,", "_INIT_A, _MULT_A = 0x43B0D7E4,"),
        ("0x931E8875", "0x931E8877"),
        ("_INIT_B, _MULT_B = 0x8B51F9DD,", "_INIT_B, _MULT_B = 0x8B51F9DC,"),
        ("0x58F38DED", "0x58F38DEB"),
        ("_MIX_L, _MIX_R = 0xCA01F9DD,", "_MIX_L, _MIX_R = 0xCA01F9DB,"),
        ("0x4973F715", "0x4973F717"),
        ("if source != target:", "if True:"),
        ("(rng[0], rng[2]), (rng[1], rng[3])", "(rng[1], rng[3]), (rng[0], rng[2])"),
    ],
)
def test_a_mistake_in_the_hash_is_noticed(right, wrong) -> None:
    changed = altered(seeding, right, wrong)
    assert not publishes(changed) and not is_numpys(changed, 1, (2, 3), 4)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(POOL - len(entropy))", "(POOL - len(entropy) - len(words))"),
        ("for word in entropy[POOL:]:", "for word in entropy[POOL + 1:]:"),
        ("np.uint64(replicate) ^ constant", "np.uint64(replicate) ^ np.uint64(_INIT_A)"),
    ],
)
def test_a_mistake_in_the_streams_words_is_noticed(right, wrong) -> None:
    changed = altered(seeding, right, wrong)
    assert not is_numpys(changed, 1, (2, 3), 4)
