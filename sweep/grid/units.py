"""What is still to be simulated, as units of work: counted at once, made one by one.

A unit is a block of replicates of one run: cells of one stream that differ in T only are played
together, to the largest T that still misses rows. Only a few bytes of each run are held.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from algos.instances import Instance
from algos.registry import Algorithm
from algos.work import Work
from sweep.grid.effort import More, grid_targets
from sweep.grid.inventory import Inventory
from sweep.grid.plan import Plan, Section

REPLICATE_OVERHEAD = 4e-6  # seconds: building and encoding a row
STEP = 1e-9  # seconds of an elementary step, before measurements correct it
UNIT_SECONDS = 1.0
UNIT_REPLICATES = 10_000  # at most, so that what a unit records fits in some tens of megabytes

# A correction factor by (algorithm, version, kind of instance), from measured seconds.
Corrections = Mapping[tuple[str, int, str], float]


@dataclass(frozen=True)
class Unit:
    """Replicates start … stop - 1 of a stream, played once to the largest of `horizons`.

    One row per replicate and horizon comes of it; `cells` are the horizons' cell identities,
    `numbers` their numbers in the plan, `seconds` what is expected.
    """

    work: Work
    seed: int
    start: int
    stop: int
    horizons: tuple[int, ...]
    cells: tuple[str, ...]
    numbers: tuple[int, ...]
    seconds: float

    @property
    def rows(self) -> int:
        """How many rows the unit yields."""
        return (self.stop - self.start) * len(self.horizons)

    @property
    def rounds(self) -> int:
        """How many rounds it simulates."""
        return (self.stop - self.start) * self.horizons[-1]


def expected_seconds(
    algorithm: Algorithm,
    instance: Instance,
    epsilon: float | None,
    T: int,
    corrections: Corrections | None = None,
) -> float:
    """Expected seconds of one replicate."""
    means = instance.means if algorithm.cost_by_gaps is not None else None
    steps = algorithm.steps(T, instance.sizes, means, epsilon) + instance.draw_cost * T
    seconds = REPLICATE_OVERHEAD + STEP * steps
    if corrections:
        key = (algorithm.name, algorithm.version, instance.kind)
        seconds *= corrections.get(key, 1.0)
    return seconds


@dataclass(frozen=True)
class Added:
    """What a rule's request comes to: units, and how many replicates each cell lacks by it."""

    units: list[Unit]
    lacking: np.ndarray  # int64 (cells,)


