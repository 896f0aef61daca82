"""Finding a sweep and reading its rows."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import analysis
from analysis import AnalysisError


@pytest.fixture
def plan(synthetic: SimpleNamespace) -> SimpleNamespace:
    """A cell with four replicates of different slopes."""
    t = synthetic.grid(1000)
    return synthetic.Plan(np.arange(1, 5)[:, None] * np.log(t), T=1000)


def test_one_row_per_cell_and_replicate(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    other = synthetic.Plan(plan.regret + 1, T=1000, epsilon=None, algorithm="ucb1", means=None)
    config = {"grid": {"question": "When?", "window": [10, 100]}}
    synthetic.write_sweep(tmp_path, [plan, other], config=config)
    df = analysis.load(store=tmp_path)
    assert list(df["replicate"]) == [0, 1, 2, 3] * 2
    assert list(df["algorithm"]) == ["adap_ucb"] * 4 + ["ucb1"] * 4
    assert isinstance(df["regret"].iloc[0], np.ndarray)
    np.testing.assert_array_equal(df["regret"].iloc[2], plan.regret[2])
    np.testing.assert_array_equal(df["checkpoints"].iloc[0], synthetic.grid(1000))
    np.testing.assert_array_equal(df["means"].iloc[0], [0.8, 0.1, 0.1, 0.1, 0.1])
    assert df["means"].iloc[4] is None and math.isnan(df["epsilon"].iloc[4])
    assert df["K"].iloc[0] == 5 and df["N"].isna().all()
    about = df.attrs["sweep"]
    assert about["id"] == "demo-0123abcd" and about["question"] == "When?"
    assert about["window"] == (10, 100) and about["command"] == "python -m sweep +grid=demo"
    assert (about["cells"], about["found"], about["wanted"]) == (2, 8, 8)


def test_latest_prefix_and_path(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    new = synthetic.write_sweep(store, [plan], "beta-22222222", mtime=2e9)
    synthetic.write_sweep(store, [plan], "alpha-11111111", mtime=1e9)
    synthetic.write_sweep(store, [plan], "alpha-11112222", mtime=1e9)

    def found(sweep: str, where: Path = store) -> str:
        return analysis.load(sweep, where).attrs["sweep"]["id"]

    assert found("latest") == found("b") == found("beta-22222222") == "beta-22222222"
    assert found(str(new), tmp_path / "elsewhere") == "beta-22222222"
    with pytest.raises(AnalysisError, match="fits 2 sweeps"):
        found("alpha-1111")
    with pytest.raises(AnalysisError, match="closest: alpha-11111111"):
        found("alhpa-11111111")


def test_duplicates_and_further_replicates_are_left_out(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    plan.replicates = 3
    synthetic.write_sweep(tmp_path, [plan])
    segment = next((tmp_path / "rows").iterdir())
    (tmp_path / "rows" / "again.parquet").write_bytes(segment.read_bytes())
    df = analysis.load(store=tmp_path)
    assert list(df["replicate"]) == [0, 1, 2]
    np.testing.assert_array_equal(df["regret"].iloc[2], plan.regret[2])


def test_only_this_sweeps_cells(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    other = synthetic.Plan(plan.regret, T=1000, epsilon=0.5)
    synthetic.write_sweep(tmp_path, [other], "other-1")
    synthetic.write_sweep(tmp_path, [plan], "mine-1")
    assert set(analysis.load("mine", tmp_path)["epsilon"]) == {1.0}
    # A temporary file of a writer is no segment.
    (tmp_path / "rows" / ".half.parquet").write_bytes(b"PAR1")
    assert len(analysis.load("mine", tmp_path)) == 4


def test_shorter_cells_of_an_anytime_stream_come_from_longer_runs(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    shared = synthetic.grid(1000)
    T = int(shared[-5])
    short = synthetic.Plan(
        np.zeros((4, len(synthetic.grid(T)))), T=T, write_rows=False, replicates=3
    )
    fixed = synthetic.Plan(
        np.zeros((4, len(synthetic.grid(T)))), T=T, write_rows=False, anytime=False, epsilon=2.0
    )
    long = synthetic.Plan(plan.regret, T=1000, anytime=False, epsilon=2.0)
    synthetic.write_sweep(tmp_path, [short, fixed, plan, long])
    df = analysis.load(store=tmp_path)
    cut = df[df["T"] == T]
    assert list(cut["replicate"]) == [0, 1, 2] and set(cut["epsilon"]) == {1.0}
    np.testing.assert_array_equal(cut["checkpoints"].iloc[1], shared[:-4])
    np.testing.assert_array_equal(cut["regret"].iloc[1], plan.regret[1, :-4])
    assert len(df[df["T"] == 1000]) == 8


def test_what_is_cut_has_no_outcome(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    """Outcomes were noted at the end of the longer run; rows without curves can't be cut."""
    T = int(synthetic.grid(1000)[-5])
    nothing = np.zeros((4, len(synthetic.grid(T))))
    short = synthetic.Plan(nothing, T=T, write_rows=False)
    flat = synthetic.Plan(nothing, T=T, write_rows=False, epsilon=2.0)
    other = synthetic.Plan(plan.regret, T=1000, epsilon=2.0)
    folder = synthetic.write_sweep(tmp_path, [short, flat, plan, other])
    segment = next((tmp_path / "rows").iterdir())
    rows = pq.read_table(segment).to_pylist()
    for number, row in enumerate(rows):
        row |= {"switches": number, "calm": number % 2 == 0, "arms": [number] * (number % 3)}
        if row["epsilon"] == 2.0:
            row |= {"checkpoints": [], "regret": []}
    kinds = [("switches", pa.int64()), ("calm", pa.bool_()), ("arms", pa.list_(pa.int64()))]
    schema = pa.schema([*pq.read_schema(segment), *kinds])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), segment)
    df = analysis.load(str(folder))
    assert list(df["T"]) == [T] * 4 + [1000] * 8 and set(df["epsilon"][:4]) == {1.0}
    np.testing.assert_array_equal(df["regret"].iloc[1], plan.regret[1, :-4])
    for name in ("switches", "calm", "arms", "pulls"):
        assert df[name][:4].isna().all() and df[name][4:].notna().all()
    assert list(df["switches"][4:]) == list(range(8))
    np.testing.assert_array_equal(df["arms"].iloc[9], [5, 5])


