"""The store: segments are complete or absent, bad ones are named, nothing is lost."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest

from algos import InputError
from sweep.store import Store, write_atomically


def table(cell: str, replicates: list[int]) -> pa.Table:
    return pa.table({"cell": [cell] * len(replicates), "replicate": replicates})


def test_what_is_appended_is_present(tmp_path):
    store = Store(tmp_path / "a" / "b")
    store.open_for_writing()
    store.append(store.rows, [table("x", [0, 1]), table("y", [5])])
    store.append(store.rows, [table("x", [1, 3]), table("z", [0])])
    present = store.present(["x", "y", "unknown"])
    assert {cell: have.tolist() for cell, have in present.items()} == {"x": [0, 1, 3], "y": [5]}
    assert store.present([]) == {}


def test_an_interrupted_write_leaves_the_old_content(tmp_path):
    path = tmp_path / "file"
    write_atomically(path, lambda temporary: temporary.write_text("old"))

    def fails(temporary):
        temporary.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, fails)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_unfinished_segment_is_not_read(tmp_path):
    store = Store(tmp_path)
    store.open_for_writing()
    store.append(store.rows, [table("x", [0])])
    (store.rows / ".deadbeef.parquet.1234.tmp").write_bytes(b"PAR1")
    (store.rows / ".deadbeef.parquet").write_bytes(b"PAR1")
    assert store.present(["x"])["x"].tolist() == [0]


def test_a_damaged_segment_is_named(tmp_path):
    store = Store(tmp_path)
    store.open_for_writing()
    store.append(store.rows, [table("x", [0])])
    [segment] = store.segments(store.rows)
    content = segment.read_bytes()
    segment.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=segment.name) as caught:
        store.present(["x"])
    assert "\n" not in str(caught.value)
    assert segment.exists()


@pytest.mark.parametrize("below", ["file/store", "file"])
def test_a_store_that_cannot_be_written_leaves_nothing(tmp_path, below):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="store"):
        Store(tmp_path / below).open_for_writing()
    assert os.listdir(tmp_path) == ["file"]


def test_a_half_made_store_is_undone(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "timings").write_text("in the way")
    with pytest.raises(InputError, match="store"):
        Store(tmp_path / "store").open_for_writing()
    assert os.listdir(tmp_path / "store") == ["timings"]


def test_corrections_are_measured_over_expected(tmp_path):
    store = Store(tmp_path)
    store.open_for_writing()
    for seconds in (1.0, 3.0):
        row = {"algorithm": "ucb1", "version": 1, "distribution": "bernoulli"}
        row |= {"seconds": seconds, "uncorrected": 4.0}
        store.append(store.timings, [pa.Table.from_pylist([row])])
    assert store.corrections() == {("ucb1", 1, "bernoulli"): 0.5}
    (store.timings / "bad.parquet").write_bytes(b"nothing")
    assert store.corrections() == {("ucb1", 1, "bernoulli"): 0.5}


def test_present_counts_a_duplicate_once(tmp_path):
    store = Store(tmp_path)
    store.open_for_writing()
    for _ in range(2):
        store.append(store.rows, [table("x", list(range(3)))])
    np.testing.assert_array_equal(store.present(["x"])["x"], [0, 1, 2])
