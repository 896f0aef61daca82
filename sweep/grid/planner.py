"""From the axes of a grid to its plan: what is combined, what is dropped, what is an error."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from algos import instances
from algos.checks import check_count
from algos.errors import InputError, Words
from algos.families import FAMILIES
from algos.identity import canonical
from algos.instances import Instance
from algos.registry import Algorithm, Value
from algos.registry import algorithm as registered
from algos.work import MOST_REPLICATES, check_T
from sweep.grid import axes
from sweep.grid.config import Settings
from sweep.grid.plan import Plan, Section
from sweep.grid.tables import resolve

SIZES = {"K": 2, "N": 1}  # the axes that are sizes of instances, with their least values


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
    sizes = {
        name: axes.integers(f"grid.{name}", grid[name], least) for name, least in SIZES.items()
    }
    shown = _instances(specifications, sizes)
    resolved = [labelled[0] for labelled in shown.values()]
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
    return Plan(filled, settings.seed, dropped, shown)


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


def _instances(
    specifications: list[dict[str, Any]], sizes: Mapping[str, list[int]]
) -> dict[str, list[Instance]]:
    """By definition the instances of a grid, one for each label.

    Each specification is resolved once, or once for each combination of the sizes that it takes
    from the axes.
    """
    found: dict[str, list[Instance]] = {}
    used: set[str] = set()
    for specification in specifications:
        try:
            wanted = [name for name in instances.sizes_wanted(specification) if name in sizes]
            used.update(wanted)
            for name in wanted:
                if not sizes[name]:
                    raise InputError(
                        name,
                        Words("nothing"),
                        f"integers ≥ {SIZES[name]} ({specification['name']} needs {name})",
                    )
            for values in itertools.product(*(sizes[name] for name in wanted)):
                chosen = dict(zip(wanted, values, strict=True))
                instance = resolve(specification, **chosen)
                labelled = found.setdefault(instance.definition, [])
                if instance.label not in {one.label for one in labelled}:
                    labelled.append(instance)
        except InputError as error:
            raise error.under("grid") from None
    for name, given in sizes.items():
        if given and name not in used:
            raise InputError(
                f"grid.{name}",
                Words(", ".join(map(str, given))),
                f"nothing: no instance in the grid takes its {name} from this axis",
            )
    return found


@lru_cache(maxsize=4096)
def _check_horizon(T: int, instance: Instance, least: int) -> None:
    try:
        check_T(T, instance, least)
    except InputError as error:
        raise InputError("grid.T", T, f"{error.allowed} ({instance.label})") from None
