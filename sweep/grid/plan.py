"""The cells of a sweep, counted and numbered but never all held at once.

A plan is one section per algorithm: the product of the instances it can play, its ε and its T.
A cell is made from its number when it is needed, so a plan of a million cells is as small as its
axes. Cells of one stream that differ in T only (anytime algorithms) form one run; for other
algorithms every cell is a run of its own.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from algos.identity import canonical, cell_id
from algos.instances import Instance
from algos.registry import Algorithm, Value
from algos.work import Work


@dataclass(frozen=True)
class Cell:
    """One point of the grid."""

    work: Work
    seed: int
    id: str

    @property
    def T(self) -> int:
        """The cell's rounds."""
        return self.work.T


@dataclass(frozen=True)
class Section:
    """The cells of one algorithm: instances × epsilons × horizons, horizons fastest.

    `epsilons` is (None,) where the algorithm uses none; `horizons` ascend; `replicates` are what
    the grid asks of each cell.
    """

    algorithm: Algorithm
    parameters: Mapping[str, Value]
    replicates: int
    instances: tuple[Instance, ...]
    epsilons: tuple[float | None, ...]
    horizons: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells the section has."""
        return len(self.instances) * len(self.epsilons) * len(self.horizons)

    @property
    def served(self) -> int:
        """How many cells, one after the other, one run serves."""
        return len(self.horizons) if self.algorithm.anytime else 1

    def point(self, number: int) -> tuple[Instance, float | None, int]:
        """Instance, ε and T of the section's cell `number`."""
        number, h = divmod(number, len(self.horizons))
        i, e = divmod(number, len(self.epsilons))
        return self.instances[i], self.epsilons[e], self.horizons[h]

    def samples(self) -> Iterator[tuple[int, Work]]:
        """For each instance the number of its first cell in the section, and that cell's work."""
        for number in range(0, self.cells, self.cells // max(1, len(self.instances))):
            yield number, self.work(number)

    def work(self, number: int) -> Work:
        """The work of the section's cell `number`."""
        instance, epsilon, T = self.point(number)
        return Work(self.algorithm, instance, epsilon, T, self.parameters)


class Plan:
    """The cells of a sweep, numbered from 0, and the combinations left out.

    Attributes:
        sections: the cells by algorithm.
        seed: the sweep's seed.
        dropped: how many combinations make no sense, by reason.
        shown: by definition, the instances under every label that the grid gives them; a section
            has the first of each.
        first: per section the number of its first cell.
    """

    def __init__(
        self,
        sections: Sequence[Section],
        seed: int,
        dropped: Mapping[str, int],
        shown: Mapping[str, Sequence[Instance]] | None = None,
    ) -> None:
        self.sections: list[Section] = []
        self.seed = seed
        self.dropped = dropped
        self.shown = dict(shown or {})
        self.first: list[int] = []
        self.cells = 0
        self.extend(sections)

    def extend(self, sections: Iterable[Section]) -> None:
        """Append sections; the numbers of the cells that are there stay as they are."""
        for section in sections:
            self.sections.append(section)
            self.first.append(self.cells)
            self.cells += section.cells

    def __len__(self) -> int:
        return self.cells

    def __getitem__(self, number: int) -> Cell:
        if not 0 <= number < self.cells:
            raise IndexError(number)
        section, first = self.section(number)
        return self._cell(section, number - first)

    def __iter__(self) -> Iterator[Cell]:
        return self.since(0)

    def since(self, number: int) -> Iterator[Cell]:
        """The cells from `number` on, a section's first one."""
        for section, first in zip(self.sections, self.first, strict=True):
            if first >= number:
                for own in range(section.cells):
                    yield self._cell(section, own)

    def section(self, number: int) -> tuple[Section, int]:
        """The section of cell `number`, and the number of its first cell."""
        s = bisect.bisect_right(self.first, number) - 1
        return self.sections[s], self.first[s]

    @property
    def instances(self) -> list[Instance]:
        """What the cells are played on, each instance once."""
        found = (one for section in self.sections for one in section.instances)
        return list({one.definition: one for one in found}.values())

    def labelled(self, cell: Cell) -> Sequence[Instance]:
        """The cell's instance under every label it is shown with."""
        instance = cell.work.instance
        return self.shown.get(instance.definition) or (instance,)

    def _cell(self, section: Section, number: int) -> Cell:
        work = section.work(number)
        return Cell(work, self.seed, cell_id(work.stream, self.seed, work.T))

    @property
    def combinations(self) -> int:
        """Points of the grid, those left out included."""
        return self.cells + sum(self.dropped.values())

    def name(self, grid: str) -> str:
        """The sweep's ID: its grid's name, and eight digits of what the grid stands for."""
        return f"{grid.replace('/', '-')}-{self.id_digits}"

    @property
    def id_digits(self) -> str:
        """Eight hexadecimal digits of the resolved grid and its seed, in whatever order."""
        lines = [
            canonical(
                [
                    [
                        section.algorithm.name,
                        section.algorithm.version,
                        dict(section.parameters),
                        section.replicates,
                    ],
                    sorted(self._identity(instance) for instance in section.instances),
                    sorted(e for e in section.epsilons if e is not None),
                    section.horizons,
                ]
            )
            for section in self.sections
        ]
        text = "\n".join([str(self.seed), *sorted(lines)])
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def _identity(self, instance: Instance) -> str:
        """The instance's definition; with its labels where the grid shows it under several."""
        labels = sorted(one.label for one in self.shown.get(instance.definition, ()))
        return "\n".join([instance.definition, *(labels if len(labels) > 1 else ())])