class Pending:
    """What a store lacks of a plan; iterating makes its units, longest first.

    Args:
        plan: the sweep's cells.
        inventory: what the store has; None for nothing.
        block: replicates in a unit; None sizes a unit to about a second.
        corrections: factors for the expected seconds.

    Attributes:
        targets: int64 (cells,), the replicates that each cell is wanted with.
        lacking: int64 (cells,), the replicates that each cell lacks.
        replicates: their sum.
        units: how many units there are.
        seconds: the expected seconds of all of them.
    """

    def __init__(
        self,
        plan: Plan,
        inventory: Inventory | None = None,
        block: int | None = None,
        corrections: Corrections | None = None,
    ) -> None:
        self.plan, self.block = plan, block
        self.corrections = corrections or {}
        self.targets = self.lacking = np.empty(0, np.int64)
        self.replicates, self.units, self.seconds = 0, 0, 0.0
        self._inventories: list[tuple[int, Inventory | None]] = []  # by their first cells
        # Per section and run: its first cell, and the expected seconds of its longest unit.
        self._runs = self._take(plan.sections, inventory)
        self._at_first = self.targets.copy()

    def __bool__(self) -> bool:
        return self.replicates > 0

    def __iter__(self) -> Iterator[Unit]:
        """All units; those of the run with the longest units first."""
        nothing = np.zeros_like(self._at_first)
        for first in self._runs["first"][np.argsort(-self._runs["unit"], kind="stable")].tolist():
            yield from self._units(first, nothing, self._at_first)

    def kernels(self) -> list[Work]:
        """One piece of work for each compiled kernel that the units need."""
        needed: dict[tuple[str, str], Work] = {}
        for section, first in zip(self.plan.sections, self.plan.first, strict=True):
            size = section.cells // len(section.instances)
            for number, work in section.samples():
                key = (section.algorithm.name, work.instance.kind)
                start = first + number
                if key not in needed and self.lacking[start : start + size].any():
                    needed[key] = work
        return list(needed.values())

    def add(self, more: More, look: Callable[[Inventory], Inventory | None]) -> Added:
        """Take what a rule asks for.

        Args:
            more: higher targets, and sections of cells that the plan does not have.
            look: shows a new inventory the store's rows.
        """
        before, cells = self.targets.copy(), len(self.plan)
        for number, target in more.targets.items():
            self.targets[number] = max(int(self.targets[number]), target)
        raised = np.flatnonzero(self.targets > before)
        owners = (self.plan.section(number) for number in raised.tolist())
        starts = (
            number - (number - first) % section.served
            for number, (section, first) in zip(raised.tolist(), owners, strict=True)
        )
        units = [
            unit
            for start in dict.fromkeys(starts)
            for unit in self._units(start, before, self.targets)
        ]
        lacking = np.zeros(cells, np.int64)
        for unit in units:
            lacking[list(unit.numbers)] += unit.stop - unit.start
        self.lacking = self.lacking + lacking
        self.replicates += int(lacking.sum())
        self.units += len(units)
        self.seconds += sum(unit.seconds for unit in units)
        if more.sections:
            self.plan.extend(more.sections)
            runs = self._take(more.sections, look(Inventory(self.plan, cells)))
            nothing = np.zeros_like(self.targets)
            for first in runs["first"].tolist():
                units += self._units(first, nothing, self.targets)
            lacking = np.concatenate([lacking, self.lacking[cells:]])
        return Added(sorted(units, key=lambda unit: -unit.seconds), lacking)

    def _take(self, sections: Iterable[Section], inventory: Inventory | None) -> np.ndarray:
        """Count the last sections of the plan; their runs that lack something."""
        sections = tuple(sections)
        since = len(self.targets)
        self._inventories.append((since, inventory))
        self.targets = np.concatenate([self.targets, grid_targets(sections)])
        lacking = self.targets.copy()
        if inventory is not None:
            lacking -= inventory.have(self.targets)
        self.lacking = np.concatenate([self.lacking, lacking[since:]])
        self.replicates += int(lacking[since:].sum())
        runs = [np.empty(0, [("first", "i8"), ("unit", "f4")])]
        for section in sections:
            runs.append(self._count(section, since))
            since += section.cells
        return np.concatenate(runs)

    def _count(self, section: Section, first: int) -> np.ndarray:
        """The section's runs that lack something; adds up their units."""
        served = section.served
        lacking = self.lacking[first : first + section.cells].reshape(-1, served)
        # A run that has nothing yet needs no look at its stretches of replicates.
        whole = (lacking == section.replicates).all(axis=1)
        runs = np.empty(int(lacking.any(axis=1).sum()), [("first", "i8"), ("unit", "f4")])
        nothing = np.zeros_like(self.targets)
        for row, run in enumerate(np.flatnonzero(lacking.any(axis=1)).tolist()):
            longest = 0.0
            cell = first + run * served
            spans: Iterable[tuple[int, int, int]] = ((0, section.replicates, served),)
            if not whole[run]:
                spans = self._spans(cell, section, nothing, self.targets)
            for start, stop, last in spans:
                seconds = self._seconds(section, run * served + last - 1)
                size = self._size(stop - start, seconds)
                self.units += -(-(stop - start) // size)
                self.seconds += (stop - start) * seconds
                longest = max(longest, min(size, stop - start) * seconds)
            runs[row] = (cell, longest)
        return runs

    def _seconds(self, section: Section, number: int) -> float:
        """Expected seconds of a replicate of the section's cell `number`."""
        instance, epsilon, T = section.point(number)
        return expected_seconds(section.algorithm, instance, epsilon, T, self.corrections)

    def _size(self, replicates: int, seconds: float) -> int:
        most = min(replicates, UNIT_REPLICATES, math.floor(UNIT_SECONDS / seconds))
        return self.block or max(1, most)

    def _spans(
        self, cell: int, section: Section, low: np.ndarray, high: np.ndarray
    ) -> Iterator[tuple[int, int, int]]:
        """Stretches of a run's replicates, with how many cells they must be played to."""
        for start, stop, lacks in self._missing(cell, section, low, high):
            yield start, stop, int(np.flatnonzero(lacks)[-1]) + 1

    def _missing(
        self, cell: int, section: Section, low: np.ndarray, high: np.ndarray
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """Stretches of replicates (start, stop) that miss the same of a run's cells.

        Of each cell the replicates low … high - 1 count; both are int64 (cells,).
        """
        own = slice(cell, cell + section.served)
        count = int(high[own].max())
        inventory = next(found for since, found in reversed(self._inventories) if cell >= since)
        present = [
            (start, stop, column)
            for column in range(section.served)
            for start, stop in (inventory.stretches(cell + column) if inventory else ())
        ]
        if not present and not low[own].any() and (high[own] == count).all():
            yield 0, count, np.ones(section.served, dtype=bool)
            return
        replicates = np.arange(count)[:, None]
        lacks = (low[own] <= replicates) & (replicates < high[own])
        for start, stop, column in present:
            lacks[start:stop, column] = False
        changes = np.flatnonzero((lacks[1:] != lacks[:-1]).any(axis=1)) + 1
        for start, stop in itertools.pairwise([0, *changes.tolist(), count]):
            if lacks[start].any():
                yield start, stop, lacks[start]

    def _units(self, first: int, low: np.ndarray, high: np.ndarray) -> Iterator[Unit]:
        """The units of the run whose first cell has this number; arguments as `_missing`."""
        section, before = self.plan.section(first)
        cells = [self.plan[first + column] for column in range(section.served)]
        for start, stop, lacks in self._missing(first, section, low, high):
            columns = np.flatnonzero(lacks).tolist()
            missing = [cells[column] for column in columns]
            seconds = self._seconds(section, first - before + columns[-1])
            size = self._size(stop - start, seconds)
            for begin in range(start, stop, size):
                end = min(stop, begin + size)
                yield Unit(
                    work=missing[-1].work,
                    seed=self.plan.seed,
                    start=begin,
                    stop=end,
                    horizons=tuple(cell.T for cell in missing),
                    cells=tuple(cell.id for cell in missing),
                    numbers=tuple(first + column for column in columns),
                    seconds=seconds * (end - begin),
                )
