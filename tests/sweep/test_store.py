"""The store: segments are complete or absent, bad ones are set aside, nothing is lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import sweep
from stored import everything, fill, scanned, table, timings

from algos.errors import InputError
from sweep.store import Store
from sweep.store.files import write_atomically
from sweep.store.places import Place, check_root
from sweep.store.segments import ROWS, TIMINGS

ONE_WORD = ("sastoken", "sessiontoken", "apikey", "accountkey", "accessKey")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    made = Store(tmp_path / "store")
    made.open_for_writing()
    return made


def path_of(store: Store, name: str) -> Path:
    """The file of a segment of rows."""
    return Path(store.root) / ROWS / name


def flip(content: bytes, bit: int) -> bytes:
    """The content with one bit of it turned over."""
    turned = bytearray(content)
    turned[bit // 8] ^= 1 << bit % 8
    return bytes(turned)


def test_what_is_appended_is_found(tmp_path):
    store = Store(tmp_path / "a" / "b")
    assert not store.exists() and scanned(store) == []
    store.open_for_writing()
    store.append_rows([table("x", [0, 1]), table("y", [5])])
    store.append_rows([table("x", [1, 3])])
    assert store.exists() and store.root == str(tmp_path / "a" / "b")
    assert scanned(store) == [("x", 0), ("x", 1), ("x", 1), ("x", 3), ("y", 5)]
    assert store.damaged == []


def test_a_file_url_is_a_local_store(tmp_path):
    store = Store((tmp_path / "a b").as_uri())
    store.open_for_writing()
    store.append_rows([table("x", [0])])
    assert scanned(Store(tmp_path / "a b")) == [("x", 0)]
    assert store.sweep_folder("s") == tmp_path / "a b" / "sweeps" / "s"


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


def test_an_unfinished_segment_is_not_read(store):
    store.append_rows([table("x", [0])])
    path_of(store, ".deadbeef.parquet.1234.tmp").write_bytes(b"PAR1")
    path_of(store, ".deadbeef.parquet").write_bytes(b"PAR1")
    assert scanned(store) == [("x", 0)] and store.damaged == []


def without_regret(content: bytes) -> bytes:
    """A sound Parquet file that lacks a column."""
    sink = pa.BufferOutputStream()
    pq.write_table(pq.read_table(pa.BufferReader(content)).drop_columns(["regret"]), sink)
    return sink.getvalue().to_pybytes()


def without_cells(content: bytes) -> bytes:
    """A sound Parquet file whose rows don't say what they are of."""
    rows = pq.read_table(pa.BufferReader(content))
    sink = pa.BufferOutputStream()
    nothing = pa.nulls(len(rows), pa.string())
    pq.write_table(rows.set_column(rows.column_names.index("cell"), "cell", nothing), sink)
    return sink.getvalue().to_pybytes()


DAMAGE = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "no parquet": lambda content: b"nothing of the kind",
    "no regret": without_regret,
    "no cells": without_cells,
    "one bit": lambda content: flip(content, 8 * 40 + 3),
    "longer": lambda content: content + b"x",
}


@pytest.mark.parametrize("kind", DAMAGE)
@pytest.mark.parametrize("named", [True, False], ids=["digest", "foreign name"])
def test_a_damaged_segment_is_set_aside(store, kind, named):
    store.append_rows([table("x", [0])])
    [sound] = store.names(ROWS)
    store.append_rows([table("y", range(50), points=40)])
    [bad] = set(store.names(ROWS)) - {sound}
    if not named:
        path_of(store, bad).rename(path_of(store, "foreign.parquet"))
        bad = "foreign.parquet"
    path_of(store, bad).write_bytes(DAMAGE[kind](path_of(store, bad).read_bytes()))
    content = path_of(store, bad).read_bytes()
    # A dry run changes nothing.
    assert scanned(store) == [("x", 0)]
    assert [damaged.name for damaged in store.damaged] == [bad]
    assert "\n" not in store.damaged[0].reason and store.names(ROWS) == sorted([sound, bad])
    again = Store(store.root)
    assert scanned(again, set_aside=True) == [("x", 0)]
    assert again.damaged == store.damaged and again.names(ROWS) == [sound]
    assert (Path(store.root) / "damaged" / bad).read_bytes() == content
    last = Store(store.root)
    assert scanned(last, set_aside=True) == [("x", 0)] and last.damaged == []


@pytest.mark.parametrize("named", [True, False], ids=["digest", "foreign name"])
def test_a_flipped_bit_is_seen_or_changes_nothing(store, named):
    """Single bits over the whole file: pages of every column, their headers, the footer.

    Without a digest in the name, the footer (which has no checksum) is left to what Parquet
    readers make of it.
    """
    store.append_rows([table(cell, range(3)) for cell in "xy"])
    [name] = store.names(ROWS)
    path = path_of(store, name)
    content, rows = path.read_bytes(), pq.read_table(path)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    if not named:
        path.unlink()
        path = path_of(store, "foreign.parquet")
    seen = 0
    # 61 is odd, so every bit of a byte comes up
    positions = range(0, 8 * (len(content) if named else footer), 61)
    for position in positions:
        path.write_bytes(flip(content, position))
        store.damaged.clear()
        found = scanned(store)
        seen += len(store.damaged)
        assert not (found and store.damaged)
        if not store.damaged:
            assert pq.read_table(path).equals(rows)
    assert seen == len(positions) if named else seen > len(positions) / 2


