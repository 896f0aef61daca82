"""Compaction: small segments become large ones, rows that are there twice are kept once.

Others may read and write meanwhile, another compaction, too. Only segments that were listed at
the start are touched, and one is deleted only when all its rows are in segments that this very
compaction has committed: whoever deletes those has committed the rows once more. So no row is
ever in no segment, whenever this process is killed. Unfinished files that killed processes left
go when they are a day old.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from sweep.store import segments
from sweep.store.row_hashes import row_hashes
from sweep.store.segments import (
    KEY,
    ROWS,
    TIMINGS,
    Damaged,
    DamageError,
    SegmentWriter,
    VanishedError,
)
from sweep.store.store import Store

SMALL = 32 * 1024**2  # bytes of a segment that is worth merging
TARGET = 64 * 1024**2  # bytes at which a merged segment is committed
GROUP = 64 * 1024**2  # decoded bytes that are sorted at a time
UNFINISHED = 86400.0  # seconds after which nobody goes on with an unfinished file

ORDER = {ROWS: KEY, TIMINGS: ("algorithm", "distribution", "stream")}


@dataclass
class Compacted:
    """What compaction did in a folder: segments and rows before and after, damaged segments."""

    segments: int = 0
    rows: int = 0
    segments_after: int = 0
    rows_after: int = 0
    damaged: list[Damaged] = field(default_factory=list)


@dataclass(frozen=True)
class _Listed:
    """A segment that was there at the start; `keys` are hashes of what its rows are of."""

    name: str
    size: int
    schema: str
    keys: np.ndarray


def compact(store: Store, folder: str) -> Compacted:
    """Compact `rows` or `timings` of a store.

    Takes about 20 bytes of memory a row for telling duplicates, and a few times GROUP.

    Raises:
        InputError: the store or a segment can't be read.
        OSError, pa.ArrowException: it can't be written; nothing is lost.
    """
    done = _Compaction(store, folder).run()
    if (local := store.place.local) is not None:
        _remove_unfinished(local / folder)
    return done


def _remove_unfinished(folder: Path) -> None:
    """Remove the hidden files of processes that were killed, once nobody can be writing them."""
    for path in folder.glob(".*"):
        with suppress(OSError):
            if path.is_file() and time.time() - path.stat().st_mtime > UNFINISHED:
                path.unlink()


class _Compaction:
    """One compaction of a folder; `compact` says what it does."""

    def __init__(self, store: Store, folder: str) -> None:
        self.store, self.place, self.folder = store, store.place, folder
        self.key = KEY if folder == ROWS else None
        self.done = Compacted()
        self.twice = np.empty(0, np.uint64)  # keys that are there more than once, sorted
        self.kept = np.empty(0, np.uint64)  # content of the rows of these that were written

    def run(self) -> Compacted:
        """Merge what is worth it; raises as `compact` does."""
        listed, done = self._listed(), self.done
        done.segments = done.segments_after = len(listed)
        done.rows = done.rows_after = sum(len(segment.keys) for segment in listed)
        keys = np.sort(np.concatenate([self.twice, *(segment.keys for segment in listed)]))
        self.twice = np.unique(keys[1:][keys[1:] == keys[:-1]])
        del keys
        by_schema: dict[str, list[_Listed]] = {}
        for segment in listed:
            if segment.size < SMALL or _isin(segment.keys, self.twice).any():
                by_schema.setdefault(segment.schema, []).append(segment)
        for group in by_schema.values():
            if len(group) > 1 or _isin(group[0].keys, self.twice).any():
                self._merge(group)
        return done

    def _listed(self) -> list[_Listed]:
        """The sound segments; the damaged ones are noted."""
        found = []
        for name, size in self.store.sizes(self.folder).items():
            try:
                schema, keys = segments.attempt(self.place, self.folder, name, self._keys)
            except VanishedError:
                continue
            except DamageError as error:
                self._damaged(name, error)
                continue
            found.append(_Listed(name, size, schema, keys))
        return found

    def _keys(self, source: pa.NativeFile) -> tuple[str, np.ndarray]:
        parts = [np.empty(0, np.uint64)]
        with segments.parquet(source) as file:
            segments.check_columns(file.schema_arrow, self.folder)
            schema = file.schema_arrow.remove_metadata().to_string()
            parts += [row_hashes(table) for table in segments.batches(file, self.key)]
        return schema, np.concatenate(parts)

    def _damaged(self, name: str, error: DamageError) -> None:
        self.done.damaged.append(Damaged(f"{self.folder}/{name}", str(error)))

    def _merge(self, group: list[_Listed]) -> None:
        """Write the rows of segments of one schema to new ones, and delete the old."""
        writer: SegmentWriter | None = None
        held: list[pa.Table] = []
        size = 0
        complete: list[_Listed] = []  # segments whose last row is held or in the writer
        for segment in group:
            try:
                for table in self._read(segment.name):
                    held.append(table)
                    size += table.nbytes
                    if size >= GROUP:
                        writer, held, size = self._add(writer, held), [], 0
                        if writer is not None and writer.size >= TARGET:
                            self._commit(writer, complete)
                            writer, complete = None, []
            except VanishedError:
                continue  # what was read of it is merely there twice
            except DamageError as error:
                self._damaged(segment.name, error)
                continue
            complete.append(segment)
        self._commit(self._add(writer, held), complete)

    def _read(self, name: str) -> Iterator[pa.Table]:
        """The rows of a segment, all of which was checked before the first is given.

        Raises:
            DamageError, VanishedError, InputError: as `segments.attempt`.
        """
        segments.attempt(
            self.place,
            self.folder,
            name,
            lambda source: segments.check(source, name, self.folder),
        )
        try:
            with (
                self.place.source(f"{self.folder}/{name}") as source,
                segments.parquet(source) as file,
            ):
                yield from segments.batches(file)
        except (OSError, pa.ArrowException) as error:
            raise segments.gone_or_unreadable(self.place, f"{self.folder}/{name}", error) from None

    def _add(self, writer: SegmentWriter | None, held: list[pa.Table]) -> SegmentWriter | None:
        """Append rows to the writer (a new one where there is none), sorted, each once."""
        if not held:
            return writer
        contents = np.concatenate([row_hashes(part) for part in held])
        keys = contents
        if self.key is not None:
            keys = np.concatenate([row_hashes(part, self.key) for part in held])
        table = pa.concat_tables(held).replace_schema_metadata()
        again = np.flatnonzero(_isin(keys, self.twice))
        _, first = np.unique(contents[again], return_index=True)
        keep = np.ones(table.num_rows, bool)
        keep[again] = False
        first = again[first]
        new = first[~_isin(contents[first], self.kept)]
        keep[new] = True
        self.kept = np.sort(np.concatenate([self.kept, contents[new]]))
        if not keep.all():
            table = table.filter(pa.array(keep))
        if not table.num_rows:
            return writer
        order = [(name, "ascending") for name in ORDER[self.folder] if name in table.column_names]
        writer = writer or SegmentWriter(table.schema)
        writer.add(table.sort_by(order))
        return writer

    def _commit(self, writer: SegmentWriter | None, complete: list[_Listed]) -> None:
        """Make the written rows safe; only then delete the segments that they are all from."""
        done = self.done
        if writer is not None:
            writer.commit(self.place, self.folder)
            done.segments_after += 1
            done.rows_after += writer.rows
        self.place.remove(self.folder, [segment.name for segment in complete])
        done.segments_after -= len(complete)
        done.rows_after -= sum(len(segment.keys) for segment in complete)


def _isin(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Whether each value is in the sorted array `among`."""
    if not len(among):
        return np.zeros(len(values), bool)
    at = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return among[at] == values
