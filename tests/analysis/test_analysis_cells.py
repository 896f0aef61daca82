"""Cells read from a store one at a time: whatever the layout, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import analysis
from analysis.curves import Curves
from analysis.stored import cells_of
from sweep.store import cells as reader
from sweep.store import find_sweep
from sweep.store.cells import Cells, Index, stream
from sweep.store.segments import VanishedError

T = 1000


def plans(synthetic: SimpleNamespace, count: int = 4, n: int = 12) -> list[Any]:
    """Cells whose every number is different."""
    size = len(synthetic.grid(T))
    values = np.arange(count * n * size, dtype=float).reshape(count, n, size)
    return [synthetic.Plan(v, T=T, epsilon=float(i + 1)) for i, v in enumerate(values)]


def one_segment(store: Path) -> pa.Table:
    """The rows of a store of one segment, which is taken away."""
    [path] = (store / "rows").iterdir()
    table = pq.read_table(path)
    path.unlink()
    return table


def with_checkpoints(rows: pa.Table, change: Callable[[int, Any], Any]) -> pa.Table:
    """The rows with other checkpoints."""
    old = rows["checkpoints"].to_pylist()
    new = pa.array([change(i, one) for i, one in enumerate(old)], rows["checkpoints"].type)
    return rows.set_column(rows.column_names.index("checkpoints"), "checkpoints", new)


def streamed(store: Path) -> dict[str, Curves]:
    """The cells of the newest sweep; each comes once."""
    found = list(cells_of("latest", str(store)))
    assert len({one.info["cell"] for one in found}) == len(found)
    return {one.info["cell"]: one for one in found}


def assert_all_there(store: Path, made: list[Any], synthetic: SimpleNamespace) -> None:
    """Every replicate of every cell once, in order; both readers agree."""
    found = streamed(store)
    for plan in made:
        cell = found[plan.record()["cell"]]
        np.testing.assert_array_equal(cell.regret, plan.regret)
        np.testing.assert_array_equal(cell.checkpoints, synthetic.grid(T))
        assert (cell.outcomes["pulls"] == 1).all() and cell.outcomes["pulls"].shape[0] == cell.n
    df = analysis.load(store=store)
    np.testing.assert_array_equal(np.stack(df["regret"]), np.concatenate([p.regret for p in made]))
    assert all((one == synthetic.grid(T)).all() for one in df["checkpoints"])


@pytest.mark.parametrize("chunk", [1, 5_000, 10**9])
def test_rows_scattered_over_segments_with_duplicates(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    made = plans(synthetic)
    synthetic.write_sweep(tmp_path, made)
    rows = one_segment(tmp_path)
    rng = np.random.default_rng(1)
    twice = np.concatenate([rng.permutation(len(rows)), rng.integers(0, len(rows), 30)])
    for i, part in enumerate(np.array_split(twice, 5)):
        piece = rows.take(pa.array(np.sort(part) if i % 2 else part))
        pq.write_table(piece, tmp_path / "rows" / f"{i}.parquet", row_group_size=7)
    monkeypatch.setattr(reader, "CHUNK", chunk)
    monkeypatch.setattr(reader, "PORTION", 4 * chunk)
    assert_all_there(tmp_path, made, synthetic)


@pytest.mark.parametrize("which", ["all", "some", "whole cells"])
def test_null_checkpoints_are_the_standard_ones(
    synthetic: SimpleNamespace, tmp_path: Path, which: str
) -> None:
    made = plans(synthetic)
    synthetic.write_sweep(tmp_path, made)
    null = {"all": lambda i: True, "some": lambda i: i % 3 == 0, "whole cells": lambda i: i < 24}
    rows = with_checkpoints(one_segment(tmp_path), lambda i, v: None if null[which](i) else v)
    pq.write_table(rows, tmp_path / "rows" / "a.parquet", row_group_size=10)
    assert_all_there(tmp_path, made, synthetic)


def test_null_checkpoints_with_another_number_of_regrets_are_refused(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    synthetic.write_sweep(tmp_path, plans(synthetic))
    rows = with_checkpoints(one_segment(tmp_path), lambda i, v: None)
    short = pa.array([v[:-1] for v in rows["regret"].to_pylist()], rows["regret"].type)
    rows = rows.set_column(rows.column_names.index("regret"), "regret", short)
    pq.write_table(rows, tmp_path / "rows" / "a.parquet")
    for read in (lambda: analysis.load(store=tmp_path), lambda: streamed(tmp_path)):
        with pytest.raises(analysis.AnalysisError, match="differ in length"):
            read()


@pytest.mark.parametrize("null", [True, False])
def test_a_shorter_cell_is_cut_from_longer_runs_that_have_its_T(
    synthetic: SimpleNamespace, tmp_path: Path, null: bool
) -> None:
    """Two replicates of its own, the rest cut; a T that the longer run lacks can't be."""
    grid = synthetic.grid(T)
    short, odd = int(grid[-5]), int(grid[-5]) + 1
    made = plans(synthetic, count=1)[0]
    own = synthetic.Plan(made.regret[:2, :-4], T=short, replicates=12)
    never = synthetic.Plan(np.zeros((3, len(synthetic.grid(odd)))), T=odd, write_rows=False)
    synthetic.write_sweep(tmp_path, [own, never, made])
    rows = with_checkpoints(one_segment(tmp_path), lambda i, v: None if null else v)
    pq.write_table(rows, tmp_path / "rows" / "a.parquet", row_group_size=5)
    found = streamed(tmp_path)  # adap_ucb at ε = 1 in all three: the same stream
    assert found.keys() == {own.record()["cell"], made.record()["cell"]}
    cell = found[own.record()["cell"]]
    np.testing.assert_array_equal(cell.regret, made.regret[:, :-4])
    np.testing.assert_array_equal(cell.checkpoints, grid[:-4])
    df = analysis.load(store=tmp_path)
    assert df["T"].value_counts().to_dict() == {short: 12, T: 12}
    assert df["pulls"].isna().sum() == 10


