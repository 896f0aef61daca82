"""The rows a sweep must leave, simulated in the test's own process."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from test_plan import planned

from sweep.engine.worker import Played, Worker
from sweep.grid.units import Pending, Unit


def unit_rows(unit: Unit) -> pa.Table:
    """The rows of one unit, horizon by horizon, replicates in order."""
    played, [table] = played_units([unit])
    assert not played.failed, played.failed
    return table


def played_units(units: Sequence[Unit]) -> tuple[Played, list[pa.Table]]:
    """What comes of a batch, and the rows of each family as a segment has them."""
    worker = Worker(None)
    played = worker.play(0, units, "nothing")
    segments = worker.put_away().segments
    return played, [pq.read_table(pa.BufferReader(segment.content)) for segment in segments]


def undisturbed_rows(*overrides: str) -> pa.Table:
    """The rows of a grid's cells, sorted by cell and replicate."""
    plan, _ = planned(*overrides)
    table = pa.concat_tables(map(unit_rows, Pending(plan)))
    return table.sort_by([("cell", "ascending"), ("replicate", "ascending")])
