"""From a grid to units: deduplication, dropped combinations, blocks, what the store has."""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hydra import compose, initialize_config_module

import conf
from algos import InputError
from algos.kinds import Kind, register_kind
from sweep.engine.points import series_name
from sweep.grid.config import Settings, settings
from sweep.grid.inventory import Inventory
from sweep.grid.manifest import describe
from sweep.grid.plan import Plan
from sweep.grid.planner import make_plan
from sweep.grid.schema import register_schema
from sweep.grid.units import Pending


def planned(*overrides: str) -> tuple[Plan, Settings]:
    """The plan of a composed configuration, and its settings."""
    register_schema()
    with initialize_config_module("conf", version_base="1.3"):
        checked = settings(compose("config", overrides=list(overrides)), "test")
    return make_plan(checked), checked


BASE = ("grid.algorithm=[adap_ucb,dp_se,ucb1]", "grid.instance=[azize_fig3]",
        "grid.epsilon=[0.1,1,10]", "grid.T=[1e3,1e4,1e5]", "grid.replicates=20")  # fmt: skip


GRIDS = sorted(path.stem for path in Path(conf.__file__).parent.glob("grid/*.yaml"))


@pytest.mark.parametrize("grid", GRIDS)
def test_shipped_grids_plan(grid):
    plan, checked = planned(f"+grid={grid}")
    assert len(plan) and checked.grid["question"]
    assert not plan.dropped


def test_epsilon_independent_algorithms_get_one_cell():
    plan, _ = planned(*BASE)
    by_algorithm = [cell.work.algorithm.name for cell in plan]
    assert by_algorithm.count("ucb1") == 3 and by_algorithm.count("adap_ucb") == 9
    assert all(
        cell.work.epsilon is None for cell in plan
        if cell.work.algorithm.name == "ucb1"
    )  # fmt: skip


def test_anytime_cells_share_one_run():
    plan, _ = planned(*BASE)
    units = list(Pending(plan, block=20))
    by_algorithm = [unit.work.algorithm.name for unit in units]
    assert by_algorithm.count("adap_ucb") == 3  # one per ε, to the largest T
    assert by_algorithm.count("ucb1") == 1
    assert by_algorithm.count("dp_se") == 9  # β = 1/T: one per ε and T
    for unit in units:
        assert unit.horizons[-1] == unit.work.T and list(unit.horizons) == sorted(unit.horizons)
        assert unit.rows == 20 * len(unit.cells)
    assert sum(unit.rows for unit in units) == 20 * len(plan)


def test_the_same_cell_written_twice_counts_once():
    explicit = "{name:bernoulli,means:[0.8,0.1,0.1,0.1,0.1]}"
    once, _ = planned(*BASE)
    again = "grid.algorithm=[adap_ucb,dp_se,ucb1,{name:adap_ucb,alpha:3.1}]"
    named, _ = planned(*BASE, f"grid.instance=[azize_fig3,{explicit}]", again)
    assert ids(once) == ids(named) and len(named) == len(once)  # under two labels
    twice, _ = planned(*BASE, "grid.instance=[azize_fig3,azize_fig3]", again)
    assert ids(once) == ids(twice)
    assert once.id_digits == twice.id_digits
    other, _ = planned(*BASE, "seed=1")
    assert not ids(once) & ids(other) and once.id_digits != other.id_digits
    more, _ = planned(*BASE, again.replace("3.1", "3.1,replicates:30"))
    assert ids(more) == ids(once) and more.id_digits != once.id_digits
    assert {s.replicates for s in more.sections if s.algorithm.name == "adap_ucb"} == {30}


def described(plan: Plan) -> list[dict]:
    """The rows of a plan's manifest."""
    return [describe(cell, cell.work.instance, 20) for cell in plan]


def ids(plan: Plan) -> set[str]:
    """The identities of a plan's cells."""
    return {cell.id for cell in plan}


def test_only_what_is_missing_is_planned():
    plan, _ = planned(*BASE, "grid.algorithm=[adap_ucb]", "grid.epsilon=[1]")
    small, middle, large = sorted(plan, key=lambda cell: cell.T)
    present = Inventory(plan)
    middles = [0, 1, 2, 7]
    for cell, replicates in ((small, range(20)), (middle, middles), (large, range(10))):
        present.add(stored(cell.id, replicates))
    pending = Pending(plan, present, block=100)
    assert pending.lacking.tolist() == [0, 16, 10] and pending.replicates == 26
    units = list(pending)
    assert pending.units == len(units)
    assert pending.seconds == pytest.approx(sum(unit.seconds for unit in units))
    spans = sorted((unit.start, unit.stop, unit.horizons) for unit in units)
    assert spans == [
        (3, 7, (10_000,)),
        (8, 10, (10_000,)),
        (10, 20, (10_000, 100_000)),
    ]
    for cell in plan:
        present.add(stored(cell.id, range(25)))
    complete = Pending(plan, present)
    assert not complete and complete.units == 0 and list(complete) == []


