"""A sweep's record: written in pieces, read back, found by its name."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import object_store
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import LIMIT

from algos.errors import InputError
from sweep.store import Store, Sweep, find_sweep
from sweep.store.columns import FAILURES, MANIFEST, MEANINGS, TIMINGS, row_schema
from sweep.store.sweeps import check_window, families

DESCRIBED = {"bandit": {"summary": "One arm is played, its reward seen.", "columns": []}}


def piece(*cells: tuple[str, str]) -> pa.Table:
    """Manifest rows of (cell, instance)."""
    rows = [
        {"cell": cell, "instance": instance, "stream": "s", "seed": 0, "T": 9, "replicates": 2,
         "anytime": True, "means": [0.5, 0.4], "sizes": '{"K": 2}'}
        for cell, instance in cells
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, schema=MANIFEST)


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """A sweep with a record."""
    made = Sweep(Store(tmp_path / "store"), "grid-12345678")
    made.write_record(
        "grid:\n  question: Why?\n  window: [10, 1.0e+3]\n", "python -m sweep +grid=grid"
    )
    made.write_manifest(iter([piece(("a", "x"), ("a", "y")), piece(("b", "x"))]), DESCRIBED)
    made.write_failures([{"cells": ["b"], "algorithm": "ucb1", "error": "no luck"}])
    return made


def test_a_record_is_read_as_it_was_written(sweep, tmp_path):
    found = find_sweep("grid", tmp_path / "store")
    assert found.id == sweep.id and found.folder == sweep.folder
    manifest = found.manifest()
    assert manifest.schema.equals(MANIFEST) and families(manifest) == DESCRIBED
    keys = list(zip(manifest["cell"].to_pylist(), manifest["instance"].to_pylist(), strict=True))
    assert keys == [("a", "x"), ("a", "y"), ("b", "x")]
    assert found.failures()["error"].to_pylist() == ["no luck"]
    about = found.about()
    assert about["window"] == (10.0, 1000.0) and about["question"] == "Why?"
    assert about["command"] == "python -m sweep +grid=grid"
    assert about["store"] == str(tmp_path / "store") and about["path"] == str(sweep.folder)


def test_a_manifest_that_fails_leaves_the_old_one(sweep):
    def pieces():
        yield piece(("c", "x"))
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        sweep.write_manifest(pieces(), {})
    assert len(sweep.manifest()) == 3
    assert not [path for path in sweep.folder.iterdir() if path.name.startswith(".")]


def test_a_manifest_of_an_older_version_is_completed(sweep):
    path = sweep.folder / "manifest.parquet"
    table = pq.read_table(path).replace_schema_metadata()
    pq.write_table(table.drop_columns(["noiseless", "sizes", "instance_generator"]), path)
    manifest = sweep.manifest()
    assert manifest.column_names == MANIFEST.names and families(manifest) == {}
    assert manifest["sizes"].null_count == len(manifest) == 3


def test_what_is_damaged_is_named(sweep):
    for name, read in (("manifest.parquet", sweep.manifest), ("failures.parquet", sweep.failures)):
        (sweep.folder / name).write_bytes(b"PAR1 nothing")
        with pytest.raises(InputError, match=rf"got a damaged file; allowed: a sound .*{name}"):
            read()
    (sweep.folder / "failures.parquet").unlink()
    assert sweep.failures().schema == FAILURES
    (sweep.folder / "config.yaml").write_text("grid: [")
    with pytest.raises(InputError, match=r"^config: got a damaged file"):
        sweep.about()


def test_a_given_folder_is_not_published(sweep, tmp_path):
    """Whoever names a sweep by its folder has a store of his own in mind."""
    with object_store.bucket(tmp_path / "cache") as url:
        given = find_sweep(str(sweep.folder), url % "nothing-here")
        assert given.store.root == url % "nothing-here" and given.folder == sweep.folder
        assert given.publish([sweep.folder / "config.yaml"]) == ""
        assert given.store.sweeps() == {}
    beside = find_sweep(str(sweep.folder), tmp_path / "nowhere")
    assert beside.store.root == str(tmp_path / "store")


def test_one_mirror_for_sweep_and_report(tmp_path, monkeypatch):
    """A report sends what it wrote; what the sweep has not published stays, what is newer too."""
    with object_store.bucket(tmp_path / "cache") as url:
        store = Store(url % "mirrored")
        store.open_for_writing()
        made = Sweep(store, "grid-1")
        made.write_record("grid: {}\n", "x")
        made.write_manifest([piece(("a", "x"))], DESCRIBED)
        (made.folder / "tracking.json").write_text("{1}")
        there = f"{store.root.partition('?')[0]}/sweeps/grid-1"
        assert store.publish_sweep("grid-1") == there
        (made.folder / "tracking.json").write_text("{1,2}")
        found = find_sweep("latest", url % "mirrored")
        assert found.folder == made.folder and families(found.manifest()) == DESCRIBED
        (found.folder / "report.html").write_text("<p>")
        assert found.publish([found.folder / "report.html"]) == there
        place = store.place
        assert place.read("sweeps/grid-1/report.html").to_pybytes() == b"<p>"
        assert place.read("sweeps/grid-1/tracking.json").to_pybytes() == b"{1}"

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
        record = sorted(path.name for path in find_sweep("grid", url % "mirrored").folder.iterdir())
        assert record == ["command.txt", "config.yaml", "manifest.parquet"]


@pytest.mark.parametrize("value", [[1, 10], (1.0, 1e18), None])
def test_a_window(value):
    assert check_window(value) == (None if value is None else tuple(map(float, value)))


@pytest.mark.parametrize(
    "value",
    [[5], [100, 10], [5, 5], "12", [0, 10], 7, [True, 9], ["1", "9"], [1, math.inf],
     [math.nan, 9], {1: 2, 3: 4}],
)  # fmt: skip
def test_no_window(value):
    with pytest.raises(InputError, match=r"^grid\.window: got .*two rounds \[T0, T1\]"):
        check_window(value)


def test_every_column_has_a_meaning():
    for table, names in {
        "rows": row_schema([]).names,
        "manifest": MANIFEST.names,
        "failures": FAILURES.names,
        "timings": TIMINGS.names,
    }.items():
        assert list(MEANINGS[table]) == names and all(MEANINGS[table].values())


@pytest.mark.parametrize("name", ["sweep.store", "sweep.store.verify", "sweep.store.compact"])
def test_the_store_is_light(name):
    """It needs no kernel, no Ray and no Hydra, and nothing of the sweep's other rooms."""
    code = f"import sys, {name}; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT
    )
    assert process.returncode == 0, process.stderr
    loaded = process.stdout.split()
    assert not {"numba", "ray", "hydra", "omegaconf", "wandb", "analysis"} & set(loaded)
    ours = {module for module in loaded if module.split(".")[0] == "sweep"}
    assert all(module == "sweep" or module.startswith("sweep.store") for module in ours), ours