def test_outcomes_of_families_stand_side_by_side(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    """Segments have the columns of their own family; the frame has those of all."""
    other = synthetic.Plan(plan.regret, T=1000, epsilon=2.0, family="pairs")
    synthetic.write_sweep(tmp_path, [other], "other-1")
    segment = tmp_path / "rows" / "other-1.parquet"
    rows = pq.read_table(segment).drop_columns(["pulls"])
    pq.write_table(rows.append_column("pair", pa.array([0.5, 1.5, 2.5, 3.5])), segment)
    folder = synthetic.write_sweep(tmp_path, [plan, other], "both-1")
    (tmp_path / "rows" / "both-1.parquet").unlink()
    synthetic.write_sweep(tmp_path, [plan], "first-1")
    df = analysis.load(str(folder))
    assert list(df["family"]) == ["bandit"] * 4 + ["pairs"] * 4
    assert df["pair"].isna().tolist() == [True] * 4 + [False] * 4
    assert df["pulls"].isna().tolist() == [False] * 4 + [True] * 4
    pq.write_table(rows.append_column("pulls", pa.array(["a", "b", "c", "d"])), segment)
    with pytest.raises(AnalysisError, match="an outcome column of different types"):
        analysis.load(str(folder))


def test_a_cell_with_two_names_is_there_under_both(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    """Each name has a target of its own; the rows keep the name that their content has."""
    again = synthetic.Plan(plan.regret, T=1000, label="hu_distinct", replicates=2)
    other = synthetic.Plan(plan.regret + 1, T=1000, epsilon=0.5)
    plan.label = "mine"
    synthetic.write_sweep(tmp_path, [plan, other, again])
    df = analysis.load(store=tmp_path)
    assert list(df["instance"]) == ["mine"] * 4 + ["azize_fig3"] * 4 + ["hu_distinct"] * 2
    assert list(df["replicate"]) == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    np.testing.assert_array_equal(df["regret"].iloc[9], plan.regret[1])
    about = df.attrs["sweep"]
    assert (about["cells"], about["wanted"], about["found"]) == (3, 10, 10)
    assert df.groupby(["cell", "instance"], sort=False).ngroups == 3


def test_replicates_with_different_checkpoints_share_a_grid(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    synthetic.write_sweep(tmp_path, [plan])
    df = analysis.load(store=tmp_path)
    keep = np.arange(len(df["regret"].iloc[0])) != len(df["regret"].iloc[0]) - 10
    for name in ("checkpoints", "regret"):
        df.at[1, name] = df[name].iloc[1][keep]
    before = analysis.slopes(analysis.load(store=tmp_path)).iloc[0]
    after = analysis.slopes(df).iloc[0]
    assert after["points"] == before["points"] - 1
    assert after["slope"] == pytest.approx(before["slope"])


def test_errors(synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match=r"nowhere'; allowed: a folder"):
        analysis.load(store=tmp_path / "nowhere")
    with pytest.raises(AnalysisError, match="a store that holds sweeps"):
        analysis.load(store=tmp_path)
    plan.write_rows = False
    folder = synthetic.write_sweep(tmp_path, [plan])
    with pytest.raises(
        AnalysisError, match=r"no rows yet; .*of the 4 rows of 'demo-0123abcd' none"
    ):
        analysis.load(store=tmp_path)
    table = pq.read_table(folder / "manifest.parquet")
    pq.write_table(table.drop_columns(["means"]), folder / "manifest.parquet")
    with pytest.raises(AnalysisError, match="lacks the columns means"):
        analysis.load(store=tmp_path)
    (folder / "manifest.parquet").write_bytes(b"PAR1 nothing")
    with pytest.raises(AnalysisError, match=r"manifest: got a damaged file"):
        analysis.load(store=tmp_path)


def test_damaged_segment_is_named(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    synthetic.write_sweep(tmp_path, [plan])
    bad = tmp_path / "rows" / "broken.parquet"
    bad.write_bytes(b"PAR1 cut short")
    with pytest.raises(AnalysisError, match=r"broken\.parquet is damaged"):
        analysis.load(store=tmp_path)
    good = next(p for p in (tmp_path / "rows").iterdir() if p != bad).read_bytes()
    bad.write_bytes(good[: len(good) // 2])
    with pytest.raises(AnalysisError, match=r"broken\.parquet is damaged"):
        analysis.load(store=tmp_path)


def test_row_without_regret(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path
) -> None:
    synthetic.write_sweep(tmp_path, [plan])
    segment = next((tmp_path / "rows").iterdir())
    table = pq.read_table(segment)
    at = table.column_names.index("regret")
    nothing = pa.nulls(table.num_rows, pa.list_(pa.float64()))
    pq.write_table(table.set_column(at, "regret", nothing), segment)
    with pytest.raises(AnalysisError, match="a row without regret"):
        analysis.load(store=tmp_path)


@pytest.mark.parametrize("window", [[5], [100, 10], "wide", [0, 10], 7, [True, 9]])
def test_bad_window(
    synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path, window: object
) -> None:
    synthetic.write_sweep(tmp_path, [plan], config={"grid": {"window": window}})
    with pytest.raises(AnalysisError, match=r"grid\.window: got"):
        analysis.load(store=tmp_path)