def stored(cell: str, replicates: Iterable[int]) -> pa.Table:
    """Rows as a store has them, as far as a plan looks at them."""
    numbers = list(replicates)
    return pa.table({"cell": [cell] * len(numbers), "replicate": pa.array(numbers, pa.int64())})


def test_what_is_present_is_known_by_stretches():
    """Against sets: rows in any order, in many segments, some twice, some of other sweeps."""
    plan, _ = planned(*BASE)
    rng = np.random.default_rng(5)
    cells = [cell.id for cell in plan]
    present, truth = Inventory(plan), {cell: set() for cell in cells}
    for _ in range(40):
        names = [*rng.choice(cells, 3), "0" * 32, "f" * 32, "no name of a cell"]
        rows = [(name, r) for name in names for r in rng.integers(0, 30, rng.integers(1, 12))]
        rows = [rows[i] for i in rng.permutation(len(rows))]
        present.add(
            pa.table({"cell": [n for n, _ in rows], "replicate": [int(r) for _, r in rows]})
        )
        for name, replicate in rows:
            if name in truth:
                truth[name].add(int(replicate))
    have = present.have(np.full(len(plan), 20))
    for number, cell in enumerate(cells):
        found = [r for start, stop in present.stretches(number) for r in range(start, stop)]
        assert found == sorted(truth[cell])
        assert have[number] == sum(r < 20 for r in truth[cell])
    assert present.relevant(pa.chunked_array([cells[:1]]))
    assert not present.relevant(pa.chunked_array([["f" * 32, "x"]]))
    pending = Pending(plan, present)
    units = list(pending)
    covered = sorted((cell, r) for u in units for cell in u.cells for r in range(u.start, u.stop))
    assert covered == sorted((c, r) for c in cells for r in range(20) if r not in truth[c])
    assert pending.units == len(units) and pending.replicates == len(covered)


def test_cells_are_numbered_as_they_come():
    plan, _ = planned(*BASE, "grid.instance=[azize_fig3,sajed_c1]")
    cells = list(plan)
    assert [plan[number].id for number in range(len(plan))] == [cell.id for cell in cells]
    assert len({cell.id for cell in cells}) == len(plan) == 2 * (9 + 9 + 3)
    for unit in Pending(plan):
        assert [cells[number].id for number in unit.numbers] == list(unit.cells)
        assert [cells[number].T for number in unit.numbers] == list(unit.horizons)
    with pytest.raises(IndexError):
        plan[len(plan)]


