"""Rows from a batch to the store: who writes them, how often, and that none is lost or doubled."""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import rows
from stored import table

from sweep.engine import pace
from sweep.engine.keeper import Keeper, Kept
from sweep.engine.pace import Pace
from sweep.store import Store
from sweep.store.landmarks import Landmark, find, landmark
from sweep.store.segments import ROW_GROUP


@pytest.fixture
def store(tmp_path) -> Store:
    found = Store(tmp_path / "store")
    found.open_for_writing()
    return found


def given(keeper: Keeper, batch: int, rows: pa.Table, family: str = "bandit") -> int:
    """Give a keeper a batch of rows of one family."""
    keeper.take(family, rows)
    return keeper.complete(batch)


def held(kept: Kept) -> pa.Table:
    """The rows in segments that were handed over."""
    return pa.concat_tables(
        pq.read_table(pa.BufferReader(segment.content)) for segment in kept.segments
    )


def names(store: Store) -> list[str]:
    return sorted(path.name for path in Path(store.root, "rows").iterdir())


def test_a_keeper_that_reaches_the_store_commits_there(store):
    keeper = Keeper(store)
    given(keeper, 3, table("x", [0, 1]))
    given(keeper, 5, table("y", [7]))
    assert names(store) == []
    kept = keeper.put_away()
    assert kept.batches == [3, 5] and kept.problem == "" and kept.keeper == keeper.name
    [segment] = kept.segments
    assert segment.content is None and names(store) == [segment.name]
    assert rows(Path(store.root)).equals(pa.concat_tables([table("x", [0, 1]), table("y", [7])]))
    assert keeper.put_away() == Kept(keeper.name, [], [])


def test_a_keeper_without_a_store_hands_its_segments_over(store):
    keeper = Keeper(None)
    given(keeper, 0, table("x", [0, 1]))
    kept = keeper.put_away()
    assert held(kept).equals(table("x", [0, 1])) and names(store) == []
    for segment in kept.segments:
        store.keep_segment(segment)
    assert rows(Path(store.root)).equals(held(kept))


def test_a_store_that_fails_under_a_keeper_loses_nothing(store, monkeypatch):
    tried = []

    def full(self: Store, segment: object) -> None:
        tried.append(segment)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Store, "keep_segment", full)
    keeper = Keeper(store)
    given(keeper, 0, table("x", [0]))
    kept = keeper.put_away()
    assert kept.problem == "No space left on device" and held(kept).equals(table("x", [0]))
    given(keeper, 1, table("x", [1]))
    assert held(keeper.put_away()).equals(table("x", [1])) and len(tried) == 1


def test_each_family_has_a_segment(store):
    other = table("y", [0]).append_column("won", pa.array([True]))
    keeper = Keeper(store)
    keeper.take("bandit", table("x", [0]))
    given(keeper, 0, other, "duels")
    kept = keeper.put_away()
    assert len(kept.segments) == 2
    columns = {
        len(pq.read_schema(Path(store.root, "rows", segment.name))) for segment in kept.segments
    }
    assert columns == {len(other.schema) - 1, len(other.schema)}


def test_what_waits_is_encoded_in_row_groups(store):
    part = table("x", range(64), points=2000)
    keeper = Keeper(None)
    sizes = [given(keeper, i, part) for i in range(ROW_GROUP // part.nbytes + 2)]
    assert sizes[0] < 100 < ROW_GROUP / 10 < sizes[-1]  # encoded as soon as they fill a group
    [segment] = keeper.put_away().segments
    with pq.ParquetFile(pa.BufferReader(segment.content)) as file:
        assert file.num_row_groups == 2 and file.metadata.num_rows == 64 * len(sizes)


def test_batches_that_come_while_others_are_put_away_are_in_one_segment_each(store):
    keeper = Keeper(store)
    count, found = 300, []

    def play() -> None:
        for number in range(count):
            given(keeper, number, table("x", [number]))

    playing = threading.Thread(target=play)
    playing.start()
    while playing.is_alive():
        found.append(keeper.put_away())
    playing.join()
    found.append(keeper.put_away())
    assert sorted(number for kept in found for number in kept.batches) == list(range(count))
    assert rows(Path(store.root))["replicate"].to_pylist() == list(range(count))
    for i, kept in enumerate(found):  # a batch is named when all its rows are in segments
        names = [segment.name for earlier in found[: i + 1] for segment in earlier.segments]
        written = [pq.read_table(Path(store.root, "rows", name)) for name in names]
        there = {number for part in written for number in part["replicate"].to_pylist()}
        assert set(kept.batches) <= there


def test_a_landmark_tells_the_store_from_others(store, tmp_path, monkeypatch):
    with landmark(store) as mark:
        found = find(mark)
        assert found is not None and found.names("rows") == []  # it is no segment
        Path(store.root, mark.path).rename(tmp_path / "moved")
        assert find(mark) is None
        Path(store.root, mark.path).write_bytes(b"another")
        assert find(mark) is None
    assert names(store) == []
    assert find(mark) is None
    assert find(Landmark("nowhere://x/y", mark.path, mark.content)) is None
    monkeypatch.chdir(tmp_path)
    with landmark(Store("store")) as mark:  # named from where the sweep runs
        monkeypatch.chdir("/")
        assert find(mark) is not None


def test_commits_grow_with_the_sweep_and_the_actors(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    rhythm = Pace()
    assert rhythm.seconds(1) == pace.LEAST and rhythm.seconds(1000) == 1000 / pace.PER_SECOND
    assert not rhythm.is_due(now, 10, 1) and rhythm.is_due(now, pace.BYTES + 1, 1)
    now += 3600
    assert rhythm.seconds(1) == 180
    assert not rhythm.is_due(now - 179, 10, 1) and rhythm.is_due(now - 181, 10, 1)


def commits(
    rhythm: Pace, number: int, actors: int, until: float, clock: list[float]
) -> list[float]:
    """When an actor that always has rows puts them away: the first moments at which it is due."""
    start = clock[0] = rhythm.started
    since, found = rhythm.first(number, actors), [start]
    while found[-1] < until:
        early, late = found[-1], until + 1.0
        while late - early > 0.05:
            clock[0] = (early + late) / 2
            early, late = (early, clock[0]) if rhythm.is_due(since, 1, actors) else (clock[0], late)
        since = late
        found.append(late)
    return found


def test_a_thousand_actors_over_ten_hours(monkeypatch):
    """Segments stay few, come one after the other, and a crash costs little at any moment."""
    clock = [5000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    rhythm, actors, hours = Pace(), 1000, 10
    end = rhythm.started + 3600.0 * hours
    found = [commits(rhythm, number, actors, end, clock) for number in range(actors)]
    for times in found:
        elapsed = np.array(times[1:]) - rhythm.started
        most = np.maximum(max(pace.LEAST, actors / pace.PER_SECOND), pace.SHARE * elapsed)
        assert (np.diff(times) <= most + 0.1).all()
    moments = np.concatenate([times[1:-1] for times in found]) - rhythm.started
    every_two_seconds = actors * 3600 * hours / pace.LEAST
    assert len(moments) < 100_000 < every_two_seconds / 150
    a_second = np.bincount(moments.astype(int))
    assert a_second.max() <= 1.5 * pace.PER_SECOND
    assert len(moments[moments > 3600 * (hours - 1)]) < 2.1 * actors  # in the last hour
