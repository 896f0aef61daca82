"""Hashes of rows: equal rows have equal ones, whatever segment, chunk or row group they are in."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa

from sweep.store.checkpoints import standard

ODD = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(table: pa.Table, columns: Sequence[str] | None = None) -> np.ndarray:
    """A 64-bit hash per row of the given columns (default: all), bit for bit of their values.

    Columns hold numbers, booleans, strings, or lists of numbers. A column counts by its name,
    not by its position; null checkpoints count as the standard ones, for which they stand.
    """
    total = np.zeros(table.num_rows, np.uint64)
    for name in sorted(columns if columns is not None else table.column_names):
        salt = np.uint64(zlib.crc32(name.encode()) * 0x9E3779B97F4A7C15 % 2**64)
        array = table[name].combine_chunks()
        hashes = _column(array)
        if name == "checkpoints" and array.null_count:
            hashes = np.where(array.is_null(), _standard(table, array.type), hashes)
        total += _mix(hashes + salt)
    return _mix(total)


def _standard(table: pa.Table, lists: pa.ListType) -> np.ndarray:
    """A hash per row of the checkpoints that every run to its T has."""
    T, rows = np.unique(table["T"].fill_null(0).to_numpy(), return_inverse=True)
    return _column(pa.array([standard(int(rounds)) for rounds in T], lists))[rows]


def _column(array: pa.Array) -> np.ndarray:
    """A hash per entry of a column; a null differs from every value."""
    null = np.asarray(array.is_null())
    if pa.types.is_list(array.type):
        hashes = _lists(array)
    elif pa.types.is_string(array.type):
        encoded = array.dictionary_encode()
        words = pd.util.hash_array(encoded.dictionary.to_numpy(zero_copy_only=False))
        hashes = np.zeros(len(array), np.uint64)
        codes = encoded.indices.fill_null(0).to_numpy()
        if len(words):
            hashes = words[codes]
    else:
        hashes = _mix(_bits(array))
    return np.where(null, ODD, hashes)


def _bits(array: pa.Array) -> np.ndarray:
    """The bits of numbers or booleans; 0 for nulls."""
    filled = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    values = filled.to_numpy(zero_copy_only=False)
    if values.dtype == np.float64:
        return values.view(np.uint64)
    return values.astype(np.int64).view(np.uint64)


def _lists(array: pa.ListArray) -> np.ndarray:
    """A hash per list, of its entries and their positions."""
    lengths = array.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    entries = _bits(array.flatten())
    positions = np.arange(len(entries), dtype=np.int64) - np.repeat(starts, lengths)
    # Sums over lists as differences of a running sum; both wrap around alike.
    sums = np.concatenate(
        [[np.uint64(0)], np.cumsum(_mix(_mix(entries) + positions.view(np.uint64)))]
    )
    return _mix(sums[ends] - sums[starts] + lengths.view(np.uint64) * ODD)


def _mix(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: every bit of the result depends on every bit of the value."""
    mixed = values + ODD
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
