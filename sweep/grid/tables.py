"""Tables of numbers that a grid gives as the path of a file.

A parameter of an instance that holds a list of numbers, or a list of such lists, may be the path
of a NumPy file (.npy) or of a Parquet file (a column per arm, a row per round). It is read once,
here; what it holds is the instance's definition, so the same numbers under another path are the
same instance.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from algos import instances
from algos.errors import InputError, shown

SUFFIXES = (".npy", ".parquet")


def with_tables_read(specification: Mapping[str, Any]) -> dict[str, Any]:
    """The specification of an instance with its files replaced by the arrays they hold.

    Raises:
        InputError: a file can't be read, or holds no table of numbers.
    """
    depth = instances.kind(specification["name"]).depth
    return {
        name: read(f"instance {specification['name']}.{name}", value)
        if depth.get(name, 0) > 0 and isinstance(value, str)
        else value
        for name, value in specification.items()
    }


def read(key: str, path: str) -> np.ndarray:
    """The float64 array that a file holds.

    Raises:
        InputError: as `with_tables_read`, under `key`.
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
