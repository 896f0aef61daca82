"""The two names of a piece of work, and the random generator that follows from one of them.

`stream` names a source of replicates: algorithm, version, parameters, resolved instance, ε if
the algorithm uses it, T unless it is anytime. `cell` names a result: stream, seed and T. Only
the stream seeds the draws, so an anytime algorithm's curve to a smaller T is the start of its
curve to a larger one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from algos.registry import Algorithm, Value

DIGITS = 32  # of each identity: 128 bits in hexadecimal


def canonical(value: Any) -> str:
    """`value` as JSON in one way only: sorted keys, shortest floats, infinity as "inf"."""

    def plain(item: Any) -> Any:
        if isinstance(item, float) and math.isinf(item):
            return "inf"
        if isinstance(item, Mapping):
            return {key: plain(entry) for key, entry in item.items()}
        if isinstance(item, list | tuple):
            return [plain(entry) for entry in item]
        return item

    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """The first `DIGITS` hexadecimal digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def parameters_text(parameters: Mapping[str, Value]) -> str:
    """Parameters of an algorithm in the canonical form."""
    return _parameters(tuple(parameters.items()))


@lru_cache(maxsize=1024)
def _parameters(items: tuple[tuple[str, Value], ...]) -> str:
    return canonical(dict(items))


def stream_id(
    algorithm: Algorithm,
    parameters: Mapping[str, Value],
    definition: str,
    epsilon: float | None,
    T: int,
) -> str:
    """Name of the source of replicates; `definition` is the canonical resolved instance."""
    budget = "null"
    if algorithm.uses_epsilon and epsilon is not None:
        budget = '"inf"' if math.isinf(epsilon) else repr(float(epsilon))  # as `canonical` does
    horizon = "null" if algorithm.anytime else T
    # Not through `canonical`: plans name millions of streams.
    return digest(
        f'{{"algorithm":{json.dumps(algorithm.name)},"epsilon":{budget},"horizon":{horizon},'
        f'"instance":{definition},"parameters":{parameters_text(parameters)},'
        f'"version":{algorithm.version}}}'
    )


def cell_id(stream: str, seed: int, T: int) -> str:
    """Name of a result: the stream's replicates under `seed`, played to T."""
    return digest(f"{stream}/{seed}/{T}")


def generator(seed: int, stream: str, replicate: int) -> np.random.Generator:
    """The replicate's own generator: PCG64 seeded by (seed, the stream's words, replicate)."""
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(*_words(stream), replicate))
    return np.random.Generator(np.random.PCG64(sequence))


@lru_cache(maxsize=16)
def _words(stream: str) -> tuple[int, ...]:
    """A stream's identity as 32-bit numbers."""
    return tuple(int(stream[i : i + 8], 16) for i in range(0, DIGITS, 8))
