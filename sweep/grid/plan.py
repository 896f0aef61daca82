"""From a grid to its cells, counted and numbered but never all held at once.

A plan is one section per algorithm: the product of the instances it can play, its ε and its T.
A cell is made from its number when it is needed, so a plan of a million cells is as small as its
axes. Cells of one stream that differ in T only (anytime algorithms) form one run; for other
algorithms every cell is a run of its own.
"""

from __future__ import annotations

import bisect
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from algos import instances
from algos.checks import check_count
from algos.errors import InputError, Words
from algos.families import FAMILIES
from algos.identity import canonical, cell_id, parameters_text
from algos.instances import Instance
from algos.registry import Algorithm, Value
from algos.registry import algorithm as registered
from algos.simulate import MOST_REPLICATES, Work, check_T
from sweep.grid import axes
from sweep.grid.config import Settings


@dataclass(frozen=True)
class Cell:
    """One point of the grid, wanted with `replicates` runs."""

    work: Work
    seed: int
    replicates: int
    id: str

    @property
    def T(self) -> int:
        """The cell's rounds."""
        return self.work.T


@dataclass(frozen=True)
class Section:
    """The cells of one algorithm: instances × epsilons × horizons, horizons fastest.

    `epsilons` is (None,) where the algorithm uses none; `horizons` ascend.
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

    def work(self, number: int) -> Work:
        """The work of the section's cell `number`."""
        number, h = divmod(number, len(self.horizons))
        i, e = divmod(number, len(self.epsilons))
        return Work(
            self.algorithm, self.instances[i], self.epsilons[e], self.horizons[h], self.parameters
        )


class Plan:
    """The cells of a sweep, numbered from 0, and the combinations left out.

    Attributes:
        sections: the cells by algorithm.
        seed: the sweep's seed.
        dropped: how many combinations make no sense, by reason.
        first: per section the number of its first cell.
    """

    def __init__(self, sections: Sequence[Section], seed: int, dropped: Mapping[str, int]) -> None:
        self.sections = tuple(sections)
        self.seed = seed
        self.dropped = dropped
        self.first: list[int] = []
        cells = 0
        for section in self.sections:
            self.first.append(cells)
            cells += section.cells
        self.cells = cells

    def __len__(self) -> int:
        return self.cells

    def __getitem__(self, number: int) -> Cell:
        if not 0 <= number < self.cells:
            raise IndexError(number)
        section, first = self.section(number)
        return self._cell(section, number - first)

    def __iter__(self) -> Iterator[Cell]:
        for section in self.sections:
            for number in range(section.cells):
                yield self._cell(section, number)

    def section(self, number: int) -> tuple[Section, int]:
        """The section of cell `number`, and the number of its first cell."""
        s = bisect.bisect_right(self.first, number) - 1
        return self.sections[s], self.first[s]

    def _cell(self, section: Section, number: int) -> Cell:
        work = section.work(number)
        name = cell_id(work.stream, self.seed, work.T)
        return Cell(work, self.seed, section.replicates, name)

    @property
    def combinations(self) -> int:
        """Points of the grid, those left out included."""
        return self.cells + sum(self.dropped.values())

    @property
    def replicates(self) -> int:
        """Replicates over all cells."""
        return sum(section.cells * section.replicates for section in self.sections)

    @property
    def id_digits(self) -> str:
        """Eight hexadecimal digits of the resolved grid and its seed, in whatever order."""
        lines = []
        for section in self.sections:
            entry = section.algorithm
            lines.append(
                canonical(
                    [
                        [entry.name, entry.version, dict(section.parameters), section.replicates],
                        sorted(instance.definition for instance in section.instances),
                        sorted(e for e in section.epsilons if e is not None),
                        section.horizons,
                    ]
                )
            )
        text = "\n".join([str(self.seed), *sorted(lines)])
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def make_plan(settings: Settings) -> Plan:
    """The cells that the grid of `settings` stands for.

    Raises:
        InputError: a value is out of range, an axis is empty, missing or used by nothing.
    """
    grid = settings.grid
    algorithms = axes.algorithms(grid["algorithm"])
    specifications = axes.instance_items(grid["instance"])
    for key, found in (("algorithm", algorithms), ("instance", specifications)):
        if not found:
            raise InputError(
                f"grid.{key}", Words("nothing"), "at least one; choose a grid with +grid=NAME"
            )
    epsilons = axes.epsilons(grid["epsilon"])
    horizons = axes.integers("grid.T", grid["T"], 1)
    if not horizons:
        raise InputError("grid.T", Words("nothing"), "at least one number of rounds, such as 1e6")
    resolved = _instances(specifications, axes.integers("grid.K", grid["K"], 2))
    if axes.items("grid.N", grid["N"]):
        raise InputError("grid.N", grid["N"], "nothing: no algorithm in the grid uses experts")
    if epsilons and not any(registered(item["name"]).uses_epsilon for item in algorithms):
        raise InputError(
            "grid.epsilon", grid["epsilon"], "nothing: no algorithm in the grid uses ε"
        )

    sections: dict[str, Section] = {}
    dropped: Counter[str] = Counter()
    for item in algorithms:
        entry, parameters, replicates = _algorithm(item, settings.replicates)
        if entry.uses_epsilon and not epsilons:
            raise InputError(
                "grid.epsilon", Words("nothing"), f"numbers > 0, or inf ({entry.name})"
            )
        name = canonical([entry.name, dict(parameters)])
        if name in sections:  # written twice: one section, with the larger number of replicates
            if sections[name].replicates >= replicates:
                continue
        else:
            dropped.update(_dropped(entry, resolved, epsilons, horizons))
        sections[name] = Section(
            entry,
            parameters,
            replicates,
            tuple(instance for instance in resolved if entry.family in instance.families),
            tuple(e for e in epsilons if e <= entry.epsilon_high)
            if entry.uses_epsilon
            else (None,),
            tuple(sorted(horizons)),
        )
        for instance in sections[name].instances:
            least = FAMILIES[entry.family].least_T(instance)
            for T in horizons:
                _check_horizon(T, instance, least)
    filled = [section for section in sections.values() if section.cells]
    if not filled:
        raise InputError("grid", Words("no cell"), f"a combination that exists ({dict(dropped)})")
    return Plan(filled, settings.seed, dropped)