def test_only_what_matters_is_read_in_full(store):
    """A segment of other cells is not checked beyond its two narrow columns."""
    store.append_rows([table("x", range(50), points=40)])
    [name] = store.names(ROWS)
    content = path_of(store, name).read_bytes()
    at = pq.ParquetFile(path_of(store, name)).metadata.row_group(0)
    columns = {at.column(i).path_in_schema: at.column(i) for i in range(at.num_columns)}
    regret = columns["regret.list.element"]
    middle = regret.dictionary_page_offset + regret.total_compressed_size // 2
    path_of(store, name).write_bytes(flip(content, 8 * middle))
    [rows] = store.scan(lambda cells: False, set_aside=True)
    assert rows.num_rows == 50 and rows.column_names == ["cell", "replicate"]
    assert store.damaged == []
    assert list(store.scan(lambda cells: "x" in cells.to_pylist(), set_aside=True)) == []
    assert [damaged.name for damaged in store.damaged] == [name]


def test_a_medium_that_fails_is_no_damage(store, monkeypatch):
    """Bytes that can't be read say nothing about the segment: it stays where it is."""
    store.append_rows([table("x", [0])])
    [name] = store.names(ROWS)

    def fails(self: Place, path: str) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Place, "source", fails)
    monkeypatch.setattr(Place, "read", fails)
    with pytest.raises(InputError, match=f"{name}.*Input/output error") as caught:
        scanned(store, set_aside=True)
    assert "\n" not in str(caught.value)
    assert store.names(ROWS) == [name] and store.damaged == []


def test_a_read_that_failed_once_is_repeated(store, monkeypatch):
    store.append_rows([table("x", [0])])

    def fails(self: Place, path: str) -> None:
        raise OSError("a passing fault")

    monkeypatch.setattr(Place, "source", fails)
    assert scanned(store, set_aside=True) == [("x", 0)] and store.damaged == []


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions don't bind root")
def test_a_forbidden_segment_is_no_damage(store):
    store.append_rows([table("x", [0])])
    [name] = store.names(ROWS)
    path_of(store, name).chmod(0)
    with pytest.raises(InputError, match=name):
        scanned(store, set_aside=True)
    assert store.names(ROWS) == [name]


def test_what_a_compaction_moved_meanwhile_is_found(store):
    """Between listing and reading, all segments go and one with all rows comes."""
    rows = fill(store, "xy", 4)
    scan = store.scan(everything, set_aside=True)
    first = next(scan)
    old = store.names(ROWS)
    store.append_rows([rows])
    store.place.remove(ROWS, old)
    found = {("x", 0)} | {
        key
        for part in (first, *scan)
        for key in zip(part["cell"].to_pylist(), part["replicate"].to_pylist(), strict=True)
    }
    assert found == {(cell, replicate) for cell in "xy" for replicate in range(4)}
    assert store.damaged == []


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


def test_corrections_are_measured_over_expected(store):
    for seconds in (1.0, 3.0):
        store.append_timings(timings(seconds))
    assert store.corrections() == {("ucb1", 1, "bernoulli"): 0.5}
    (Path(store.root) / TIMINGS / "bad.parquet").write_bytes(b"nothing")
    assert store.corrections() == {("ucb1", 1, "bernoulli"): 0.5}


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIA:hush/hush@bucket/store",
        "s3://AKIAHUSH@bucket/store",
        "s3://bucket/store?access_key=AKIA&secret_key=hush",
        "s3://bucket/store?region=x&session_token=hush",
        "s3://bucket/store?secretKey=hush",
        "s3://bucket/store?secret%5Fkey=hush",
        "s3://bucket/store#secret_key=hush",
        "abfss://box@account.dfs.core.windows.net/store?sv=1&sig=hush",
        "abfss://:hush@account.dfs.core.windows.net/store",
        "sftp://me:hush@host/store",
        *(f"s3://bucket/store?{name}=hush" for name in ONE_WORD),
    ],
)
def test_a_url_with_a_key_is_refused_and_not_repeated(url):
    with pytest.raises(InputError, match="key or a password") as caught:
        Store(url)
    assert caught.value.key == "store" and "hush" not in str(caught.value).lower()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ONE_WORD)
def test_a_sweep_refuses_a_url_with_a_key(name, tmp_path):
    status, out, err = sweep([f'store="s3://bucket/store?{name}=hush"'], tmp_path)
    assert status == 2 and out == "" and err.count("\n") == 1
    assert err.startswith("error: store: ") and "key or a password" in err and "hush" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/store?endpoint_override=127.0.0.1:9&scheme=http&region=eu-west-1",
        "abfss://box@account.dfs.core.windows.net/a:b?credential_kind=default",
        "gs://anonymous@bucket/keys/secret",
        "file:///data/token=1/store",
        "secret=1/a:b@c",
    ],
)
def test_a_url_without_a_key_is_taken(url):
    check_root(url)


@pytest.mark.parametrize("url", ["nonsense://x/y", "s3://", "s3://bucket/x?colour=red", "file://"])
def test_a_url_that_means_nothing_is_one_line(url):
    with pytest.raises(InputError, match=r"^store: got") as caught:
        Store(url).exists()
    assert "\n" not in str(caught.value)
