"""The rows of a sweep as one table, in the manifest's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sweep.store.cells import Cells, replicates_below, stream
from sweep.store.checkpoints import checkpoints_of, lists_of
from sweep.store.store import Store


@dataclass(frozen=True)
class Rows:
    """Rows of a sweep, ordered by the rows of its manifest and by replicate.

    Attributes:
        manifest_row: int64 (rows,), which row of the manifest each belongs to.
        columns: an array (rows,) by name: `replicate`; `checkpoints` and `regret`, whose entries
            are arrays (m,); and each outcome column of the families present. Lists are arrays;
            what a row lacks is None, or NaN among numbers.
    """

    manifest_row: np.ndarray
    columns: dict[str, np.ndarray]


def read_rows(store: Store, manifest: pa.Table) -> Rows:
    """The rows of a sweep's cells: of each the replicates below the target, each once.

    A cell that stands in the manifest under several names has its rows under each. All are held in
    memory at once; `cells.stream` gives them a cell at a time, and raises the same errors.

    Args:
        store: where the rows are; segments may be compacted meanwhile.
        manifest: columns cell, stream, seed, T, anytime and replicates.
    """
    cells = Cells.of(manifest)
    rows = {one.cell: one.rows for one in stream(store, cells)}
    wanted = manifest["replicates"].to_numpy()
    places = [place for place, cell in enumerate(cells.number.tolist()) if cell in rows]
    tables = [replicates_below(rows[int(cells.number[i])], int(wanted[i])) for i in places]
    if not tables:
        return Rows(np.empty(0, np.int64), {})
    rounds = manifest["T"].to_numpy()
    whole = pa.concat_tables(tables)
    columns = {name: values(whole[name]) for name in whole.column_names if name != "checkpoints"}
    grids = [
        grid
        for i, table in zip(places, tables, strict=True)
        for chunk in table["checkpoints"].chunks
        for grid in checkpoints_of(chunk, int(rounds[i]))
    ]
    known = np.fromiter(grids, dtype=object, count=len(grids))
    columns = {"replicate": columns.pop("replicate"), "checkpoints": known, **columns}
    return Rows(np.repeat(places, [len(table) for table in tables]), columns)


def values(column: pa.ChunkedArray) -> np.ndarray:
    """A column as an array; numbers with nulls as floats with NaN, lists as arrays."""
    if not pa.types.is_list(column.type):
        return column.to_numpy()
    entries = [entry for chunk in column.chunks for entry in lists_of(chunk)]
    return np.fromiter(entries, dtype=object, count=len(entries))
