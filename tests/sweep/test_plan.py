"""From a grid to units: deduplication, dropped combinations, blocks, what the store has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hydra import compose, initialize_config_module

import conf
from algos import InputError
from sweep import plan as planning
from sweep.config import register_schema, settings
from sweep.points import series_name


def planned(*overrides: str) -> tuple[planning.Plan, object]:
    """The plan of a composed configuration, and its settings."""
    register_schema()
    with initialize_config_module("conf", version_base="1.3"):
        checked = settings(compose("config", overrides=list(overrides)), "test")
    return planning.make_plan(checked), checked


BASE = ("grid.algorithm=[adap_ucb,dp_se,ucb1]", "grid.instance=[azize_fig3]",
        "grid.epsilon=[0.1,1,10]", "grid.T=[1e3,1e4,1e5]", "grid.replicates=20")  # fmt: skip


GRIDS = sorted(path.stem for path in Path(conf.__file__).parent.glob("grid/*.yaml"))


@pytest.mark.parametrize("grid", GRIDS)
def test_shipped_grids_plan(grid):
    plan, checked = planned(f"+grid={grid}")
    assert plan.cells and checked.grid["question"]
    assert not plan.dropped


def test_epsilon_independent_algorithms_get_one_cell():
    plan, _ = planned(*BASE)
    by_algorithm = [cell.work.algorithm.name for cell in plan.cells.values()]
    assert by_algorithm.count("ucb1") == 3 and by_algorithm.count("adap_ucb") == 9
    assert all(
        cell.work.epsilon is None for cell in plan.cells.values()
        if cell.work.algorithm.name == "ucb1"
    )  # fmt: skip


def test_anytime_cells_share_one_run():
    plan, _ = planned(*BASE)
    units = planning.units(plan, {}, block=20)
    by_algorithm = [unit.work.algorithm.name for unit in units]
    assert by_algorithm.count("adap_ucb") == 3  # one per ε, to the largest T
    assert by_algorithm.count("ucb1") == 1
    assert by_algorithm.count("dp_se") == 9  # β = 1/T: one per ε and T
    for unit in units:
        assert unit.horizons[-1] == unit.work.T and list(unit.horizons) == sorted(unit.horizons)
        assert unit.rows == 20 * len(unit.cells)
    assert sum(unit.rows for unit in units) == 20 * len(plan.cells)


def test_the_same_cell_written_twice_counts_once():
    explicit = "{name:bernoulli,means:[0.8,0.1,0.1,0.1,0.1]}"
    once, _ = planned(*BASE)
    again = "grid.algorithm=[adap_ucb,dp_se,ucb1,{name:adap_ucb,alpha:3.1}]"
    twice, _ = planned(*BASE, f"grid.instance=[azize_fig3,{explicit}]", again)
    assert once.cells.keys() == twice.cells.keys()
    assert once.id_digits == twice.id_digits
    other, _ = planned(*BASE, "seed=1")
    assert not once.cells.keys() & other.cells.keys()


def test_only_what_is_missing_is_planned():
    plan, _ = planned(*BASE, "grid.algorithm=[adap_ucb]", "grid.epsilon=[1]")
    small, middle, large = sorted(plan.cells.values(), key=lambda cell: cell.T)
    present = {
        small.id: np.arange(20),
        middle.id: np.array([0, 1, 2, 7]),
        large.id: np.arange(10),
    }
    units = planning.units(plan, present, block=100)
    spans = sorted((unit.start, unit.stop, unit.horizons) for unit in units)
    assert spans == [
        (3, 7, (10_000,)),
        (8, 10, (10_000,)),
        (10, 20, (10_000, 100_000)),
    ]
    complete = {cell.id: np.arange(25) for cell in plan.cells.values()}
    assert planning.units(plan, complete) == []


def test_blocks():
    plan, _ = planned(*BASE)
    for block in (1, 7):
        units = planning.units(plan, {}, block)
        assert max(unit.stop - unit.start for unit in units) == block
        covered = sorted((cell, r) for unit in units for cell in unit.cells
                         for r in range(unit.start, unit.stop))  # fmt: skip
        assert covered == sorted((cell, r) for cell in plan.cells for r in range(20))
    units = planning.units(plan, {})
    assert [unit.seconds for unit in units] == sorted((u.seconds for u in units), reverse=True)
    slow, _ = planned(*BASE, "grid.algorithm=[ucb1]", "grid.T=[1e8]", "grid.epsilon=null")
    assert {unit.stop - unit.start for unit in planning.units(slow, {})} == {1}
    key = ("ucb1", 1, "bernoulli")
    [one] = planning.units(slow, {}, block=20)
    [corrected] = planning.units(slow, {}, block=20, corrections={key: 3.0})
    assert corrected.seconds == pytest.approx(3 * one.seconds)


def test_generators_take_K_from_the_axis():
    plan, _ = planned(
        "grid.algorithm=[ucb1]", "grid.T=[1000]", "grid.K=[2,10]",
        "grid.instance=[azize_fig3,{name:equal_gap,gap:0.1,best:0.5}]",
    )  # fmt: skip
    assert sorted(cell.work.instance.K for cell in plan.cells.values()) == [2, 5, 10]


def test_one_grid_for_two_families():
    """Instances of arms serve both; K enters where the instance leaves it open."""
    plan, _ = planned(
        "grid.algorithm=[ucb1,rnm_ftnl,ftl]", "grid.T=[1000,2000]", "grid.K=[4,8]",
        "grid.epsilon=[0.1,1]",
        "grid.instance=[sajed_c1,{name:equal_gap,gap:0.1,best:0.5},"
        "{name:doubling_gap,gap:0.01,best:1,K:[4,6]}]",
    )  # fmt: skip
    cells = [planning.describe(cell) for cell in plan.cells.values()]
    found = {(cell["family"], cell["algorithm"], cell["K"]) for cell in cells}
    members = [("bandit", "ucb1"), ("full_information", "ftl"), ("full_information", "rnm_ftnl")]
    assert found == {(*member, K) for K in (4, 5, 6, 8) for member in members}
    assert len(cells) == 2 * 5 * (1 + 1 + 2) and not plan.dropped
    assert {unit.horizons for unit in planning.units(plan, {})} == {(1000, 2000)}


def test_sampled_arms_cost_their_draws():
    seconds = []
    for instance in ("{name:bernoulli,means:[0.5,0.4]}", "{name:beta,a:[1,1],b:[1,2]}"):
        plan, _ = planned("grid.algorithm=[adap_ucb]", "grid.epsilon=[1]", "grid.T=[1e9]",
                          f"grid.instance=[{instance}]", "grid.replicates=10")  # fmt: skip
        seconds.append(sum(unit.seconds for unit in planning.units(plan, {})))
    assert seconds[0] < 0.1 and seconds[1] > 100


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("grid.T=[4]", "K = 5"),
        ("grid.instance=[{name:doubling_gap,gap:0.1,best:0.5,K:5}]", "best = 0.5"),
        ("grid.T=null", "grid.T"),
        ("grid.epsilon=null", "grid.epsilon"),
        ("grid.algorithm=[ucb1]", "no algorithm in the grid uses ε"),
        ("grid.K=[5]", "fixes its own K"),
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
    cells = list(plan.cells.values())
    assert [cell.work.parameters["bound"] for cell in cells] == ["union", "log2.5"]
    stored = [planning.describe(cell)["parameters"] for cell in cells]
    assert stored[1] == '{"bound":"log2.5","budget":"split","gamma":0.1}'
    assert "bound=log2.5, budget=split, gamma=0.1" in series_name(cells[1])
    with pytest.raises(InputError, match=r"bound: got 'unoin'.*closest: union"):
        planned("grid.algorithm=[{name:dp_ucb,bound:unoin}]", "grid.instance=[azize_fig3]",
                "grid.epsilon=[1]", "grid.T=[1e3]")  # fmt: skip
