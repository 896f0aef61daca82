"""The rows a sweep must leave, simulated in the test's own process."""

from __future__ import annotations

import pyarrow as pa
from test_plan import planned

from sweep.engine.rows import simulate_unit
from sweep.grid.units import Pending


def undisturbed_rows(*overrides: str) -> pa.Table:
    """The rows of a grid's cells, sorted by cell and replicate."""
    plan, _ = planned(*overrides)
    table = pa.concat_tables(map(simulate_unit, Pending(plan)))
    return table.sort_by([("cell", "ascending"), ("replicate", "ascending")])
