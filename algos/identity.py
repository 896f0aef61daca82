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
from typing import TYPE_CHECKING

import numpy as np

from algos.canonical import DIGITS, canonical, digest
from algos.contents import is_address, text_of

ENVIRONMENT = 1  # the last word of the generators that draw environments

if TYPE_CHECKING:
    from algos.registry import Algorithm, Value

__all__ = [
    "canonical",
    "cell_id",
    "digest",
    "environment_generator",
    "parameters_text",
    "stream_id",
    "words",
]


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
    """Name of the source of replicates.

    It hashes the canonical JSON of the instance, whether `definition` is that or its address.
    """
    budget = "null"
    if algorithm.uses_epsilon and epsilon is not None:
        budget = '"inf"' if math.isinf(epsilon) else repr(float(epsilon))  # as `canonical` does
    horizon = "null" if algorithm.anytime else T
    # Not through `canonical`: plans name millions of streams.
    before = f'{{"algorithm":{json.dumps(algorithm.name)},"epsilon":{budget},"horizon":{horizon},'
    before += '"instance":'
    after = f',"parameters":{parameters_text(parameters)},"version":{algorithm.version}}}'
    if is_address(definition):
        return _large_stream(before, definition, after)
    return digest(f"{before}{definition}{after}")


@lru_cache(maxsize=65_536)
def _large_stream(before: str, address: str, after: str) -> str:
    """The digest of a text with the content of `address` in its middle."""
    hashed = hashlib.sha256(before.encode())
    for piece in text_of(address):
        hashed.update(piece)
    hashed.update(after.encode())
    return hashed.hexdigest()[:DIGITS]


def cell_id(stream: str, seed: int, T: int) -> str:
    """Name of a result: the stream's replicates under `seed`, played to T."""
    return digest(f"{stream}/{seed}/{T}")


def environment_generator(seed: int, stream: str, replicate: int) -> np.random.Generator:
    """Another generator of a replicate, from which its environment is drawn.

    Environments are drawn in Python, so it is one of NumPy's.
    """
    key = (*words(stream), replicate, ENVIRONMENT)
    return np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))


@lru_cache(maxsize=16)
def words(stream: str) -> tuple[int, ...]:
    """A stream's identity as 32-bit numbers."""
    return tuple(int(stream[i : i + 8], 16) for i in range(0, DIGITS, 8))
