"""From a grid to what has to be simulated: cells, deduplicated, then units of work.

Cells of one stream that differ in T only (anytime algorithms) are served by one run to the
largest T that still misses rows; algorithms without ε appear once for all ε. A unit is a block
of replicates of one such run.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from algos import instances
from algos.checks import check_count
from algos.errors import InputError, Words
from algos.families import FAMILIES
from algos.identity import canonical, cell_id
from algos.instances import Instance
from algos.registry import Algorithm, Value
from algos.registry import algorithm as registered
from algos.simulate import MOST_REPLICATES, Work, check_T
from sweep import axes
from sweep.config import Settings

REPLICATE_OVERHEAD = 50e-6  # seconds: seeding a generator and calling a kernel
STEP = 1e-9  # seconds of an elementary step, before measurements correct it
UNIT_SECONDS = 1.0


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
class Unit:
    """Replicates start … stop - 1 of a stream, played once to the largest of `horizons`.

    One row per replicate and horizon comes of it; `cells` are the horizons' cell identities.
    """

    work: Work
    seed: int
    start: int
    stop: int
    horizons: tuple[int, ...]
    cells: tuple[str, ...]
    seconds: float  # expected

    @property
    def rows(self) -> int:
        """How many rows the unit yields."""
        return (self.stop - self.start) * len(self.horizons)

    @property
    def rounds(self) -> int:
        """How many rounds it simulates."""
        return (self.stop - self.start) * self.horizons[-1]


@dataclass(frozen=True)
class Plan:
    """The cells of a sweep by identity, and the combinations left out, counted by reason."""

    cells: Mapping[str, Cell]
    dropped: Mapping[str, int]
    combinations: int

    @property
    def id_digits(self) -> str:
        """Eight hexadecimal digits of the resolved grid and its seed."""
        lines = sorted(f"{cell.id} {cell.replicates}" for cell in self.cells.values())
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


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

    cells: dict[str, Cell] = {}
    dropped: Counter[str] = Counter()
    combinations = 0
    for item in algorithms:
        entry, parameters, replicates = _algorithm(item, settings.replicates)
        if entry.uses_epsilon and not epsilons:
            raise InputError(
                "grid.epsilon", Words("nothing"), f"numbers > 0, or inf ({entry.name})"
            )
        for instance in resolved:
            if entry.family not in instance.families:
                count = len(horizons) * (len(epsilons) if entry.uses_epsilon else 1)
                combinations += count
                dropped[f"{entry.name} is no algorithm for {instance.label}"] += count
                continue
            for T in horizons:
                _check_horizon(T, instance, FAMILIES[entry.family].least_T(instance))
                for epsilon in epsilons if entry.uses_epsilon else [None]:
                    combinations += 1
                    if epsilon is not None and epsilon > entry.epsilon_high:
                        dropped[f"ε > {entry.epsilon_high:g} for {entry.name}"] += 1
                        continue
                    work = Work(entry, instance, epsilon, T, parameters)
                    name = cell_id(work.stream, settings.seed, T)
                    known = cells.get(name)
                    if known is None or known.replicates < replicates:
                        cells[name] = Cell(work, settings.seed, replicates, name)
    if not cells:
        raise InputError("grid", Words("no cell"), f"a combination that exists ({dict(dropped)})")
    return Plan(cells, dropped, combinations)


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


# A correction factor by (algorithm, version, distribution), from measured seconds.
Corrections = Mapping[tuple[str, int, str], float]


def expected_seconds(work: Work, corrections: Corrections) -> float:
    """Expected seconds of one replicate of `work`."""
    entry, instance = work.algorithm, work.instance
    steps = entry.cost(float(work.T), instance.K, work.epsilon) + instance.draw_cost * work.T
    factor = corrections.get((entry.name, entry.version, instance.distribution), 1.0)
    return factor * (REPLICATE_OVERHEAD + STEP * steps)


def units(
    plan: Plan,
    present: Mapping[str, np.ndarray],
    block: int | None = None,
    corrections: Corrections | None = None,
) -> list[Unit]:
    """What is still to be simulated, longest first.

    Args:
        plan: the sweep's cells.
        present: per cell identity the replicate numbers the store already has.
        block: replicates in a unit; None sizes a unit to about a second.
        corrections: factors for the expected seconds.
    """
    runs: dict[str, list[Cell]] = {}
    for cell in plan.cells.values():
        runs.setdefault(cell.work.stream, []).append(cell)
    found: list[Unit] = []
    for cells in runs.values():
        cells.sort(key=lambda cell: cell.T)
        for start, stop, missing in _missing(cells, present):
            work = missing[-1].work
            seconds = expected_seconds(work, corrections or {})
            size = block or max(1, min(stop - start, math.floor(UNIT_SECONDS / seconds)))
            for first in range(start, stop, size):
                last = min(stop, first + size)
                found.append(
                    Unit(
                        work=work,
                        seed=missing[-1].seed,
                        start=first,
                        stop=last,
                        horizons=tuple(cell.T for cell in missing),
                        cells=tuple(cell.id for cell in missing),
                        seconds=seconds * (last - first),
                    )
                )
    found.sort(key=lambda unit: -unit.seconds)
    return found


def _missing(
    cells: list[Cell], present: Mapping[str, np.ndarray]
) -> Iterator[tuple[int, int, list[Cell]]]:
    """Stretches of replicates (start, stop) that miss the same of a stream's cells."""
    most = max(cell.replicates for cell in cells)
    lacks = np.zeros((most, len(cells)), dtype=bool)
    for column, cell in enumerate(cells):
        lacks[: cell.replicates, column] = True
        have = present.get(cell.id)
        if have is not None:
            lacks[have[have < most], column] = False
    edges = [0, *(np.flatnonzero((lacks[1:] != lacks[:-1]).any(axis=1)) + 1).tolist(), most]
    for start, stop in itertools.pairwise(edges):
        missing = [cell for cell, lacking in zip(cells, lacks[start], strict=True) if lacking]
        if missing:
            yield start, stop, missing


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
        "parameters": canonical(work.parameters),
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
