"""Rows are a function of seed, stream, T and replicate, however the work was cut."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pyarrow as pa
import pytest
from test_plan import BASE, planned
from undisturbed import played_units, unit_rows

from algos import simulate
from algos.blocks import is_compiled
from algos.checkpoints import grid
from sweep.engine.worker import warm
from sweep.grid.units import Pending

ORDER = [("cell", "ascending"), ("replicate", "ascending")]


def played(block: int | None, seed: int = 0, order: int | None = None, *more: str) -> pa.Table:
    """All rows of the base grid, units of the given size, shuffled by `order`."""
    plan, _ = planned(*BASE, *more)
    units = list(Pending(plan, block=block))
    if order is not None:
        units = [units[i] for i in np.random.default_rng(order).permutation(len(units))]
    played, [table] = played_units(units)
    assert played.done == list(range(len(units))) and not played.failed
    assert played.timings.num_rows == len(units)
    return table.sort_by(ORDER)


@pytest.fixture(scope="module")
def whole() -> pa.Table:
    return played(None)


@pytest.mark.parametrize("block", [1, 3, 20])
def test_block_size_and_order_leave_no_mark(whole, block):
    assert played(block, order=block).equals(whole)


def test_a_served_cell_equals_its_own_run(whole):
    for T in (10**3, 10**4):
        alone = played(None, 0, None, f"grid.T=[{T}]")
        cells = alone["cell"].unique().to_pylist()
        served = whole.filter(pa.compute.is_in(whole["cell"], pa.array(cells)))
        assert alone.equals(served) and len(cells) == 7


def test_rows_are_what_simulate_returns(whole):
    plan, _ = planned(*BASE)
    for cell in plan:
        rows = whole.filter(pa.compute.equal(whole["cell"], cell.id)).to_pylist()
        assert [row["replicate"] for row in rows] == list(range(20))
        direct = simulate(
            cell.work.algorithm.name, "azize_fig3", epsilon=cell.work.epsilon, T=cell.T,
            replicates=20,
        )  # fmt: skip
        for row, regret, pulls in zip(rows, direct.regret, direct.pulls, strict=True):
            assert row["checkpoints"] is None  # they follow from T
            assert direct.checkpoints.tolist() == grid(cell.T).tolist()
            assert row["regret"] == regret.tolist() and row["pulls"] == pulls.tolist()
            assert sum(row["pulls"]) == row["T"] == cell.T
            assert row["instance"] == "azize_fig3" and row["K"] == 5 and row["N"] is None
            assert (row["epsilon"] is None) == (row["algorithm"] == "ucb1")


def test_a_family_with_fewer_rounds_than_arms():
    """Full information: rows equal `simulate`, and T may be less than K, also while warming."""
    overrides = (
        "grid.algorithm=[rnm_ftnl,{name:ftnl,noise:[1,2]},decreasing_hedge]",
        "grid.instance=[{name:equal_gap,gap:0.1,best:0.5},{name:doubling_gap,gap:0.1,best:0.5,K:3},"
        "{name:reward_table,rewards:[[0,1,0,1],[1,0,0,0],[0,0,0,1]]}]",
        "grid.K=[5,2]", "grid.epsilon=[0.5,inf]", "grid.T=[1,2,3]", "grid.replicates=4",
    )  # fmt: skip
    plan, _ = planned(*overrides)
    per_algorithm = {"rnm_ftnl": 2, "ftnl": 4, "decreasing_hedge": 1}
    assert len(plan) == 4 * 3 * sum(per_algorithm.values())
    units = list(Pending(plan, block=3))
    assert len(units) == 4 * 2 * sum(per_algorithm.values())  # all are anytime
    warm(Pending(plan).kernels())
    played, [table] = played_units(units)
    assert not played.failed
    table = table.sort_by(ORDER)
    assert table.num_rows == 4 * len(plan)
    for cell in plan:
        rows = table.filter(pa.compute.equal(table["cell"], cell.id)).to_pylist()
        work = cell.work
        direct = simulate(
            work.algorithm.name, json.loads(work.instance.definition), epsilon=work.epsilon,
            T=cell.T, replicates=4, **work.parameters,
        )  # fmt: skip
        for row, regret, pulls in zip(rows, direct.regret, direct.pulls, strict=True):
            assert row["regret"] == regret.tolist() and row["pulls"] == pulls.tolist()
            assert sum(row["pulls"]) == cell.T and row["K"] == cell.work.instance.sizes["K"]
            assert row["family"] == "full_information" and row["N"] is None


def test_a_kernel_that_raises_fails_its_unit_only():
    plan, _ = planned(*BASE, "grid.algorithm=[adap_ucb]")
    units = list(Pending(plan, block=20))
    broken = dataclasses.replace(units[0], seed=-1)  # refused where states are made
    played, [table] = played_units([units[0], broken, units[1]])
    assert played.done == [0, 2]
    alone = [unit_rows(unit) for unit in units[:2]]
    assert table.equals(pa.concat_tables(alone).combine_chunks())
    [failed] = played.failed
    assert failed.unit == 1
    assert "ValueError" in failed.error and "seeding" in failed.traceback


def test_warming_needs_each_kernel_once():
    plan, _ = planned(*BASE)
    needed = Pending(plan, block=1).kernels()
    assert sorted(work.algorithm.name for work in needed) == ["adap_ucb", "dp_se", "ucb1"]
    warm(needed, first=2)
    assert all(is_compiled(work.algorithm.form) for work in needed)


def test_a_unit_survives_a_trip_through_pickle_with_its_cached_kernel():
    import pickle

    plan, _ = planned(*BASE)
    unit = next(iter(Pending(plan, block=5)))
    copy = pickle.loads(pickle.dumps(unit))
    assert copy.work.algorithm is unit.work.algorithm
    assert unit_rows(copy).equals(unit_rows(unit))
