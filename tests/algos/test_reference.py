"""Every registered algorithm has a plain reference of its name, and plays as it does.

The same rewards and the same draws give the same actions and the same released values. The
reference's own keyword defaults are what is compared. Tables on which an algorithm does what is
special to it, mistakes planted into references and comparisons in distribution stand in the
tests of each source.
"""

from __future__ import annotations

import dataclasses
import inspect
from math import inf

import numpy as np
import pytest
from reference.common import draws
from reference.compare import compare
from reference.finding import home, package, reference

from algos import algorithms, register, replay
from algos.families import FAMILIES, Family
from algos.random.seeding import state
from algos.registry import ALGORITHMS, Algorithm

TABLES = 3
T = (700, 1_500)
BUDGETS = (0.5, 5.0, inf)


@pytest.mark.parametrize("entry", algorithms(), ids=lambda entry: entry.name)
def test_same_actions_and_messages(entry: Algorithm) -> None:
    played, function = package(entry.family), reference(entry.name)
    given = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        and parameter.default is not inspect.Parameter.empty
    }
    parameters = {p.name: p.default for p in entry.parameters} | given
    for number in range(TABLES):
        for epsilon in BUDGETS if entry.uses_epsilon else (None,):
            rng = np.random.default_rng([number, *entry.name.encode()])
            rounds = int(rng.integers(*T, endpoint=True))
            instance = played.table(rng, rounds + int(rng.integers(0, 3)))
            keywords = parameters if epsilon is None else parameters | {"epsilon": epsilon}
            expected = played.play(function, instance, rounds, draws(number), **keywords)
            got = replay(entry.name, instance, T=rounds, rng=state(number), **keywords)
            assert compare(got, expected) == "", f"table {number}, ε = {epsilon}"


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
def test_every_family_says_how_its_references_are_played(family: Family) -> None:
    assert all(hasattr(package(family.name), name) for name in ("table", "play", "CLEAR", "GOLDEN"))


def test_an_algorithm_without_a_reference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    first = algorithms()[0]
    assert home(first.name).__name__.startswith(f"reference.{first.family}.")
    monkeypatch.setattr(ALGORITHMS, "_entries", dict(ALGORITHMS))  # forgotten after the test
    entry = register(dataclasses.replace(first, name="unreferenced"))
    with pytest.raises(LookupError, match="unreferenced has no reference"):
        test_same_actions_and_messages(entry)
    with pytest.raises(LookupError, match="no package"):
        package("unheard_of")
