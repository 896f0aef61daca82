"""Rows: what a unit of work leaves behind, as an Arrow table.

One row per (cell, replicate), deterministic columns only. The `instance` column is derived from
the definition, so a row does not depend on how the sweep that made it was written.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from algos import checkpoints
from algos.families import FAMILIES, Family
from sweep.plan import Unit, identity_columns
from sweep.schemas import CURVES, IDENTITY


def schema(family: Family) -> pa.Schema:
    """The columns of a row of `family`."""
    outcome = [
        (column.name, pa.list_(_type(column.dtype)) if column.is_list else _type(column.dtype))
        for column in family.columns
    ]
    return pa.schema([*IDENTITY, ("replicate", pa.int64()), *CURVES, *outcome])


def _type(dtype: str) -> pa.DataType:
    return pa.from_numpy_dtype(np.dtype(dtype))


def simulate_unit(unit: Unit) -> pa.Table:
    """Play a unit and return its rows, horizon by horizon, replicates in order."""
    work = unit.work
    horizons = np.array(unit.horizons, np.int64)
    recorded = checkpoints.grid(work.T, unit.horizons)
    outcome = work.play(unit.seed, range(unit.start, unit.stop), recorded, horizons)
    family = FAMILIES[work.algorithm.family]
    tables = []
    for h, (T, cell) in enumerate(zip(unit.horizons, unit.cells, strict=True)):
        arrays = _identity(unit, T, cell)
        kept = checkpoints.grid(T) if family.has_regret else recorded[:0]
        # a cell's own checkpoints, whatever else the run recorded
        regret = np.zeros((unit.stop - unit.start, 0))
        if family.has_regret:
            regret = outcome["regret"][:, np.searchsorted(recorded, kept)]
        arrays["checkpoints"] = _lists(np.broadcast_to(kept, regret.shape))
        arrays["regret"] = _lists(regret)
        for column in family.columns:
            values = outcome[column.name][:, h]
            arrays[column.name] = _lists(values) if column.is_list else pa.array(values)
        tables.append(pa.table(arrays, schema=schema(family)))
    return pa.concat_tables(tables)


def _identity(unit: Unit, T: int, cell: str) -> dict[str, pa.Array]:
    count = unit.stop - unit.start
    values = identity_columns(unit.work, unit.seed, cell) | {"T": T}
    types = dict(IDENTITY)
    arrays = {key: pa.repeat(pa.scalar(value, types[key]), count) for key, value in values.items()}
    arrays["replicate"] = pa.array(np.arange(unit.start, unit.stop, dtype=np.int64))
    return arrays


def _lists(values: np.ndarray) -> pa.ListArray:
    """A list column from an array (rows, entries)."""
    rows, entries = values.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(entries)
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(values).ravel()))
