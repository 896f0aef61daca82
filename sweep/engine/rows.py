"""Rows: what units of work leave behind, as Arrow tables.

One row per (cell, replicate), deterministic columns only. The `instance` column is derived from
the definition, so a row does not depend on how the sweep that made it was written. A cell's
checkpoints follow from its T, so they are left null (`sweep.store.columns`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from algos import checkpoints
from algos.families import Family, Outcome
from sweep.grid.manifest import identity_columns
from sweep.grid.units import Unit
from sweep.store.columns import IDENTITY, row_schema


def schema(family: Family) -> pa.Schema:
    """The columns of a row of `family`."""
    outcome = [
        (column.name, pa.list_(_type(column.dtype)) if column.is_list else _type(column.dtype))
        for column in family.columns
    ]
    return row_schema(outcome)


def _type(dtype: str) -> pa.DataType:
    return pa.from_numpy_dtype(np.dtype(dtype))


@lru_cache(maxsize=256)
def recorded(horizons: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The checkpoints that a run to these horizons records, and the horizons as an array."""
    return checkpoints.grid(horizons[-1], horizons), np.array(horizons, np.int64)


@lru_cache(maxsize=1024)
def kept(T: int, horizons: tuple[int, ...]) -> tuple[np.ndarray, slice | np.ndarray]:
    """A cell's own checkpoints, whatever else the run recorded, and where the run has them."""
    own = checkpoints.grid(T)
    at = np.searchsorted(recorded(horizons)[0], own)
    # A slice copies nothing.
    return own, slice(0, len(own)) if at[-1] == len(own) - 1 else at


class RowBuilder:
    """Gathers outcomes of one family's units; column by column, because units are many."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self._begin()

    def _begin(self) -> None:
        self.size = 0  # bytes that are gathered, about
        self.identities: list[Mapping[str, Any]] = []
        self.counts: list[int] = []  # rows of each identity
        self.starts: list[int] = []  # their first replicates
        self.values: dict[str, list[np.ndarray]] = {
            name: [] for name in ("regret", *(column.name for column in self.family.columns))
        }

    def add(self, unit: Unit, outcome: Outcome) -> None:
        """Take the outcome of a unit: horizon by horizon, replicates in order."""
        common = identity_columns(unit.work, unit.seed, "")  # shared by all cells of a stream
        count = unit.stop - unit.start
        for h, (T, cell) in enumerate(zip(unit.horizons, unit.cells, strict=True)):
            self.identities.append({**common, "T": T, "cell": cell})
            self.counts.append(count)
            self.starts.append(unit.start)
            regret = np.zeros((count, 0))
            if self.family.has_regret:
                regret = outcome["regret"][:, kept(T, unit.horizons)[1]]
            self.values["regret"].append(regret)
            for column in self.family.columns:
                self.values[column.name].append(outcome[column.name][:, h])
            self.size += sum(parts[-1].nbytes for parts in self.values.values())

    def table(self) -> pa.Table:
        """The rows, unit by unit; what comes next begins anew."""
        owners = pa.array(np.repeat(np.arange(len(self.counts)), self.counts))
        arrays = {
            name: pa.array([identity[name] for identity in self.identities], kind).take(owners)
            for name, kind in IDENTITY
        }
        arrays["replicate"] = pa.array(
            np.concatenate(
                [
                    np.arange(start, start + count)
                    for start, count in zip(self.starts, self.counts, strict=True)
                ]
            )
        )
        lists = {"regret", *(column.name for column in self.family.columns if column.is_list)}
        for name, parts in self.values.items():
            arrays[name] = _lists(parts) if name in lists else pa.array(np.concatenate(parts))
        columns = schema(self.family)
        rounds = columns.field("checkpoints").type
        arrays["checkpoints"] = (
            pa.nulls(len(owners), rounds)
            if self.family.has_regret
            else pa.repeat(pa.scalar([], rounds), len(owners))
        )
        self._begin()
        return pa.table(arrays, schema=columns)


def _lists(parts: list[np.ndarray]) -> pa.ListArray:
    """A list column from arrays (rows, entries), one below the other."""
    lengths = np.repeat([part.shape[1] for part in parts], [part.shape[0] for part in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, pa.array(np.concatenate([p.ravel() for p in parts])))
