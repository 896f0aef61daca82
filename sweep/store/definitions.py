"""Large definitions of instances, each kept once: STORE/definitions/HEX.parquet.

A definition above 4 kB stands in rows and manifests as its address, `sha256:HEX`, the digest of
its canonical JSON. Its content is a file of one row with a column per key: scalars as they are,
arrays as nested lists. The digest can't be recomputed from there at a reasonable price, so a
file's pages carry checksums.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sweep.store import segments
from sweep.store.places import Place
from sweep.store.segments import DamageError

DEFINITIONS = "definitions"  # the folder
PREFIX = "sha256:"
ADDRESS = re.compile(f"{PREFIX}[0-9a-f]{{64}}")


def path_of(address: str) -> str:
    """The file of a definition, relative to the store.

    Raises:
        ValueError: `address` is none.
    """
    if not ADDRESS.fullmatch(address):
        raise ValueError(f"{address!r} is no address of a definition")
    return f"{DEFINITIONS}/{address.removeprefix(PREFIX)}.parquet"


def addresses_in(definitions: pa.ChunkedArray | pa.Array) -> list[str]:
    """The addresses among a column `instance_definition`, each once, sorted."""
    short = pc.filter(definitions, pc.starts_with(definitions, PREFIX))
    return sorted(address for address in pc.unique(short).to_pylist() if ADDRESS.fullmatch(address))


def keep(place: Place, definitions: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the definitions, given by address, that the store lacks or has in part only.

    Raises:
        OSError, pa.ArrowException: one can't be written.
        TypeError: a value is neither a scalar, nor a list, nor a numeric array.
    """
    for address, content in definitions.items():
        path = path_of(address)
        if _is_whole(place, path):
            continue
        sink = pa.BufferOutputStream()
        # Without dictionaries: a list's page can't be split, and hashing its values is what costs.
        pq.write_table(
            encoded(content),
            sink,
            compression="zstd",
            compression_level=1,
            use_dictionary=False,
            write_page_checksum=True,
        )
        place.make_folder(DEFINITIONS)
        place.replace(path, sink.getvalue())


def read(place: Place, address: str) -> dict[str, Any]:
    """The content of a definition; lists of numbers are numpy arrays.

    Raises:
        DamageError: the file is damaged.
        VanishedError: it is not there.
        InputError: it can't be read.
    """
    return decoded(check(place, path_of(address)))


def check(place: Place, path: str) -> pa.Table:
    """Read the file of a definition, every page against its checksum; raises as `read` does."""
    folder, _, name = path.rpartition("/")
    return segments.attempt(place, folder, name, _table)


def _is_whole(place: Place, path: str) -> bool:
    """Whether the file is there, to its end."""
    if not place.has_file(path):
        return False
    try:
        with place.source(path) as source, segments.parquet(source) as file:
            return bool(file.metadata.num_rows == 1)
    except pa.ArrowInvalid:
        return False


def _table(source: pa.NativeFile) -> pa.Table:
    with segments.parquet(source) as file:
        table = file.read()
    if table.num_rows != 1:
        raise DamageError(f"it has {table.num_rows} rows; a definition has one")
    return table


def encoded(content: Mapping[str, Any]) -> pa.Table:
    """A definition as a table of one row; arrays are not copied.

    Raises:
        TypeError: a value is neither a scalar, nor a list, nor a numeric array.
    """
    columns = {}
    for key, value in content.items():
        try:
            columns[key] = _nested(value) if isinstance(value, np.ndarray) else pa.array([value])
        except (pa.ArrowException, ValueError) as error:
            kind = type(value).__name__
            raise TypeError(f"{key}: a {kind} can't be kept in a definition ({error})") from None
    return pa.table(columns)


def decoded(table: pa.Table) -> dict[str, Any]:
    """The definition in a table of one row.

    Lists of numbers come as arrays, of as many dimensions as they are nested; where lists differ
    in length, as lists of arrays. Other values come as Python has them.
    """
    return {name: _value(table[name].combine_chunks()) for name in table.column_names}


def _nested(values: np.ndarray) -> pa.Array:
    """One entry, a list of lists as deep as `values` has dimensions."""
    array = pa.array(np.ascontiguousarray(values).ravel())
    for axis in reversed(range(values.ndim)):
        lists = math.prod(values.shape[:axis])
        offsets = np.arange(lists + 1, dtype=np.int64) * values.shape[axis]
        array = pa.LargeListArray.from_arrays(offsets, array)
    return array


def _value(array: pa.Array) -> Any:
    """The only entry of `array`."""
    leaf = array.type
    while _is_list(leaf):
        leaf = leaf.value_type
    numeric = pa.types.is_integer(leaf) or pa.types.is_floating(leaf) or pa.types.is_boolean(leaf)
    if not _is_list(array.type) or not numeric:
        return array[0].as_py()
    return _unnested(array[0].values)


def _unnested(array: pa.Array) -> Any:
    """A list's entries as an array, or as a list of arrays where they differ in length."""
    shape = [len(array)]
    level = array
    while _is_list(level.type):
        lengths = level.value_lengths().to_numpy(zero_copy_only=False)
        if len(lengths) and (lengths != lengths[0]).any():
            return [_unnested(entry.values) for entry in array]
        shape.append(int(lengths[0]) if len(lengths) else 0)
        level = level.flatten()
    return level.to_numpy(zero_copy_only=False).reshape(shape)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)
