"""Tables of numbers that a grid gives as the path of a file.

A parameter of an instance that holds a list of numbers, or a list of such lists, may be the path
of a NumPy file (.npy) or of a Parquet file (a column per arm, a row per round). It is read once,
here; what it holds is the instance's definition, so the same numbers under another path are the
same instance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from algos import instances
from algos.canonical import canonical
from algos.errors import InputError, shown
from algos.instances import Instance

SUFFIXES = (".npy", ".parquet")


def resolve(specification: Mapping[str, Any], **sizes: int) -> Instance:
    """The instance of a specification, its files read.

    It is labelled by the files' names unless it has a label, and remembers the paths as what it was
    generated from.

    Raises:
        InputError: a file can't be read, or holds no table of numbers; or as `instances.resolve`.
    """
    name = specification["name"]
    depth = instances.kind(name).depth
    paths = {
        key: value
        for key, value in specification.items()
        if depth.get(key, 0) > 0 and isinstance(value, str)
    }
    if not paths:
        return instances.resolve(specification, **sizes)
    files = ", ".join(Path(path).name for path in paths.values())
    arrays = {key: read(f"instance {name}.{key}", path) for key, path in paths.items()}
    found = instances.resolve({"label": f"{name}({files})"} | dict(specification) | arrays, **sizes)
    return replace(found, generator=canonical(json.loads(found.generator) | paths))


def read(key: str, path: str) -> np.ndarray:
    """The float64 array that a file holds.

    Raises:
        InputError: as `resolve`, under `key`.
    """
    allowed = f"numbers, or the path of a file with them ({' or '.join(SUFFIXES)})"
    try:
        if path.endswith(".npy"):
            table = np.load(Path(path).expanduser(), allow_pickle=False)
        elif path.endswith(".parquet"):
            table = _parquet(Path(path).expanduser())
        else:
            raise InputError(key, path, allowed)
    except (OSError, ValueError, EOFError) as error:
        why = getattr(error, "strerror", None) or str(error).split("\n")[0]
        raise InputError(key, path, f"{allowed}; {shown(' '.join(why.split()))}") from None
    if table.dtype.kind not in "fiu":
        raise InputError(key, path, f"a table of numbers; its entries are {table.dtype}")
    return table.astype(np.float64, copy=False)


def _parquet(path: Path) -> np.ndarray:
    """The columns of a Parquet file side by side; one column alone is a list of numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, page_checksum_verification=True)
        columns = [column.to_numpy() for column in table.columns]
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    if not columns:
        raise ValueError("it has no columns")
    return columns[0] if len(columns) == 1 else np.column_stack(columns)