def _dropped(
    entry: Algorithm,
    resolved: Sequence[Instance],
    epsilons: Sequence[float],
    horizons: Sequence[int],
) -> Counter[str]:
    """How many combinations of an algorithm make no sense, by reason."""
    found: Counter[str] = Counter()
    used = len(epsilons) if entry.uses_epsilon else 1
    high = sum(epsilon > entry.epsilon_high for epsilon in epsilons) if entry.uses_epsilon else 0
    for instance in resolved:
        if entry.family not in instance.families:
            found[f"{entry.name} is no algorithm for {instance.label}"] += used * len(horizons)
        elif high:
            found[f"ε > {entry.epsilon_high:g} for {entry.name}"] += high * len(horizons)
    return found


def _algorithm(item: Mapping[str, Any], replicates: int) -> tuple[Algorithm, dict[str, Value], int]:
    given = {key: value for key, value in item.items() if key not in ("name", "replicates")}
    entry = registered(item["name"])
    try:
        parameters = entry.check_parameters(given)
        if "replicates" in item:
            replicates = check_count("replicates", item["replicates"], 1, MOST_REPLICATES)
    except InputError as error:
        raise InputError(
            f"grid.algorithm {error.key}", error.got, error.allowed, error.closest
        ) from None
    return entry, parameters, replicates


def _instances(specifications: list[dict[str, Any]], arms: list[int]) -> list[Instance]:
    """Resolve each specification once, or once per K where it takes K from the axis."""
    found: dict[str, Instance] = {}
    used = False
    for specification in specifications:
        try:
            takes_K = instances.takes_K(specification)
            used |= takes_K
            if takes_K and not arms:
                raise InputError(
                    "K", Words("nothing"), f"integers ≥ 2 ({specification['name']} needs K)"
                )
            for K in arms if takes_K else [None]:
                instance = instances.resolve(specification, K)
                found[instance.definition] = instance
        except InputError as error:
            raise error.under("grid") from None
    if arms and not used:
        raise InputError("grid.K", arms, "nothing: every instance in the grid fixes its own K")
    return list(found.values())


@lru_cache(maxsize=4096)
def _check_horizon(T: int, instance: Instance, least: int) -> None:
    try:
        check_T(T, instance, least)
    except InputError as error:
        raise InputError("grid.T", T, f"{error.allowed} ({instance.label})") from None


def identity_columns(work: Work, seed: int, cell: str) -> dict[str, Any]:
    """What a result is of, as columns of a row or a manifest."""
    entry, instance = work.algorithm, work.instance
    return {
        "cell": cell,
        "stream": work.stream,
        "seed": seed,
        "family": entry.family,
        "algorithm": entry.name,
        "version": entry.version,
        "parameters": parameters_text(work.parameters),
        "instance": instance.label,
        "instance_definition": instance.definition,
        "epsilon": work.epsilon,
        "K": instance.K if "K" in FAMILIES[entry.family].axes else None,
        "N": None,
        "T": work.T,
    }


def describe(cell: Cell) -> dict[str, Any]:
    """A cell as a row of the sweep's manifest."""
    entry, instance = cell.work.algorithm, cell.work.instance
    return identity_columns(cell.work, cell.seed, cell.id) | {
        "replicates": cell.replicates,
        "guarantee": entry.guarantee,
        "anytime": entry.anytime,
        "uses_epsilon": entry.uses_epsilon,
        "doubling": entry.doubling,
        "source": entry.source,
        "distribution": instance.distribution,
        "means": list(instance.means),
    }