def test_a_compaction_in_the_middle_of_reading(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was given already is not given again, and the rest comes from the new segments."""
    made = plans(synthetic)
    synthetic.write_sweep(tmp_path, made)
    rows = one_segment(tmp_path)
    for i in range(4):
        pq.write_table(rows.slice(12 * i, 12), tmp_path / "rows" / f"{i}.parquet")
    monkeypatch.setattr(reader, "CHUNK", 1)
    sweep = find_sweep("latest", tmp_path)
    seen = []
    for one in stream(sweep.store, Cells.of(sweep.manifest())):
        seen.append(one.cell)
        if len(seen) == 2:
            pq.write_table(rows, tmp_path / "rows" / "merged.parquet")
            for i in range(4):
                (tmp_path / "rows" / f"{i}.parquet").unlink()
    assert sorted(seen) == [0, 1, 2, 3]


def test_an_index_of_a_segment_that_is_gone(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthetic.write_sweep(tmp_path, plans(synthetic))
    sweep = find_sweep("latest", tmp_path)
    monkeypatch.setattr(type(sweep.store), "settled_names", lambda *_: ["gone.parquet"])
    with pytest.raises(VanishedError):
        Index.of(sweep.store, Cells.of(sweep.manifest()))


def test_memory_is_bounded(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20 MB of rows with a chunk of 1 MB; row groups are of 0.5 MB."""
    size = len(synthetic.grid(T))
    count, n = 24, 1600
    rng = np.random.default_rng(0)
    curves = rng.integers(0, 9, (n, size)).astype(float)
    made = [synthetic.Plan(curves[:1], T=T, epsilon=i + 1.0, replicates=n) for i in range(count)]
    synthetic.write_sweep(tmp_path, made)
    row = with_checkpoints(one_segment(tmp_path), lambda i, v: None)
    offsets = np.arange(0, n * size + 1, size, dtype=np.int32)
    flat = pa.ListArray.from_arrays(offsets, curves.ravel())
    path = tmp_path / "rows" / "a.parquet"
    with pq.ParquetWriter(path, row.schema, compression="none") as writer:
        for i in range(count):
            one = row.slice(i, 1).take(pa.array(np.zeros(n, np.int64)))
            at = one.column_names.index
            one = one.set_column(at("replicate"), "replicate", pa.array(np.arange(n)))
            one = one.set_column(at("regret"), "regret", flat.cast(one["regret"].type))
            writer.write_table(one, row_group_size=1000)
    monkeypatch.setattr(reader, "CHUNK", 2**20)
    before, peak, rows = pa.total_allocated_bytes(), 0, 0
    for cell in cells_of("latest", str(tmp_path)):
        rows += cell.n
        peak = max(peak, pa.total_allocated_bytes() - before)
        del cell
    assert rows == count * n and rows * size * 8 > 18 * 2**20
    assert peak < 8 * 2**20
