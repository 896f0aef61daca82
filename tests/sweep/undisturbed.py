"""The rows a sweep must leave, simulated in the test's own process."""

from __future__ import annotations

import pyarrow as pa
from test_plan import planned

from sweep.engine.worker import play_units
from sweep.grid.units import Pending, Unit


def unit_rows(unit: Unit) -> pa.Table:
    """The rows of one unit, horizon by horizon, replicates in order."""
    played = play_units([unit])
    assert not played.failed, played.failed
    [table] = played.tables.values()
    return table


def undisturbed_rows(*overrides: str) -> pa.Table:
    """The rows of a grid's cells, sorted by cell and replicate."""
    plan, _ = planned(*overrides)
    table = pa.concat_tables(map(unit_rows, Pending(plan)))
    return table.sort_by([("cell", "ascending"), ("replicate", "ascending")])
