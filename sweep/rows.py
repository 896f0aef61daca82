"""Rows: what a unit of work leaves behind, as an Arrow table.

One row per (cell, replicate), deterministic columns only. The `instance` column is derived from
the definition, so a row does not depend on how the sweep that made it was written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from algos import checkpoints
from algos.families import FAMILIES, Family
from algos.identity import canonical
from sweep.plan import Unit

IDENTITY = (
    ("cell", pa.string()),
    ("stream", pa.string()),
    ("seed", pa.int64()),
    ("replicate", pa.int64()),
    ("family", pa.string()),
    ("algorithm", pa.string()),
    ("version", pa.int64()),
    ("parameters", pa.string()),
    ("instance", pa.string()),
    ("instance_definition", pa.string()),
    ("epsilon", pa.float64()),
    ("K", pa.int64()),
    ("N", pa.int64()),
    ("T", pa.int64()),
    ("checkpoints", pa.list_(pa.int64())),
    ("regret", pa.list_(pa.float64())),
)


def schema(family: Family) -> pa.Schema:
    """The columns of a row of `family`."""
    outcome = [
        (column.name, pa.list_(_type(column.dtype)) if column.is_list else _type(column.dtype))
        for column in family.columns
    ]
    return pa.schema([*IDENTITY, *outcome])


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
    work = unit.work
    entry, instance = work.algorithm, work.instance
    count = unit.stop - unit.start
    values: dict[str, Any] = {
        "cell": cell,
        "stream": work.stream,
        "seed": unit.seed,
        "family": entry.family,
        "algorithm": entry.name,
        "version": entry.version,
        "parameters": canonical(work.parameters),
        "instance": instance.label,
        "instance_definition": instance.definition,
        "epsilon": work.epsilon,
        "K": instance.K if "K" in FAMILIES[entry.family].axes else None,
        "N": None,
        "T": T,
    }
    types = dict(IDENTITY)
    arrays = {key: pa.repeat(pa.scalar(value, types[key]), count) for key, value in values.items()}
    arrays["replicate"] = pa.array(np.arange(unit.start, unit.stop, dtype=np.int64))
    return arrays


def _lists(values: np.ndarray) -> pa.ListArray:
    """A list column from an array (rows, entries)."""
    rows, entries = values.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(entries)
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(values).ravel()))
