"""Rows as a sweep stores them, made up; and what a store holds, read without its code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sweep.store import Store
from sweep.store.columns import row_schema

Key = tuple[str, int]
SCHEMA = row_schema([("pulls", pa.list_(pa.int64()))])


def table(
    cell: str, replicates: Iterable[int], points: int = 6, definition: str = "{}"
) -> pa.Table:
    """Rows of a cell, each a function of cell and replicate."""
    rows = []
    for replicate in replicates:
        rng = np.random.default_rng([*cell.encode(), replicate])
        row = {
            "cell": cell, "stream": f"s{cell}", "seed": 0, "family": "bandit",
            "algorithm": "ucb1", "version": 1, "parameters": "{}", "instance": "two",
            "instance_definition": definition, "epsilon": None, "K": 2, "N": None, "T": 2 * points,
            "replicate": replicate, "checkpoints": list(range(1, points + 1)),
            "regret": rng.random(points).cumsum(), "pulls": [points, points],
        }  # fmt: skip
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def timings(seconds: float) -> pa.Table:
    """A timing of one unit."""
    row = {"algorithm": "ucb1", "version": 1, "distribution": "bernoulli", "stream": "s"}
    return pa.Table.from_pylist([row | {"seconds": seconds, "uncorrected": 4.0}])


def everything(cells: pa.ChunkedArray) -> bool:
    """All segments matter."""
    return True


def scanned(store: Store, set_aside: bool = False) -> list[Key]:
    """(cell, replicate) of all rows that a scan yields, sorted, with duplicates."""
    found: list[Key] = []
    for part in store.scan(everything, set_aside):
        found += zip(part["cell"].to_pylist(), part["replicate"].to_pylist(), strict=True)
    return sorted(found)


def held(folder: Path) -> pa.Table:
    """All rows of a local store, read by Arrow alone, sorted."""
    tables = [pq.read_table(path) for path in sorted((folder / "rows").glob("[!.]*.parquet"))]
    rows = pa.concat_tables(tables, promote_options="default")
    return rows.sort_by([("cell", "ascending"), ("replicate", "ascending")])


def distinct(rows: pa.Table) -> pa.Table:
    """Sorted rows without the repeated (cell, replicate)."""
    keys = list(zip(rows["cell"].to_pylist(), rows["replicate"].to_pylist(), strict=True))
    return rows.filter(pa.array([i == 0 or key != keys[i - 1] for i, key in enumerate(keys)]))


def fill(store: Store, cells: Sequence[str], each: int, step: int = 2) -> pa.Table:
    """Append `each` replicates of the cells, `step` to a segment; returns all rows, sorted."""
    tables = []
    for start in range(0, each, step):
        tables += [table(cell, range(start, min(each, start + step))) for cell in cells]
        store.append_rows(tables[-len(cells) :])
    return pa.concat_tables(tables).sort_by([("cell", "ascending"), ("replicate", "ascending")])
