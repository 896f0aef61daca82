"""Which W&B runs a sweep has, and the points it logs as its cells complete.

One run per cell while they are few (regret against t), else one per series (regret against ε),
else none beside the sweep's own. A point is computed from the replicates that the grid asks of a
cell, in their order, so it is the same number (a curve's to rounding) whenever and wherever it is
computed, also where a rule has raised the cell's target. Cells of a family without regret have
none of these runs; what the analysis finds in them is in the sweep's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from algos.families import FAMILIES
from algos.identity import canonical, digest
from sweep.engine.shown import Moments, Shown, View, moments
from sweep.grid.manifest import describe
from sweep.grid.plan import Cell, Plan
from sweep.grid.units import Unit
from sweep.tracking import MAX_RUNS, RunSpec

Point = dict[str, Any]

MOST_CELLS = 10_000  # with points; a plot of more shows nothing


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
        plan: the sweep's cells.
        limit: the largest number of runs wanted beside the sweep's own.

    Attributes:
        runs: the runs beside the sweep's own; none where there would be too many.
        cells: how many cells have points in them.
        curves: whether each run is a cell, regret against t.
    """

    def __init__(self, plan: Plan, limit: int) -> None:
        limit = min(limit, MAX_RUNS)
        self.plan = plan
        shown = [
            (section, first)
            for section, first in zip(plan.sections, plan.first, strict=True)
            if FAMILIES[section.algorithm.family].has_regret
        ]
        self.cells = sum(section.cells for section, _ in shown)
        self.curves = self.cells <= limit
        series = sum(section.cells // len(section.epsilons) for section, _ in shown)
        self.runs: list[RunSpec] = []
        self._run_of: dict[int, str] = {}  # by the number of the cell
        self._parts: dict[int, dict[int, Moments | np.ndarray]] = {}
        self._counts: dict[int, int] = {}
        if (self.cells if self.curves else series) > limit or self.cells > MOST_CELLS:
            self.cells = 0
            return
        for section, first in shown:
            for number in range(first, first + section.cells):
                cell = plan[number]
                run = self._run(cell)[:8]
                if run not in {spec.id for spec in self.runs}:
                    self.runs.append(self._spec(run, number, cell))
                self._run_of[number] = run

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

    def _spec(self, run: str, number: int, cell: Cell) -> RunSpec:
        replicates = self.plan.section(number)[0].replicates
        described = describe(cell, cell.work.instance, replicates)
        config = {key: value for key, value in described.items() if value is not None}
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

    @property
    def view(self) -> View:
        """What of a unit's runs these points are made of."""
        if not self.runs:
            return "nothing"
        return "curves" if self.curves else "finals"

    def add(self, unit: Unit, shown: Shown) -> Iterator[tuple[str, list[Point]]]:
        """Take what a unit shows; yields (run, points) for each cell that is now complete."""
        count = unit.stop - unit.start
        for number, part in zip(unit.numbers, shown, strict=True):
            asked = self.plan.section(number)[0].replicates
            if number not in self._run_of or unit.start >= asked or part is None:
                continue
            self._parts.setdefault(number, {})[unit.start] = part
            self._counts[number] = self._counts.get(number, 0) + count
            if self._counts[number] >= asked:
                parts = self._parts.pop(number)
                yield self._run_of[number], self._points(number, [parts[i] for i in sorted(parts)])

    def complete(
        self, rows: Iterable[tuple[str, np.ndarray, np.ndarray]]
    ) -> Iterator[tuple[str, list[Point]]]:
        """(run, points) of cells given as (identity, checkpoints, regret (replicates, C))."""
        numbers = {self.plan[number].id: number for number in self._run_of}
        for name, checkpoints, regret in rows if self.runs else ():
            if name not in numbers:
                continue
            number = numbers[name]
            asked = self.plan.section(number)[0].replicates
            part = moments(checkpoints, regret[:asked]) if self.curves else regret[:asked, -1]
            yield self._run_of[number], self._points(number, [part])

    def _points(self, number: int, parts: Sequence[Moments | np.ndarray]) -> list[Point]:
        """The points of a cell, of all its replicates in their order."""
        finals = [part for part in parts if isinstance(part, np.ndarray)]
        if finals:
            values = np.concatenate(finals)
            spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
            summary = _summary(len(values), float(values.mean()), spread)
            return [{"epsilon": self.plan[number].work.epsilon} | summary]
        whole = reduce(Moments.joined, (part for part in parts if isinstance(part, Moments)))
        spreads = np.sqrt(whole.squares / max(1, whole.n - 1))
        return [
            {"t": int(t)} | _summary(whole.n, float(mean), float(spread))
            for t, mean, spread in zip(whole.checkpoints, whole.mean, spreads, strict=True)
        ]


def _summary(n: int, mean: float, spread: float) -> dict[str, float | int]:
    """Mean of n replicates with a normal 95 % interval; `spread` is their standard deviation."""
    half = 1.96 * spread / n**0.5
    return {
        "regret": mean,
        "regret_low": mean - half,
        "regret_high": mean + half,
        "replicates": n,
    }
