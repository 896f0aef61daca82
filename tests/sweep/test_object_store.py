"""A store in an object store: the same as in a folder, over the network."""

from __future__ import annotations

import os
import pickle
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import object_store
import platformdirs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import finish, keys, start, sweep
from stored import distinct, everything, fill, scanned, table, timings
from test_executors import MANY, Local, simulators
from undisturbed import undisturbed_rows

from algos import InputError
from sweep.engine import ray_executor
from sweep.store import Store, segments
from sweep.store.__main__ import main
from sweep.store.landmarks import FIND_SECONDS, Landmark, find
from sweep.store.places import Place
from sweep.store.segments import ROWS


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URLs of a bucket on loopback, with a place for the path."""
    with object_store.bucket(tmp_path_factory.mktemp("cache")) as url:
        yield url


@pytest.fixture
def store(bucket: str, request: pytest.FixtureRequest) -> Store:
    """An empty store of the test's own."""
    made = Store(bucket % request.node.name.replace("[", "/").rstrip("]"))
    assert not made.exists()
    made.open_for_writing()
    return made


def read(store: Store) -> pa.Table:
    """All rows, sorted."""
    tables = [pq.read_table(pa.BufferReader(store.place.read(f"{ROWS}/{name}")))
              for name in store.names(ROWS)]  # fmt: skip
    return pa.concat_tables(tables).sort_by([("cell", "ascending"), ("replicate", "ascending")])


def put(store: Store, name: str, content: bytes) -> None:
    """Write an object as it is."""
    store.place.replace(f"{ROWS}/{name}", pa.py_buffer(content))


def test_what_is_appended_is_found(store):
    assert store.exists() and scanned(store) == []
    expected = fill(store, "xy", 4)
    store.append_timings(timings(3.0))
    assert scanned(Store(store.root)) == keys(expected)
    assert read(store).equals(expected)
    assert store.corrections() == {("ucb1", 1, "bernoulli"): 0.75}


