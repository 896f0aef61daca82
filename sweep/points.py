"""Which W&B runs a sweep has, and the points it logs as its cells complete.

One run per cell while they are few (regret against t), else one per series (regret against ε),
else none beside the sweep's own. A point is computed from a cell's replicates in their order,
so it is the same number whenever and wherever it is computed. Cells of a family without regret
have none of these runs; what the analysis finds in them is in the sweep's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from algos.families import FAMILIES
from algos.identity import canonical, digest
from sweep.plan import Cell, Unit, describe
from sweep.tracking import MAX_RUNS, RunSpec

Point = dict[str, Any]


def series_name(cell: Cell) -> str:
    """The cells that differ from `cell` in ε only share this name."""
    parts = ", ".join(
        f"{key}={value if isinstance(value, str) else format(value, 'g')}"
        for key, value in cell.work.parameters.items()
        if value
    )
    algorithm = cell.work.algorithm.name + (f"({parts})" if parts else "")
    return f"{algorithm} on {cell.work.instance.label}, T={cell.T:.4g}"


class Points:
    """Gathers a sweep's results cell by cell, for the runs that show them.

    Args:
        cells: the sweep's cells by identity.
        limit: the largest number of runs wanted beside the sweep's own.
    """

    def __init__(self, cells: Mapping[str, Cell], limit: int) -> None:
        limit = min(limit, MAX_RUNS)
        cells = {
            key: cell
            for key, cell in cells.items()
            if FAMILIES[cell.work.algorithm.family].has_regret
        }
        self.cells = cells
        self.curves = len(cells) <= limit
        self.run_of = {key: self._run(cell)[:8] for key, cell in cells.items()}
        first: dict[str, str] = {}
        for key in cells:
            first.setdefault(self.run_of[key], key)
        self.runs: list[RunSpec] = []
        if len(first) <= limit:
            self.runs = [self._spec(run, cells[key]) for run, key in first.items()]
        self._parts: dict[str, dict[int, np.ndarray]] = {}
        self._counts: dict[str, int] = {}

    def _run(self, cell: Cell) -> str:
        """Digits that tell runs apart, where names may be rounded alike."""
        if self.curves:
            return cell.id
        work = cell.work
        parts = (work.algorithm.name, work.algorithm.version, dict(work.parameters),
                 work.instance.definition, cell.T, cell.seed)  # fmt: skip
        return digest(canonical(list(parts)))

    def _name(self, cell: Cell) -> str:
        if not self.curves:
            return series_name(cell)
        epsilon = "" if cell.work.epsilon is None else f", ε={cell.work.epsilon:g}"
        return series_name(cell) + epsilon

    def _spec(self, run: str, cell: Cell) -> RunSpec:
        config = {key: value for key, value in describe(cell).items() if value is not None}
        if not self.curves:
            for key in ("cell", "stream", "epsilon"):
                config.pop(key, None)
        return RunSpec(
            id=run,
            name=self._name(cell),
            config=config,
            x_axis="t" if self.curves else "epsilon",
            job_type="cell" if self.curves else "series",
        )

    def add(self, unit: Unit, table: pa.Table) -> Iterator[tuple[str, list[Point]]]:
        """Take a unit's rows; yields (run, points) for each cell that is now complete."""
        if not self.runs:
            return
        count = unit.stop - unit.start
        for h, name in enumerate(unit.cells):
            if name not in self.cells:
                continue
            part = table.slice(h * count, count)
            regret = np.array(part["regret"].to_pylist()) if self.curves else _last(part["regret"])
            self._parts.setdefault(name, {})[unit.start] = regret
            self._counts[name] = self._counts.get(name, 0) + count
            if self._counts[name] >= self.cells[name].replicates:
                parts = self._parts.pop(name)
                checkpoints = np.array(part["checkpoints"][0].as_py())
                values = np.concatenate([parts[start] for start in sorted(parts)])
                yield self.run_of[name], self._points(name, checkpoints, values)

    def complete(
        self, rows: Iterable[tuple[str, np.ndarray, np.ndarray]]
    ) -> Iterator[tuple[str, list[Point]]]:
        """(run, points) of cells given as (identity, checkpoints, regret (replicates, C))."""
        for name, checkpoints, regret in rows if self.runs else ():
            if name not in self.cells:
                continue
            values = regret if self.curves else regret[:, -1]
            yield self.run_of[name], self._points(name, checkpoints, values)

    def _points(self, name: str, checkpoints: np.ndarray, values: np.ndarray) -> list[Point]:
        if not self.curves:
            return [{"epsilon": self.cells[name].work.epsilon} | _summary(values)]
        return [
            {"t": int(t)} | _summary(np.ascontiguousarray(values[:, i]))
            for i, t in enumerate(checkpoints)
        ]


def _last(lists: pa.ChunkedArray) -> np.ndarray:
    """The last entry of each list."""
    array = lists.combine_chunks()
    return np.asarray(array.flatten())[np.asarray(array.value_lengths()).cumsum() - 1]


def _summary(values: np.ndarray) -> dict[str, float | int]:
    """Mean of the replicates with a normal 95 % interval."""
    n, mean = len(values), float(values.mean())
    half = 1.96 * float(values.std(ddof=1)) / n**0.5 if n > 1 else 0.0
    return {
        "regret": mean,
        "regret_low": mean - half,
        "regret_high": mean + half,
        "replicates": n,
    }
