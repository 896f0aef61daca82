"""Compaction and verification: fewer segments, the same rows, at any moment, whoever else is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import object_store
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import LIMIT
from stored import distinct, fill, held, scanned, table, timings

from sweep.store import Store
from sweep.store import compact as compacting
from sweep.store.__main__ import main
from sweep.store.columns import row_schema
from sweep.store.compact import UNFINISHED, compact
from sweep.store.row_hashes import row_hashes
from sweep.store.segments import KEY, ROWS, TIMINGS
from sweep.store.verify import verify

STOPPING = [("stop_time", pa.int64()), ("estimate", pa.float64()), ("halted", pa.bool_())]
WORKER = Path(__file__).with_name("store_worker.py")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    made = Store(tmp_path / "store")
    made.open_for_writing()
    return made


def work(*arguments: object, out: Path | None = None) -> subprocess.Popen[str]:
    """Start store_worker.py."""
    with open(out or os.devnull, "w") as file:
        return subprocess.Popen(
            [sys.executable, str(WORKER), *map(str, arguments)],
            stdout=file if out is not None else subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def test_small_segments_are_merged_sorted_and_kept_once(store, tmp_path):
    expected = fill(store, "zxy", 6)
    store.append_rows([table("x", [1, 2]), table("y", [0])])
    store.append_rows([table("y", [0])])
    done = compact(store, ROWS)
    assert (done.segments, done.rows, done.segments_after, done.rows_after) == (5, 22, 1, 18)
    [name] = store.names(ROWS)
    assert pq.read_table(tmp_path / "store" / ROWS / name).equals(expected)
    again = compact(store, ROWS)
    assert (again.segments, again.segments_after) == (1, 1) and store.names(ROWS) == [name]


def test_families_stay_apart(store):
    """Rows with other columns are another kind of segment."""
    rows = table("x", [0]).to_pylist()[0]
    rows |= {"stop_time": 3, "halted": True, "estimate": 0.5, "regret": [], "checkpoints": []}
    others = [
        pa.Table.from_pylist([rows | {"replicate": r}], schema=row_schema(STOPPING)) for r in (7, 8)
    ]
    for other in others:
        store.append_rows([other, table("x", [other["replicate"][0].as_py() - 7])])
    assert compact(store, ROWS).segments_after == 2
    assert scanned(store) == [("x", 0), ("x", 1), ("x", 7), ("x", 8)]


def rounds(column: list[list[int] | None]) -> pa.Table:
    """Rows of one run to T = 12 whose checkpoints are given as they are stored."""
    given = pa.array(column, pa.list_(pa.int64()))
    rows = pa.concat_tables([table("x", [0])] * len(column))
    return rows.set_column(rows.schema.get_field_index("checkpoints"), "checkpoints", given)


def test_null_checkpoints_and_the_standard_rounds_are_equal_rows(store):
    """Rows of earlier versions repeat the rounds that null stands for."""
    standard = list(range(1, 13))
    first, *same, other = row_hashes(rounds([None, standard, None, [1, 2, 3, 4, 5, 12]])).tolist()
    assert same == [first, first] and other != first
    store.append_rows([rounds([None])])
    store.append_rows([rounds([standard])])
    found = verify(store)
    assert (found.duplicates, found.different, found.sound) == (1, 0, True)
    assert compact(store, ROWS).rows_after == 1
    store.append_rows([rounds([[1, 2, 3, 4, 5, 12]])])
    found = verify(store)
    assert (found.duplicates, found.different, found.sound) == (0, 1, False)


def test_large_segments_are_left_alone_unless_they_hold_duplicates(store, monkeypatch):
    monkeypatch.setattr(compacting, "SMALL", 0)
    expected = fill(store, "xy", 6)
    names = store.names(ROWS)
    compact(store, ROWS)
    assert store.names(ROWS) == names
    store.append_rows([table("x", [0])])
    compact(store, ROWS)
    assert len(set(names) & set(store.names(ROWS))) == 2
    assert held(Path(store.root)).equals(expected)


@pytest.mark.parametrize("group", [1, 2500, 10**6])
@pytest.mark.parametrize("target", [1, 10**6])
def test_whatever_the_sizes(store, monkeypatch, group, target):
    """Rows that are kept once although their copies come in other groups and segments."""
    monkeypatch.setattr(compacting, "GROUP", group)
    monkeypatch.setattr(compacting, "TARGET", target)
    expected = fill(store, "xyz", 6)
    fill(store, "zxy", 6, step=4)
    done = compact(store, ROWS)
    assert done.rows == 36 and done.rows_after == 18
    assert held(Path(store.root)).equals(expected)
    assert done.segments_after == len(store.names(ROWS))


def test_merged_segments_can_be_skipped_through(store, monkeypatch):
    monkeypatch.setattr("sweep.store.segments.ROW_GROUP", 1000)
    fill(store, "xyz", 6)
    compact(store, ROWS)
    [name] = store.names(ROWS)
    file = pq.ParquetFile(Path(store.root) / ROWS / name)
    assert file.num_row_groups > 3
    cells = [file.read_row_group(i, ["cell"])["cell"] for i in range(file.num_row_groups)]
    assert [cell for part in cells for cell in part.to_pylist()] == ["x"] * 6 + ["y"] * 6 + [
        "z"
    ] * 6


def test_rows_that_differ_are_named_and_both_kept(store, capsys):
    rows = table("x", [0, 1])
    at = rows.column_names.index("regret")
    last = pa.array(
        [[*part[:-1], np.nextafter(part[-1], 9)] for part in rows["regret"].to_pylist()]
    )
    store.append_rows([rows])
    store.append_rows([rows.set_column(at, "regret", last)])
    store.append_rows([rows])
    assert main(["verify", store.root]) == 1
    out = capsys.readouterr().out
    assert "cell x, replicate 0: rows differ in" in out and "2 that differ" in out
    assert compact(store, ROWS).rows_after == 4
    assert main(["verify", store.root]) == 1 and "2 that differ" in capsys.readouterr().out


def test_damaged_segments_are_left_alone_and_named(store, capsys):
    expected = fill(store, "xy", 4)
    store.append_rows([table("w", range(30), points=30)])
    [bad] = [name for name in store.names(ROWS) if len(pq.read_table(path(store, name))) == 30]
    content = bytearray(path(store, bad).read_bytes())
    content[len(content) // 2] ^= 16
    path(store, bad).write_bytes(content)
    store.append_timings(timings(1.0))
    (Path(store.root) / TIMINGS / "bad.parquet").write_bytes(b"")
    for command in ("verify", "compact", "compact"):
        assert main([command, store.root]) == 1
        out = capsys.readouterr().out
        assert f"rows/{bad}: " in out and "timings/bad.parquet: " in out
    assert path(store, bad).read_bytes() == content and len(store.names(ROWS)) == 2
    path(store, bad).unlink()
    assert held(Path(store.root)).equals(expected)


def path(store: Store, name: str) -> Path:
    """The file of a segment of rows."""
    return Path(store.root) / ROWS / name


def test_timings_are_merged(store):
    for seconds in (1.0, 2.0, 2.0):
        store.append_timings(timings(seconds))
    before = store.corrections()
    done = compact(store, TIMINGS)
    assert (done.segments_after, done.rows_after) == (1, 2)
    assert before != store.corrections() == {("ucb1", 1, "bernoulli"): 3 / 8}


def test_verify_counts(store, capsys):
    assert main(["verify", store.root]) == 0
    fill(store, "xy", 4)
    store.append_rows([table("x", [0, 1])])
    found = verify(store)
    assert (found.segments, found.rows, found.duplicates, found.different) == (3, 10, 2, 0)
    names = store.names(ROWS)
    assert main(["verify", store.root]) == 0 and store.names(ROWS) == names
    assert capsys.readouterr().out.endswith(
        "3 segments of rows, 0 of timings and 0 definitions are sound, 0 damaged; 10 rows, 2 of"
        " them duplicates, 0 that differ\n"
    )


@pytest.mark.parametrize(
    "arguments",
    [(), ("compact",), ("verify", "nowhere"), ("compact", "s3://a:b@c/d"), ("fix", ".")],
)
def test_bad_input_is_one_line(arguments, tmp_path):
    process = subprocess.run(
        [sys.executable, "-m", "sweep.store", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert process.returncode == 2 and process.stdout == ""
    assert process.stderr.startswith("error: ") and process.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_hashes_are_of_content_alone():
    rows = pa.concat_tables([table("x", range(5)), table("y", range(5))])
    whole = row_hashes(rows)
    assert len(set(whole.tolist())) == 10
    np.testing.assert_array_equal(whole, row_hashes(rows.combine_chunks()))
    parts = [row_hashes(rows.slice(i, 1)) for i in range(10)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    np.testing.assert_array_equal(whole, row_hashes(rows.select(rows.column_names[::-1])))
    assert (row_hashes(rows, KEY) != whole).all()
    for name in rows.column_names:
        column = rows[name]
        if pa.types.is_list(column.type):
            values = [part[::-1] for part in column.to_pylist()]
            if name == "pulls":
                values = [[*part, 0] for part in column.to_pylist()]
        elif pa.types.is_string(column.type):
            values = [text + "'" for text in column.to_pylist()]
        else:
            values = [1 if value is None else value + 1 for value in column.to_pylist()]
        at = rows.column_names.index(name)
        other = rows.set_column(at, name, pa.array(values, column.type))
        assert (row_hashes(other) != whole).all(), name


def test_nulls_zeros_and_nan_are_told_apart():
    for values in (
        [0.0, None, np.nan, -0.0],
        [0, None, 1, 2],
        [False, None, True],
        ["", None, "0"],
    ):
        assert len(set(row_hashes(pa.table({"a": values})).tolist())) == len(values)
    lists = pa.array([[], None, [0], [0, 0], [1]], pa.list_(pa.int64()))
    assert len(set(row_hashes(pa.table({"a": lists})).tolist())) == 5
    nan = pa.table({"a": [np.nan, np.nan]})
    assert len(set(row_hashes(nan).tolist())) == 1


def test_a_killed_compaction_loses_nothing(tmp_path):
    """kill -9 before and after every few system calls; 1 s each."""
    full = Store(tmp_path / "full")
    full.open_for_writing()
    expected = fill(full, "xyz", 6)
    fill(full, "xz", 4)
    died = 0
    for step in range(0, 200, 4):
        root = tmp_path / str(step)
        shutil.copytree(tmp_path / "full", root)
        process = work("killed", root, step)
        _, err = process.communicate(timeout=LIMIT)
        assert distinct(held(root)).equals(expected), step
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL, err
        died += 1
        compact(Store(root), ROWS)
        assert held(root).equals(expected), step
    assert died > 4 and process.returncode == 0


def test_two_compactions_at_once(store, tmp_path):
    """Both begin with the same listing; each finds what the other left."""
    expected = fill(store, "xyz", 8)
    fill(store, "zx", 4)
    first = compacting._Compaction(store, ROWS)
    second = compacting._Compaction(Store(store.root), ROWS)
    listed = second._listed()
    second._listed = lambda: listed  # type: ignore[method-assign]
    first.run()
    second.run()
    assert held(Path(store.root)).equals(expected)


def test_two_compactions_that_both_have_read(store, monkeypatch):
    """The second deletes after the first has written and deleted, from the same segments."""
    expected = fill(store, "xyz", 8)
    fill(store, "zx", 4)
    second = compacting._Compaction(Store(store.root), ROWS)
    commit = compacting._Compaction._commit

    def late(self: object, *arguments: object) -> None:
        monkeypatch.setattr(compacting._Compaction, "_commit", commit)
        compact(store, ROWS)
        commit(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(compacting._Compaction, "_commit", late)
    second.run()
    assert distinct(held(Path(store.root))).equals(expected)
    compact(store, ROWS)
    assert held(Path(store.root)).equals(expected)


@pytest.fixture
def roots(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A store in a folder, or in a bucket."""
    if request.param == "folder":
        yield str(tmp_path / "store")
    else:
        with object_store.bucket(tmp_path / "cache") as url:
            yield url % "store"


