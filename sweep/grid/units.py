"""What is still to be simulated, as units of work: counted at once, made one by one.

A unit is a block of replicates of one run: cells of one stream that differ in T only are played
together, to the largest T that still misses rows. Only a few bytes of each run are held.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from algos.instances import Instance
from algos.registry import Algorithm
from algos.simulate import Work
from sweep.grid.inventory import Inventory, wanted_replicates
from sweep.grid.plan import Plan, Section

REPLICATE_OVERHEAD = 50e-6  # seconds: seeding a generator, calling a kernel, writing a row
STEP = 1e-9  # seconds of an elementary step, before measurements correct it
UNIT_SECONDS = 1.0

# A correction factor by (algorithm, version, distribution), from measured seconds.
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
    steps = algorithm.cost(float(T), instance.K, epsilon) + instance.draw_cost * T
    seconds = REPLICATE_OVERHEAD + STEP * steps
    if corrections:
        key = (algorithm.name, algorithm.version, instance.distribution)
        seconds *= corrections.get(key, 1.0)
    return seconds


class Pending:
    """What a store lacks of a plan; iterating makes its units, longest first.

    Args:
        plan: the sweep's cells.
        present: what the store has; None for nothing.
        block: replicates in a unit; None sizes a unit to about a second.
        corrections: factors for the expected seconds.

    Attributes:
        lacking: int64 (cells,), the replicates that each cell lacks.
        replicates: their sum.
        units: how many units there are.
        seconds: the expected seconds of all of them.
    """

    def __init__(
        self,
        plan: Plan,
        present: Inventory | None = None,
        block: int | None = None,
        corrections: Corrections | None = None,
    ) -> None:
        self.plan, self.present, self.block = plan, present, block
        self.corrections = corrections or {}
        self.lacking = wanted_replicates(plan)
        if present is not None:
            self.lacking = self.lacking - present.have()
        self.replicates = int(self.lacking.sum())
        self.units, self.seconds = 0, 0.0
        # Per section and run: its first cell, and the expected seconds of its longest unit.
        self._runs: list[np.ndarray] = []
        for section, first in zip(plan.sections, plan.first, strict=True):
            self._count(section, first)

    def __bool__(self) -> bool:
        return self.replicates > 0

    def __iter__(self) -> Iterator[Unit]:
        """All units; those of the run with the longest units first."""
        if not self._runs:
            return
        runs = np.concatenate(self._runs)
        for first in runs["first"][np.argsort(-runs["unit"], kind="stable")].tolist():
            yield from self._units(first)

    def kernels(self) -> list[Work]:
        """One piece of work for each compiled kernel that the units need."""
        needed: dict[tuple[str, str], Work] = {}
        for section, first in zip(self.plan.sections, self.plan.first, strict=True):
            size = section.cells // len(section.instances)
            for i, instance in enumerate(section.instances):
                key = (section.algorithm.name, instance.distribution)
                start = first + i * size
                if key not in needed and self.lacking[start : start + size].any():
                    needed[key] = section.work(i * size)
        return list(needed.values())

    def _count(self, section: Section, first: int) -> None:
        """Note the section's runs that lack something, and add up their units."""
        served = section.served
        lacking = self.lacking[first : first + section.cells].reshape(-1, served)
        # A run that has nothing yet needs no look at its stretches of replicates.
        whole = (lacking == section.replicates).all(axis=1)
        runs = np.empty(int(lacking.any(axis=1).sum()), [("first", "i8"), ("unit", "f4")])
        for row, run in enumerate(np.flatnonzero(lacking.any(axis=1)).tolist()):
            longest = 0.0
            cell = first + run * served
            one = [(0, section.replicates, served)] if whole[run] else None
            for start, stop, last in one or self._spans(cell, section):
                seconds = self._seconds(section, run * served + last - 1)
                size = self._size(stop - start, seconds)
                self.units += -(-(stop - start) // size)
                self.seconds += (stop - start) * seconds
                longest = max(longest, min(size, stop - start) * seconds)
            runs[row] = (cell, longest)
        self._runs.append(runs)

    def _seconds(self, section: Section, number: int) -> float:
        """Expected seconds of a replicate of the section's cell `number`."""
        number, h = divmod(number, len(section.horizons))
        i, e = divmod(number, len(section.epsilons))
        return expected_seconds(
            section.algorithm,
            section.instances[i],
            section.epsilons[e],
            section.horizons[h],
            self.corrections,
        )

    def _size(self, replicates: int, seconds: float) -> int:
        return self.block or max(1, min(replicates, math.floor(UNIT_SECONDS / seconds)))

    def _spans(self, cell: int, section: Section) -> Iterator[tuple[int, int, int]]:
        """Stretches of a run's replicates, with how many cells they must be played to."""
        for start, stop, lacks in self._missing(cell, section):
            yield start, stop, int(np.flatnonzero(lacks)[-1]) + 1

    def _missing(self, cell: int, section: Section) -> Iterator[tuple[int, int, np.ndarray]]:
        """Stretches of replicates (start, stop) that miss the same of a run's cells."""
        lacking = self.lacking[cell : cell + section.served]
        if (lacking == section.replicates).all():
            yield 0, section.replicates, np.ones(section.served, dtype=bool)
            return
        lacks = np.ones((section.replicates, section.served), dtype=bool)
        if self.present is not None:
            for column in range(section.served):
                for start, stop in self.present.stretches(cell + column):
                    lacks[start:stop, column] = False
        changes = np.flatnonzero((lacks[1:] != lacks[:-1]).any(axis=1)) + 1
        for start, stop in itertools.pairwise([0, *changes.tolist(), section.replicates]):
            if lacks[start].any():
                yield start, stop, lacks[start]

    def _units(self, first: int) -> Iterator[Unit]:
        """The units of the run whose first cell has this number."""
        section, before = self.plan.section(first)
        cells = [self.plan[first + column] for column in range(section.served)]
        for start, stop, lacks in self._missing(first, section):
            columns = np.flatnonzero(lacks).tolist()
            missing = [cells[column] for column in columns]
            seconds = self._seconds(section, first - before + columns[-1])
            size = self._size(stop - start, seconds)
            for low in range(start, stop, size):
                high = min(stop, low + size)
                yield Unit(
                    work=missing[-1].work,
                    seed=self.plan.seed,
                    start=low,
                    stop=high,
                    horizons=tuple(cell.T for cell in missing),
                    cells=tuple(cell.id for cell in missing),
                    numbers=tuple(first + column for column in columns),
                    seconds=seconds * (high - low),
                )
