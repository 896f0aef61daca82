"""Random reward tables.

Tabulated rewards are multiples of 2^-30, so every sum of up to 2^23 of them is exact in float64
whatever the order of the additions: a kernel may sum a block as it likes.
"""

import numpy as np
from numpy.typing import NDArray

from reference.common import RewardSource

Table = NDArray[np.float64]
GRAIN = 2.0**30


def fractions(rng: np.random.Generator, rounds: int, K: int) -> Table:
    """Continuous rewards, U^p with an exponent per arm: ties have probability (nearly) zero."""
    exponent = np.exp(rng.uniform(-1.0, 1.0, K))
    return np.rint(rng.random((rounds, K)) ** exponent * GRAIN) / GRAIN


def bits(rng: np.random.Generator, rounds: int, K: int) -> Table:
    """0/1 rewards with a mean per arm: without noise, equal indices are common."""
    return (rng.random((rounds, K)) < rng.uniform(0.2, 0.9, K)).astype(np.float64)


def twins(rng: np.random.Generator, rounds: int, K: int) -> Table:
    """The same 0/1 column for every arm: without noise, ties form again and again and last."""
    return np.repeat(bits(rng, rounds, 1), K, axis=1)


def ladder(rng: np.random.Generator, rounds: int, K: int) -> Table:
    """0/1 rewards, means .95, .84 and others lower: eliminations in the first two epochs."""
    means = np.concatenate([[0.95, 0.84], rng.choice([0.05, 0.3, 0.7], K)])[:K]
    return (rng.random((rounds, K)) < rng.permutation(means)).astype(np.float64)


def spread(rng: np.random.Generator, rounds: int, K: int) -> Table:
    """Continuous rewards, one good arm in long batches and bad ones whose index overtakes it."""
    means = np.concatenate([[0.85], rng.uniform(0.1, 0.6, K)])[:K]
    noise = rng.uniform(-0.1, 0.1, (rounds, K))
    return np.rint((rng.permutation(means) + noise) * GRAIN) / GRAIN


def source(table: Table) -> RewardSource:
    """The reward source that reads `table` (rounds 1-based)."""
    rows = table.tolist()

    def reward(t: int, arm: int) -> float:
        value: float = rows[t - 1][arm]
        return value

    return reward