@pytest.mark.parametrize("kind", ["half", "empty", "bit"])
def test_a_damaged_segment_is_set_aside(store, kind):
    fill(store, "x", 4)
    [bad, _] = store.names(ROWS)
    content = store.place.read(f"{ROWS}/{bad}").to_pybytes()
    turned = content[:99] + bytes([content[99] ^ 4]) + content[100:]
    put(store, bad, {"half": content[: len(content) // 2], "empty": b"", "bit": turned}[kind])
    assert len(scanned(store)) == 2 and len(store.names(ROWS)) == 2  # a dry run
    again = Store(store.root)
    assert len(scanned(again, set_aside=True)) == 2
    assert [damaged.name for damaged in again.damaged] == [bad]
    assert bad not in store.names(ROWS) and store.place.has_file(f"damaged/{bad}")


def test_verify_and_compact(store, capsys):
    expected = fill(store, "xyz", 6)
    store.append_rows([table("x", [1, 2])])
    store.append_timings(timings(1.0))
    store.append_timings(timings(2.0))
    assert main(["verify", store.root]) == 0
    assert "4 segments of rows, 2 of timings and 0 definitions are sound" in capsys.readouterr().out
    assert main(["compact", store.root]) == 0
    assert "4 segments with 20 rows before, 1 with 18 after" in capsys.readouterr().out
    assert read(store).equals(expected)
    put(store, "bad.parquet", b"nothing")
    assert main(["verify", store.root]) == main(["compact", store.root]) == 1
    assert capsys.readouterr().out.count("rows/bad.parquet: ") == 2
    assert main(["verify", store.root.replace("test_", "no_")]) == 2


def test_what_a_compaction_moved_meanwhile_is_found(store):
    expected = fill(store, "xy", 4)
    scan = store.scan(everything, set_aside=True)
    first = next(scan)
    old = store.names(ROWS)
    store.append_rows([expected])
    store.place.remove(ROWS, old)
    found = pa.concat_tables([first, *scan]).sort_by(
        [("cell", "ascending"), ("replicate", "ascending")]
    )
    assert keys(distinct(found)) == keys(expected) and store.damaged == []


def test_a_sweeps_folder_is_mirrored(store, tmp_path, monkeypatch):
    """What one machine published another fetches; what was not published stays."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
    store.fetch_sweep("s")
    here = store.sweep_folder("s")
    assert here.is_relative_to(tmp_path / "one")
    (here / "figures").mkdir(parents=True)
    (here / "wandb").mkdir()
    (here / "wandb" / "run.log").write_text("stays here")
    (here / ".half.tmp").write_text("stays here")
    (here / "figures" / "a.svg").write_text("<svg/>")
    (here / "tracking.json").write_text("{1}")
    store.publish_sweep("s")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "two"))
    there = store.sweep_folder("s")
    store.fetch_sweep("s")
    assert there != here
    files = sorted(path.relative_to(there).as_posix() for path in there.rglob("*.*"))
    assert files == ["figures/a.svg", "tracking.json"]
    assert (there / "tracking.json").read_text() == "{1}"
    # This machine is killed before it publishes: what it noted must not be lost.
    (there / "tracking.json").write_text("{1,2}")
    store.fetch_sweep("s")
    assert (there / "tracking.json").read_text() == "{1,2}"
    store.publish_sweep("s")
    os.utime(here / "tracking.json", (1, 1))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "one"))
    store.fetch_sweep("s")
    assert (here / "tracking.json").read_text() == "{1,2}"


def refused() -> int:
    """A port that nobody listens to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def test_an_endpoint_that_refuses_is_one_line(bucket):
    url = f"s3://bucket/store?endpoint_override=127.0.0.1:{refused()}&scheme=http"
    for act in (Store(url).exists, Store(url).open_for_writing, lambda: scanned(Store(url))):
        with pytest.raises(InputError, match=r"^store: got .*connect") as caught:
            act()
        assert "\n" not in str(caught.value)


@pytest.mark.slow  # 35 s: three attempts of ten seconds each
def test_an_endpoint_that_hangs_is_one_line(bucket):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        url = f"s3://b/s?endpoint_override=127.0.0.1:{silent.getsockname()[1]}&scheme=http"
        with pytest.raises(InputError, match=r"^store: got .*Timeout"):
            Store(url).exists()
        silent.setblocking(False)
        attempts = 0
        with suppress(BlockingIOError):
            while True:
                silent.accept()[0].close()
                attempts += 1
        assert attempts == 3


def test_an_actor_waits_a_bounded_time_for_an_endpoint_that_is_silent():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        url = f"s3://b/s?endpoint_override=127.0.0.1:{silent.getsockname()[1]}&scheme=http"
        begin = time.monotonic()
        assert find(Landmark(url, f"{ROWS}/.landmark", b"x"), seconds=0.5) is None
        assert 0.5 <= time.monotonic() - begin < 5 < FIND_SECONDS < 32  # of Arrow's own attempts


def test_a_bucket_that_is_not_there_is_one_line(bucket):
    url = (bucket % "store").replace("//bucket", "//nowhere")
    with pytest.raises(InputError, match=r"^store: got .*nowhere.*not found"):
        Store(url).open_for_writing()


def test_a_network_that_goes_is_no_damage(store, monkeypatch):
    fill(store, "x", 2)

    def fails(self: Place, path: str) -> None:
        raise OSError("AWS Error NETWORK_CONNECTION")

    monkeypatch.setattr(Place, "source", fails)
    monkeypatch.setattr(Place, "read", fails)
    with pytest.raises(InputError, match="NETWORK_CONNECTION"):
        scanned(store, set_aside=True)
    assert store.damaged == [] and len(store.names(ROWS)) == 1


def test_a_large_segment_is_read_in_parts(store, monkeypatch):
    monkeypatch.setattr("sweep.store.places.IN_MEMORY", 100)
    monkeypatch.setattr(segments, "CHUNK", 1000)
    expected = fill(store, "xy", 4)
    assert scanned(store) == keys(expected) and store.damaged == []
    assert main(["compact", store.root]) == 0
    assert read(store).equals(expected)


@pytest.mark.parametrize("scheme", ["memory", "local"])
def test_fsspec_knows_more(tmp_path, scheme):
    pytest.importorskip("fsspec")
    store = Store(f"{scheme}://{tmp_path}/store")
    store.open_for_writing()
    expected = fill(store, "xy", 4)
    assert main(["compact", store.root]) == 0
    assert len(store.names(ROWS)) == 1 and scanned(store) == keys(expected)
    put(store, store.names(ROWS)[0], b"nothing")
    assert scanned(store, set_aside=True) == [] and len(store.damaged) == 1
    assert store.names(ROWS) == []


def test_without_fsspec_it_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"fsspec.* is not installed"):
        Store("memory://x").exists()


GRID = ("+grid=quickstart", "grid.replicates=2", "grid.epsilon=[0.5,1]", "grid.T=[1e4]")


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Kernels compiled earlier are used, wherever the user's caches are now."""

    def set_back() -> None:
        monkeypatch.setenv("NUMBA_CACHE_DIR", os.environ.get("NUMBA_CACHE_DIR", KERNELS))

    return set_back


KERNELS = str(platformdirs.user_cache_path("dp-bandit-sweep"))


def test_a_sweep_into_a_bucket(bucket, tmp_path, as_before, monkeypatch):
    """The rows and the report are there; what is damaged is computed again, elsewhere; 20 s."""
    as_before()
    url = bucket % "whole"
    status, _, err = sweep([*GRID, f'store="{url}"'], tmp_path)
    assert status == 0, err
    store, expected = Store(url), undisturbed_rows(*GRID)
    assert distinct(read(store)).equals(expected)
    [name] = {path.split("/")[0] for path in store.place.files("sweeps", recursive=True)}
    assert f"{url.partition('?')[0]}/sweeps/{name}" in err
    files = store.place.files(f"sweeps/{name}", recursive=True)
    assert {"report.html", "manifest.parquet", "config.yaml", "command.txt"} <= set(files)
    assert any(path.startswith("figures/") for path in files)
    bad = store.names(ROWS)[0]
    put(store, bad, store.place.read(f"{ROWS}/{bad}").to_pybytes()[:-9])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another"))
    status, _, err = sweep([*GRID, f'store="{url}"'], tmp_path)
    assert status == 0 and f"segment {bad} is damaged" in err and "computed again" in err
    assert distinct(read(store)).equals(expected) and store.place.has_file(f"damaged/{bad}")
    status, _, err = sweep([*GRID, f'store="{url}"', "dry_run=true"], tmp_path)
    assert status == 0 and " 0 to simulate" in err


@pytest.fixture
def local(bucket: str, request: pytest.FixtureRequest, as_before: Callable[[], None]) -> Local:
    """A sweep of two actors into the bucket."""
    as_before()
    return Local(bucket % request.node.name)


def test_actors_with_keys_of_their_own_write_to_the_bucket(local):
    with local.executor:  # a local Ray has the environment of its driver
        for _ in local.play():
            pass
    segments = local.segments(local.outcomes)
    assert segments and not any(segment.content for segment in segments)
    assert read(local.store).equals(undisturbed_rows(*MANY))


def test_actors_without_keys_hand_their_segments_over(bucket, local, monkeypatch):
    """No key reaches them, by arguments or by their environment."""
    simulator, given = ray_executor.simulator, []

    def make(*arguments: Any) -> Any:
        given.append(arguments)
        return simulator(*arguments)

    monkeypatch.setattr(ray_executor, "simulator", make)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with object_store.guarded(bucket) as (key, secret), local.executor:
        local.executor.ready()  # Ray has started without them
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
        local.store = local.executor.store = Store(local.store.root)
        steps = local.play()
        while not local.done:
            next(steps)
        environments = [one.environ() for one in simulators()]
        for _ in steps:
            pass
        assert read(local.store).equals(undisturbed_rows(*MANY))
    segments = local.segments(local.outcomes)
    assert segments and all(segment.content for segment in segments)
    assert len(given) == len(environments) == 2
    sent = pickle.dumps([given, list(local.pending), local.executor.needed])
    assert key.encode() not in sent and secret.encode() not in sent
    assert not any({key, secret} & set(found.values()) for found in environments)


@pytest.mark.slow  # 40 s: two Rays on the same cores
def test_two_sweeps_at_once_into_a_bucket(bucket, tmp_path, as_before):
    """Overlapping grids, one store."""
    as_before()
    url = bucket % "both"
    grids = [(*GRID[:2], f"grid.epsilon=[{pair}]", GRID[3]) for pair in ("0.5,1", "1,2")]
    processes = [start([*grid, f'store="{url}"', "runtime.actors=1"], tmp_path) for grid in grids]
    for process in processes:
        status, _, err = finish(process)
        assert status == 0, err
    both = undisturbed_rows(*GRID[:2], "grid.epsilon=[0.5,1,2]", GRID[3])
    assert distinct(read(Store(url))).equals(both)
    assert main(["compact", url]) == main(["verify", url]) == 0
    assert read(Store(url)).equals(both)
