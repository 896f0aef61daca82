"""A sweep of stopping rules: plan, rows, store, tracking's points, analysis and report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from test_plan import planned
from undisturbed import unit_rows

import analysis
from algos import InputError, simulate
from analysis.report.terminal import show
from sweep.engine.points import Points
from sweep.engine.worker import Worker
from sweep.grid.manifest import families, manifest
from sweep.grid.units import Pending
from sweep.store import Store, Sweep

STREAMS = "grid.instance=[{name:two_point,mu:[0.1,0.3]}]"
BASE = ("grid.algorithm=[{name:nas,alpha:0.3},{name:dp_exp_nas,alpha:[0.1,0.3]}]", STREAMS,
        "grid.epsilon=[0.01,1]", "grid.T=[1e4,1e9]", "grid.replicates=12")  # fmt: skip


def test_the_shipped_grid_plans():
    plan, checked = planned("+grid=stopping_rule")
    assert len(plan) and checked.grid["question"] and not plan.dropped


def test_families_do_not_mix():
    plan, _ = planned(
        "grid.algorithm=[dp_exp_nas,adap_ucb]",
        "grid.instance=[azize_fig3,{name:two_point,mu:0.1}]",
        "grid.epsilon=[0.1,1]", "grid.T=[1e4]",
    )  # fmt: skip
    assert len(plan) == 4 and sum(plan.dropped.values()) == 4
    for cell in plan:
        assert cell.work.algorithm.family in cell.work.instance.families
    assert {cell.work.algorithm.family for cell in plan} == {
        "bandit",
        "stopping_rule",
    }
    with pytest.raises(InputError, match="dp_exp_nas is no algorithm for azize_fig3"):
        planned("grid.algorithm=[dp_exp_nas]", "grid.instance=[azize_fig3]",
                "grid.epsilon=[1]", "grid.T=[1e4]")  # fmt: skip


def test_a_run_serves_every_smaller_number_of_rounds():
    plan, _ = planned(*BASE)
    assert len(plan) == 2 * 2 * (1 + 2 * 2)
    for unit in Pending(plan):
        assert unit.horizons == (10**4, 10**9)


def test_rows_hold_three_scalars_and_no_curve():
    plan, _ = planned(*BASE)
    tables = [unit_rows(unit) for unit in Pending(plan, block=5)]
    whole = pa.concat_tables(tables)
    assert whole.schema.field("stop_time").type == pa.int64()
    assert whole.schema.field("estimate").type == pa.float64()
    assert whole.schema.field("halted").type == pa.bool_()
    assert "pulls" not in whole.schema.names
    for cell in plan:
        rows = whole.filter(pa.compute.equal(whole["cell"], cell.id)).sort_by("replicate")
        work = cell.work
        definition = {"name": "two_point", "mu": work.instance.means[0]}
        direct = simulate(
            work.algorithm.name, definition, epsilon=work.epsilon, T=cell.T, replicates=12,
            **work.parameters,
        )  # fmt: skip
        assert rows["checkpoints"].to_pylist() == rows["regret"].to_pylist() == [[]] * 12
        assert rows["K"].null_count == rows["N"].null_count == 12
        assert rows["stop_time"].to_pylist() == direct.stop_time.tolist()
        assert rows["halted"].to_pylist() == direct.halted.tolist()
        assert np.array_equal(rows["estimate"].to_numpy(), direct.estimate, equal_nan=True)
    assert 0 < pa.compute.sum(whole["halted"]).as_py() < len(whole)


def commit(root: Path, overrides: tuple[str, ...]) -> Path:
    """A store with the sweep of `overrides` and all its rows."""
    plan, _ = planned(*overrides)
    store = Store(root)
    store.open_for_writing()
    tables = [unit_rows(unit) for unit in Pending(plan)]
    store.append_rows(tables)
    record = Sweep(store, f"test-{len(overrides)}")
    targets = np.array(
        [section.replicates for section in plan.sections for _ in range(section.cells)]
    )
    record.write_manifest(manifest(plan, targets), families(plan))
    return record.folder


def test_analysis_reads_and_reports_a_sweep_without_regret(tmp_path):
    folder = commit(tmp_path, BASE)
    assert len(list((tmp_path / "rows").glob("*.parquet"))) == 1
    df = analysis.load(str(folder), tmp_path)
    assert df["halted"].dtype == bool and df["stop_time"].dtype == np.int64
    assert all(len(curve) == 0 for curve in df["regret"])
    assert analysis.slopes(df).empty and analysis.transitions(df).empty
    table = analysis.stopping(df)
    assert len(table) == 20 and set(table["mu"]) == {0.1, 0.3}
    report = analysis.write_report(str(folder), tmp_path)
    page = report.html.read_text()
    assert set(report.tables) == {"algorithms", "stopping"} and report.headlines
    assert "Stopping rules" in page and "dp_exp_nas(alpha=0.1)" in page and "Slopes" not in page
    names = {path.name for path in report.figures if path.suffix == ".png"}
    assert any(name.startswith("samples_vs_epsilon") for name in names)
    assert any(name.startswith("samples_vs_mu") for name in names)
    kept = analysis.write_report(str(folder), tmp_path, reuse=True)
    assert kept.headlines == report.headlines
    console = Console(width=80, record=True)
    show(report, console)
    text = console.export_text()
    assert "two_point(mu=0.1), T = 1e9, n = 12, β = 0.05, all halted" in text
    assert "at ε=0.01" in text and "halted" in text


def test_a_mixed_sweep_reports_both_families(tmp_path):
    overrides = ("grid.algorithm=[{name:dp_exp_nas,alpha:0.3},adap_ucb]",
                 "grid.instance=[azize_fig3,{name:two_point,mu:0.3}]",
                 "grid.epsilon=[0.1,1]", "grid.T=[1e4]", "grid.replicates=5")  # fmt: skip
    folder = commit(tmp_path, overrides)
    report = analysis.write_report(str(folder), tmp_path)
    assert {"slopes", "stopping"} <= set(report.tables)
    assert set(report.tables["slopes"]["family"]) == {"bandit"}
    assert len(report.tables["stopping"]) == 2
    show(report, Console(width=80, record=True))
    page = report.html.read_text()
    assert "Slopes" in page and "Stopping rules" in page


def test_tracking_has_no_points_of_cells_without_regret(tmp_path):
    plan, _ = planned(*BASE)
    for limit in (1, 100):
        points = Points(plan, limit)
        assert points.runs == []
        for unit in Pending(plan):
            assert points.view == "nothing" and not list(points.add(unit, [None] * len(unit.cells)))
    mixed, _ = planned(
        "grid.algorithm=[{name:dp_exp_nas,alpha:0.3},adap_ucb]",
        "grid.instance=[azize_fig3,{name:two_point,mu:0.3}]",
        "grid.epsilon=[0.1,1]", "grid.T=[1e3]", "grid.replicates=5",
    )  # fmt: skip
    points = Points(mixed, 100)
    assert len(points.runs) == 2
    found = [
        run
        for unit in Pending(mixed)
        for run, _ in points.add(unit, Worker(None).play(0, [unit], points.view).shown[0])
    ]
    assert sorted(found) == sorted(spec.id for spec in points.runs)
    empty = np.zeros((5, 0))
    assert list(points.complete((cell.id, empty[0], empty) for cell in plan)) == []


def test_the_store_keeps_booleans(tmp_path):
    commit(tmp_path, BASE)
    [segment] = (tmp_path / "rows").glob("*.parquet")
    table = pq.read_table(segment)
    assert table.schema.field("halted").type == pa.bool_()
    late = ~np.array(table["halted"].to_pylist())
    assert np.isnan(table["estimate"].to_numpy()[late]).all() and late.any()
    assert (table["stop_time"].to_numpy()[late] == table["T"].to_numpy()[late]).all()
