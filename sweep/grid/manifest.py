"""A sweep's manifest: its cells, one row each, written piece by piece."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sweep.grid.plan import Plan, describe
from sweep.store.columns import MANIFEST
from sweep.store.files import write_atomically

PIECE = 10_000  # cells held at once


def write_manifest(path: Path, plan: Plan) -> None:
    """Write the cells of a plan, in its order."""

    def write(temporary: Path) -> None:
        with pq.ParquetWriter(temporary, MANIFEST) as writer:
            for piece in _pieces(plan):
                writer.write_table(piece)

    write_atomically(path, write)


def _pieces(plan: Plan) -> Iterator[pa.Table]:
    cells = iter(plan)
    while rows := [describe(cell) for cell in itertools.islice(cells, PIECE)]:
        yield pa.Table.from_pylist(rows, schema=MANIFEST)