def test_a_large_plan_stays_small():
    """A million cells: no more than a few dozen bytes each, whatever is asked of the plan."""
    plan, _ = planned(
        "grid.algorithm=[adap_ucb]", "grid.instance=[azize_fig3]", "grid.T=[10]",
        "grid.epsilon=[{logspace:[0.01,100,1000]}]", "grid.replicates=10",
    )  # fmt: skip
    [section] = plan.sections
    instances = tuple(
        dataclasses.replace(section.instances[0], definition=f'{{"copy":{i}}}') for i in range(300)
    )
    large = Plan([dataclasses.replace(section, instances=instances)], 0, {})
    tracemalloc.start()
    pending = Pending(large, Inventory(large))
    first = list(itertools.islice(pending, 1000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(large) == pending.units == 300_000 and pending.replicates == 3_000_000
    assert len({unit.cells for unit in first}) == 1000
    assert peak < 100 * len(large)


def test_blocks():
    plan, _ = planned(*BASE)
    for block in (1, 7):
        units = list(Pending(plan, block=block))
        assert max(unit.stop - unit.start for unit in units) == block
        covered = sorted((cell, r) for unit in units for cell in unit.cells
                         for r in range(unit.start, unit.stop))  # fmt: skip
        assert covered == sorted((cell.id, r) for cell in plan for r in range(20))
    seconds = [unit.seconds for unit in Pending(plan)]
    assert seconds == sorted(seconds, reverse=True)
    slow, _ = planned(*BASE, "grid.algorithm=[naive_dp_ucb]", "grid.T=[1e8]", "grid.epsilon=[1]")
    assert {unit.stop - unit.start for unit in Pending(slow)} == {1}
    key = ("naive_dp_ucb", 2, "bernoulli")
    [one] = Pending(slow, block=20)
    [corrected] = Pending(slow, block=20, corrections={key: 3.0})
    assert corrected.seconds == pytest.approx(3 * one.seconds)


def test_generators_take_K_from_the_axis():
    plan, _ = planned(
        "grid.algorithm=[ucb1]", "grid.T=[1000]", "grid.K=[2,10]",
        "grid.instance=[azize_fig3,{name:equal_gap,gap:0.1,best:0.5}]",
    )  # fmt: skip
    assert sorted(cell.work.instance.sizes["K"] for cell in plan) == [2, 5, 10]


def test_one_grid_for_two_families():
    """Instances of arms serve both; K enters where the instance leaves it open."""
    plan, _ = planned(
        "grid.algorithm=[ucb1,rnm_ftnl,ftl]", "grid.T=[1000,2000]", "grid.K=[4,8]",
        "grid.epsilon=[0.1,1]",
        "grid.instance=[sajed_c1,{name:equal_gap,gap:0.1,best:0.5},"
        "{name:doubling_gap,gap:0.01,best:1,K:[4,6]}]",
    )  # fmt: skip
    cells = described(plan)
    found = {(cell["family"], cell["algorithm"], cell["K"]) for cell in cells}
    members = [("bandit", "ucb1"), ("full_information", "ftl"), ("full_information", "rnm_ftnl")]
    assert found == {(*member, K) for K in (4, 5, 6, 8) for member in members}
    assert len(cells) == 2 * 5 * (1 + 1 + 2) and not plan.dropped
    assert {unit.horizons for unit in Pending(plan)} == {(1000, 2000)}


def test_sampled_arms_cost_their_draws():
    seconds = []
    for instance in ("{name:bernoulli,means:[0.5,0.4]}", "{name:beta,a:[1,1],b:[1,2]}"):
        plan, _ = planned("grid.algorithm=[adap_ucb]", "grid.epsilon=[1]", "grid.T=[1e9]",
                          f"grid.instance=[{instance}]", "grid.replicates=10")  # fmt: skip
        seconds.append(sum(unit.seconds for unit in Pending(plan)))
    assert seconds[0] < 0.1 and seconds[1] > 100


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("grid.T=[4]", "K = 5"),
        ("grid.instance=[{name:doubling_gap,gap:0.1,best:0.5,K:5}]", "best = 0.5"),
        ("grid.T=null", "grid.T"),
        ("grid.epsilon=null", "grid.epsilon"),
        ("grid.algorithm=[ucb1]", "no algorithm in the grid uses ε"),
        ("grid.K=[5]", "takes its K from this axis"),
        ("grid.N=[5]", "grid.N"),
        ("grid.instance=[{name:equal_gap,gap:0.1,best:0.5}]", "grid.K"),
        ("grid.algorithm=[{name:adap_ucb,alpha:0}]", "alpha"),
        ("grid.algorithm=[{name:adap_ucb,replicates:0}]", "replicates"),
        ("grid.window=[10,1]", "grid.window"),
        ("grid.replicates=1.5", "grid.replicates"),
    ],
)
def test_bad_grids_say_so(override, says):
    with pytest.raises(InputError, match=says):
        planned(*BASE, override)


def test_parameters_that_are_words_expand_and_stay_words():
    plan, _ = planned(
        "grid.algorithm=[{name:dp_ucb,bound:[union,log2.5],budget:split}]",
        "grid.instance=[azize_fig3]", "grid.epsilon=[1]", "grid.T=[1e3]", "grid.replicates=2",
    )  # fmt: skip
    cells = list(plan)
    assert [cell.work.parameters["bound"] for cell in cells] == ["union", "log2.5"]
    stored = [row["parameters"] for row in described(plan)]
    assert stored[1] == '{"bound":"log2.5","budget":"split","gamma":0.1}'
    assert "bound=log2.5, budget=split, gamma=0.1" in series_name(cells[1])
    with pytest.raises(InputError, match=r"bound: got 'unoin'.*closest: union"):
        planned("grid.algorithm=[{name:dp_ucb,bound:unoin}]", "grid.instance=[azize_fig3]",
                "grid.epsilon=[1]", "grid.T=[1e3]")  # fmt: skip


def crowd(given: dict) -> dict:
    """Means that say how many experts and arms were asked for."""
    return {"name": "bernoulli", "means": [given["N"] / 10] * given["K"]}


register_kind("crowd", Kind({"N": 0, "K": 0}, crowd, takes={"N": (1, 9), "K": (2, 9)}))


def test_every_size_reaches_a_generator_from_its_axis():
    grid = ("grid.algorithm=[ucb1]", "grid.T=[1000]", "grid.N=[3,7]")
    plan, _ = planned(*grid, "grid.instance=[crowd,{name:crowd,N:5}]", "grid.K=[2,4]")
    found = {(cell.work.instance.means[0], cell.work.instance.sizes["K"]) for cell in plan}
    assert found == {(N / 10, K) for N in (3, 7, 5) for K in (2, 4)}
    with pytest.raises(InputError, match="N: got nothing; allowed: integers ≥ 1"):
        planned(*grid[:2], "grid.instance=[crowd]", "grid.K=[2]")