@pytest.mark.parametrize("roots", ["folder", "bucket"], indirect=True)
def test_writers_a_compaction_and_readers_at_once(roots, tmp_path):
    """At the end every row is there; no reader ever missed one; 15 s each."""
    store, stop = Store(roots), tmp_path / "stop"
    store.open_for_writing()
    count = 40 if store.place.local is not None else 20
    logs = [tmp_path / f"{cell}.log" for cell in "abc"]
    for log in logs:
        log.touch()
    writers = [work("write", roots, log.stem, count, out=log) for log in logs]
    others = [work("compact", roots, stop), work("compact", roots, stop)]
    others += [work("read", roots, stop, *logs)]
    try:
        for process in writers:
            _, err = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, err
    finally:
        stop.touch()
        ended = [process.communicate(timeout=LIMIT) for process in others]
    for process, (_, err) in zip(others, ended, strict=True):
        assert process.returncode == 0, err
    assert int(ended[2][0]) >= 1
    compact(store, ROWS)
    last = 3 * count
    numbers = [r for r in range(last) if (r // 3) % 4 != 3]
    assert scanned(store) == [(cell, r) for cell in "abc" for r in numbers]
    assert main(["verify", roots]) == 0 and len(store.names(ROWS)) == 1


def test_what_killed_processes_left_goes_after_a_day(tmp_path):
    store = Store(tmp_path)
    store.open_for_writing()
    store.append_rows([table("x", [0])])
    old, new = (tmp_path / ROWS / name for name in (".landmark-old", ".x.parquet.1.tmp"))
    for path in (old, new):
        path.write_bytes(b"-")
    os.utime(old, (time.time() - UNFINISHED - 60,) * 2)
    compact(store, ROWS)
    assert not old.exists() and new.exists() and len(store.names(ROWS)) == 1
