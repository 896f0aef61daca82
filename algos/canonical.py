"""Values as JSON in one way only, which is what identities are hashes of."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

DIGITS = 32  # of each identity: 128 bits in hexadecimal
NUMBERS = 65_536  # of a large array, written at once


def canonical(value: Any) -> str:
    """`value` as JSON: sorted keys, shortest floats, infinity as "inf", arrays as lists."""
    return _text(_plain(value))


def pieces(value: Any) -> Iterator[str]:
    """`canonical(value)` piece by piece: an array is never held as lists or text as a whole."""
    if isinstance(value, Mapping):
        yield "{"
        for number, key in enumerate(sorted(value)):
            yield f"{',' if number else ''}{json.dumps(key)}:"
            yield from pieces(value[key])
        yield "}"
    elif isinstance(value, np.ndarray) and value.size > NUMBERS:
        yield "["
        rows = max(1, NUMBERS * len(value) // value.size)
        for start in range(0, len(value), rows):
            part = value[start : start + rows]
            yield "," if start else ""
            if part.size > 2 * NUMBERS:  # one row, wider than a piece
                yield from pieces(part[0])
            else:
                yield canonical(part)[1:-1]
        yield "]"
    else:
        yield canonical(value)


def digest(text: str) -> str:
    """The first `DIGITS` hexadecimal digits of the SHA-256 of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(item: Any) -> Any:
    """`item` in the types that JSON has."""
    if isinstance(item, float) and math.isinf(item):
        return "inf"
    if isinstance(item, Mapping):
        return {key: _plain(entry) for key, entry in item.items()}
    if isinstance(item, np.ndarray) and item.dtype.kind in "iuf" and not np.isinf(item).any():
        return item.tolist()
    if isinstance(item, np.ndarray | np.generic):
        return _plain(item.tolist())
    if isinstance(item, list | tuple):
        return [_plain(entry) for entry in item]
    return item
