"""Targets that rise and cells that join while a sweep runs, in this process and on Ray."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import keys, rows
from rich.console import Console
from test_plan import planned

import analysis
from sweep.grid.effort import More, fixed
from sweep.grid.inventory import Inventory
from sweep.grid.plan import Plan
from sweep.grid.units import Pending, Unit
from sweep.run import Published, run

GRID = ("grid.algorithm=[adap_ucb,dp_se]", "grid.instance=[azize_fig3]", "grid.epsilon=[0.1,1]",
        "grid.T=[1e3,1e4]", "grid.replicates=4", "tracking=none")  # fmt: skip


class Refine:
    """Raises the first algorithm's cells at its largest ε to 9 replicates, and adds ε = 10."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def __call__(self, plan: Plan, targets: np.ndarray, complete: np.ndarray) -> More:
        """The rule of the class."""
        self.told += complete.tolist()
        [first, *_] = plan.sections
        raised = {
            number: min(9, int(targets[number]) + 3)
            for number in complete.tolist()
            if number < first.cells
            and plan[number].work.epsilon == max(first.epsilons)
            and targets[number] < 9
        }
        more = [] if len(plan.sections) > 2 else [dataclasses.replace(first, epsilons=(10.0,))]
        return More(raised, more)


def covered(units: list[Unit]) -> list[tuple[str, int]]:
    """(cell, replicate) of everything that units play."""
    return sorted((cell, r) for u in units for cell in u.cells for r in range(u.start, u.stop))


def test_a_raised_target_and_a_new_section_become_units():
    plan, _ = planned(*GRID)
    first = list(plan)
    pending = Pending(plan, block=2)
    begun = list(pending)
    section = dataclasses.replace(plan.sections[0], epsilons=(5.0,), replicates=3)
    shown: list[Inventory] = []

    def look(inventory: Inventory) -> Inventory:
        shown.append(inventory)
        cell = plan[len(first)]
        inventory.add(pa.table({"cell": [first[0].id, cell.id], "replicate": [7, 1]}))
        return inventory

    added = pending.add(More({1: 6, 2: 3}, [section]), look)  # 3 is below its target
    new = [plan[number] for number in range(len(first), len(plan))]
    expected = [(first[1].id, 4), (first[1].id, 5)]
    expected += [(cell.id, r) for cell in new for r in range(3) if (cell.id, r) != (new[0].id, 1)]
    assert covered(added.units) == sorted(expected)
    assert covered(begun) == sorted((cell.id, r) for cell in first for r in range(4))
    assert pending.targets.tolist() == [4, 6, 4, 4, 4, 4, 4, 4, 3, 3]
    assert added.lacking.tolist() == [0, 2, 0, 0, 0, 0, 0, 0, 2, 3]
    assert pending.replicates == pending.lacking.sum() == 32 + 7
    assert pending.units == len(begun) + len(added.units) and len(shown) == 1
    # What is left over from the beginning is not played twice when it is made later.
    again = Pending(planned(*GRID)[0], block=2)
    again.add(More({1: 6}), look)
    assert covered(list(again)) == covered(begun)


def test_the_trivial_rule_adds_nothing():
    plan, _ = planned(*GRID)
    assert not fixed(plan, np.full(len(plan), 4), np.arange(len(plan)))


class Silent:
    """An analysis that says nothing."""

    def report(self, folder: Path, store: str, unchanged: bool) -> Published | None:
        """No report, but none is missing."""
        return Published({}, [], {})

    def report_seconds(self, cells: int, replicates: int) -> float:
        """None."""
        return 0.0

    def curves(self, folder: Path, store: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Nothing."""
        return iter(())


def carry_out(store: Path, rule: Refine, *more: str) -> int:
    """Run the grid with a rule."""
    _, checked = planned(*GRID, f"store={store}", *more)
    return run(checked, ["test"], Console(quiet=True), Silent(), rule)


@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_a_rule_adds_while_the_sweep_runs(tmp_path, executor):
    """The same cells and replicates on either executor, at once or over a store that has them."""
    options = (f"runtime.executor={executor}", "runtime.actors=2")
    assert carry_out(tmp_path, Refine(), *options) == 0
    table = rows(tmp_path)
    assert len(set(keys(table))) == table.num_rows
    counts = Counter(
        zip(*(table[c].to_pylist() for c in ("algorithm", "epsilon", "T")), strict=True)
    )
    budgets = {"adap_ucb": {0.1: 4, 1.0: 9, 10.0: 4}, "dp_se": {0.1: 4, 1.0: 4}}
    assert counts == {
        (algorithm, epsilon, T): replicates
        for algorithm, wanted in budgets.items()
        for epsilon, replicates in wanted.items()
        for T in (1000, 10_000)
    }
    [folder] = (tmp_path / "sweeps").iterdir()
    manifest = pq.read_table(folder / "manifest.parquet").to_pylist()
    targets = {(m["algorithm"], m["epsilon"], m["T"]): m["replicates"] for m in manifest}
    assert targets == counts
    frame = analysis.load(str(folder), tmp_path)
    assert len(frame) == table.num_rows == frame.attrs["sweep"]["wanted"]

    again = Refine()
    assert carry_out(tmp_path, again, "runtime.executor=inline") == 0
    assert rows(tmp_path).equals(table) and len(list((tmp_path / "sweeps").iterdir())) == 1
    assert again.told.count(1) == 1 and set(range(len(manifest))) == set(again.told)
    # Without the rule the report uses what the grid asks for, whatever the store holds.
    _, checked = planned(*GRID, f"store={tmp_path}")
    assert run(checked, ["test"], Console(quiet=True), Silent()) == 0
    assert len(analysis.load(str(folder), tmp_path)) == 8 * 4
