"""Analysis of a store in an object store: the same answers, the report beside the rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import object_store
import pandas as pd
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import analysis
from analysis import AnalysisError
from analysis.__main__ import main
from sweep.store import Store, cells
from sweep.store.places import Place

ONE_WORD = ("sastoken", "sessiontoken", "apikey", "accountkey", "accessKey")


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URLs of a bucket on loopback, with a place for the path."""
    with object_store.bucket(tmp_path_factory.mktemp("cache")) as url:
        yield url


@pytest.fixture
def plan(synthetic: SimpleNamespace) -> SimpleNamespace:
    """A cell with four replicates of different slopes."""
    t = synthetic.grid(1000)
    return synthetic.Plan(np.arange(1, 5)[:, None] * np.log(t), T=1000)


@pytest.fixture
def store(
    bucket: str, synthetic: SimpleNamespace, plan: SimpleNamespace, tmp_path: Path,
    request: pytest.FixtureRequest,
) -> str:  # fmt: skip
    """The URL of a store with two sweeps; a copy of it is the folder `store`."""
    synthetic.write_sweep(tmp_path / "store", [plan], "alpha-11111111")
    other = synthetic.Plan(plan.regret, T=1000, epsilon=0.5)
    synthetic.write_sweep(tmp_path / "store", [other], "beta-22222222")
    url = bucket % request.node.name
    upload(tmp_path / "store", url)
    return url


def upload(folder: Path, url: str) -> None:
    """Copy a folder to a URL."""
    place = Place(url)
    local = pafs.LocalFileSystem()
    pafs.copy_files(str(folder), place.full(""), local, place.filesystem)


def test_the_same_table(store, tmp_path):
    for sweep in ("alpha-11111111", "beta", "a"):
        there = analysis.load(sweep, store)
        here = analysis.load(sweep, tmp_path / "store")
        pd.testing.assert_frame_equal(there, here)
        about = there.attrs["sweep"]
        assert about["store"] == store and about["found"] == about["wanted"] == 4
    with pytest.raises(AnalysisError, match="closest: alpha-11111111"):
        analysis.load("alhpa-11111111", store)
    with pytest.raises(AnalysisError, match="a store that holds sweeps"):
        analysis.load("latest", store.replace("?", "-not?"))


def test_a_report_is_sent_to_the_store(store, capsys):
    assert main(["report", "alpha", "--store", store]) == 0
    *_, here, there = capsys.readouterr().out.strip().split("\n")
    assert there == f"{store.partition('?')[0]}/sweeps/alpha-11111111/report.html"
    place, folder = Place(store), "sweeps/alpha-11111111"
    assert place.read(f"{folder}/report.html").to_pybytes() == Path(here).read_bytes()
    kinds = {name.split("/")[0] for name in place.files(folder, recursive=True)}
    assert {"figures", "tables", "report.json"} <= kinds


def test_a_sweeps_folder_with_rows_at_a_url(store, tmp_path):
    """The sweep's own call: its folder is a mirror, which it publishes itself."""
    folder = tmp_path / "mirror" / "sweeps" / "alpha-11111111"
    folder.parent.mkdir(parents=True)
    (tmp_path / "store" / "sweeps" / "alpha-11111111").rename(folder)
    report = analysis.write_report(str(folder), store)
    assert report.html == folder / "report.html" and report.url == ""
    again = analysis.write_report(str(folder), store, reuse=True)
    assert again.html.stat().st_mtime_ns == report.html.stat().st_mtime_ns
    assert not Place(store).has_file("sweeps/alpha-11111111/report.html")


def test_a_file_url_is_a_local_store(store, tmp_path):
    url = (tmp_path / "store").as_uri()
    there = analysis.load("alpha", url)
    pd.testing.assert_frame_equal(there, analysis.load("alpha", tmp_path / "store"))
    report = analysis.write_report("alpha", url)
    assert report.html.parent == tmp_path / "store" / "sweeps" / "alpha-11111111"


@pytest.mark.parametrize("where", ["url", "folder"])
def test_damage_is_named(store, tmp_path, where):
    """A bit in a page that only the page's checksum can show."""
    segment = tmp_path / "store" / "rows" / "alpha-11111111.parquet"
    rows = pq.read_table(segment)
    pq.write_table(rows, segment, write_page_checksum=True, compression="none")
    content = bytearray(segment.read_bytes())
    value = np.float64(rows["regret"][3][-1].as_py()).tobytes()
    assert content.count(value) >= 1
    content[content.index(value)] ^= 1
    segment.write_bytes(content)
    upload(tmp_path / "store", store)
    given = store if where == "url" else tmp_path / "store"
    with pytest.raises(AnalysisError, match=r"alpha-11111111\.parquet is damaged .*CRC"):
        analysis.load("alpha", given)


@pytest.mark.parametrize("where", ["url", "folder"])
@pytest.mark.parametrize("times", [1, cells.ATTEMPTS])
def test_segments_that_vanish_while_they_are_read(store, tmp_path, monkeypatch, where, times):
    """A compaction puts another segment in the place of those that were listed."""
    given = store if where == "url" else tmp_path / "store"
    listed = Store.settled_names
    left = [2 * times]

    def replaced(self: Store, folder: str) -> list[str]:
        found = listed(self, folder)
        if left[0]:
            left[0] -= 1
            content = self.place.read(f"rows/{found[0]}")
            self.place.remove("rows", [found[0]])
            self.place.write(f"rows/new{left[0]}.parquet", content)
        return found

    expected = analysis.load("alpha", given)
    monkeypatch.setattr(Store, "settled_names", replaced)
    if times == 1:
        pd.testing.assert_frame_equal(analysis.load("alpha", given), expected)
    else:
        with pytest.raises(AnalysisError, match="replaced while being read"):
            analysis.load("alpha", given)


def test_a_segment_that_cannot_be_fetched_is_not_called_damaged(store, monkeypatch):
    def fails(*unused: object, **options: object) -> None:
        raise OSError("AWS Error NETWORK_CONNECTION")

    folder = analysis.load("alpha", store).attrs["sweep"]["path"]
    monkeypatch.setattr(pq, "ParquetFile", fails)
    monkeypatch.setattr(Place, "source", fails)
    monkeypatch.setattr(Place, "read", fails)
    with pytest.raises(AnalysisError, match=r"a readable rows/.*\(AWS Error") as caught:
        analysis.load(folder, store)
    assert "is damaged" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "s3://AKIA:hush@bucket/x",
        "s3://bucket/x?secret_key=hush",
        "abfss://a@b/x?sig=hush",
        *(f"s3://bucket/x?{name}=hush" for name in ONE_WORD),
    ],
)
def test_a_url_with_a_key_is_refused_and_not_repeated(url, capsys):
    assert main(["report", "--store", url]) == 2
    err = capsys.readouterr().err
    assert "key or a password" in err and "hush" not in err and err.count("\n") == 1
    with pytest.raises(AnalysisError, match="key or a password") as caught:
        analysis.load(store=url)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("url", ["nonsense://x", "s3://bucket/x?colour=red"])
def test_a_url_that_means_nothing_is_one_line(url, capsys):
    assert main(["report", "--store", url]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: store: ") and err.count("\n") == 1


def test_the_listing_is_repeated_until_it_holds_still(tmp_path, monkeypatch):
    """A listing that holds neither a merged segment nor those it was merged from."""
    answers = [["b"], ["b", "merged"], ["b", "merged"], ["never"]]
    monkeypatch.setattr(Store, "names", lambda self, folder: answers.pop(0))
    assert Store(tmp_path).settled_names("rows") == ["b", "merged"]
