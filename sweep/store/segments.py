"""Segments: Parquet files that say whether they are still what was written.

A segment's name ends in a digest of its content, and its pages carry checksums: the digest finds
a flipped bit anywhere in the file, the checksums one in the columns that are read without
reading the file. Segments under other names have the checksums only.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from algos.errors import InputError
from sweep.store.columns import ROW_COLUMNS
from sweep.store.errors import UNREACHABLE, one_line
from sweep.store.places import Place

ROWS, TIMINGS = "rows", "timings"  # the folders of a store that hold segments
KEY = ("cell", "replicate")
TIMING_COLUMNS = ("algorithm", "version", "distribution", "seconds", "uncorrected")
COLUMNS = {ROWS: frozenset(ROW_COLUMNS), TIMINGS: frozenset(TIMING_COLUMNS)}

ROW_GROUP = 16 * 1024**2  # decoded bytes: what a reader can skip
CHUNK = 4 * 1024**2
DIGEST = re.compile(r"-([0-9a-f]{16})\.parquet$")

# What Arrow raises for bytes that are no (or no longer a) Parquet file.
UNREADABLE = (*UNREACHABLE, ValueError, OverflowError, MemoryError)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Segment:
    """A segment that is made: its name, and its content as far as it is not in the store yet."""

    name: str
    content: pa.Buffer | None


@dataclass(frozen=True)
class Damaged:
    """A segment that can't be used: its name and, in a line, why."""

    name: str
    reason: str


class DamageError(ValueError):
    """A segment's content is not what was written; the message says how it is seen."""


class VanishedError(Exception):
    """A segment is gone: compaction has merged it into another, or it was set aside."""


class SegmentWriter:
    """A segment in the making, in memory; its size counts compressed bytes."""

    def __init__(self, schema: pa.Schema) -> None:
        self.sink = pa.BufferOutputStream()
        self.rows = 0
        self._writer = pq.ParquetWriter(
            self.sink, schema, compression="zstd", compression_level=1, write_page_checksum=True
        )

    @property
    def size(self) -> int:
        """Bytes so far."""
        return int(self.sink.tell())

    def add(self, table: pa.Table) -> None:
        """Append rows, in even row groups that readers can skip."""
        groups = max(1, round(table.nbytes / ROW_GROUP))
        self._writer.write_table(table, row_group_size=max(1, -(-table.num_rows // groups)))
        self.rows += table.num_rows

    def close(self) -> Segment:
        """The whole segment, under a name that no other has."""
        self._writer.close()
        content = self.sink.getvalue()
        digest = hashlib.sha256(content).hexdigest()[:16]
        return Segment(f"{uuid.uuid4().hex}-{digest}.parquet", content)

    def commit(self, place: Place, folder: str) -> None:
        """Write the segment."""
        segment = self.close()
        place.write(f"{folder}/{segment.name}", segment.content)


def commit(place: Place, folder: str, table: pa.Table) -> None:
    """Write a table as a new segment of a folder."""
    writer = SegmentWriter(table.schema)
    writer.add(table)
    writer.commit(place, folder)


@contextmanager
def parquet(source: pa.NativeFile) -> Iterator[pq.ParquetFile]:
    """A segment open for reading, with its pages' checksums verified."""
    with pq.ParquetFile(source, page_checksum_verification=True) as file:
        yield file


def read_keys(source: pa.NativeFile) -> pa.Table:
    """The columns `cell` and `replicate` of a segment.

    Raises:
        DamageError, or one of UNREADABLE.
    """
    with parquet(source) as file:
        lacking = [name for name in KEY if name not in file.schema_arrow.names]
        if lacking:
            raise DamageError(f"it lacks the columns {', '.join(lacking)}")
        table = file.read(columns=list(KEY))
    types = pa.schema([("cell", pa.string()), ("replicate", pa.int64())])
    table = table.select(list(KEY)).replace_schema_metadata().cast(types)
    if any(table[name].null_count for name in KEY):
        raise DamageError("it has rows without a cell or a replicate")
    return table


def check(source: pa.NativeFile, name: str, folder: str, decode: bool = False) -> None:
    """Check a whole segment in bounded memory: its digest, its columns, every page's checksum.

    Where the digest is right the pages need no decoding; `decode` does it nonetheless.

    Raises:
        DamageError, or one of UNREADABLE.
    """
    known = digest_is_right(source, name)
    with parquet(source) as file:
        check_columns(file.schema_arrow, folder)
        if decode or not known:
            for _ in batches(file):
                pass


def check_columns(schema: pa.Schema, folder: str) -> None:
    """Raises DamageError where a segment of `folder` lacks columns."""
    lacking = sorted(COLUMNS[folder] - set(schema.names))
    if lacking:
        raise DamageError(f"it lacks the columns {', '.join(lacking)}")


def digest_is_right(source: pa.NativeFile, name: str) -> bool:
    """Whether the content has the digest that the name ends in; False where it has none.

    Raises:
        DamageError: it has another.
    """
    stated = DIGEST.search(name)
    if stated is None:
        return False
    source.seek(0)
    found = hashlib.sha256()
    while part := source.read_buffer(CHUNK):
        found.update(part)
    source.seek(0)
    if found.hexdigest()[:16] != stated[1]:
        raise DamageError("its content is not what its name's digest says")
    return True


def batches(file: pq.ParquetFile, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Columns of a segment (default: all), a row group at a time."""
    for number in range(file.num_row_groups):
        yield file.read_row_group(number, columns=None if columns is None else list(columns))


def attempt(
    place: Place, folder: str, name: str, parse: Callable[[pa.NativeFile], Result]
) -> Result:
    """`parse` a segment; tells damage from a medium that fails.

    On an error the bytes are read again and parsed from memory: bytes that can be read but not
    parsed are damaged, bytes that can't be read are the medium's fault.

    Raises:
        DamageError: the segment is damaged.
        VanishedError: it is not there any more.
        InputError: it can't be read; it may be sound.
    """
    path = f"{folder}/{name}"
    try:
        with place.source(path) as source:
            return parse(source)
    except UNREADABLE:
        pass
    try:
        content = place.read(path)
    except UNREACHABLE as error:
        raise gone_or_unreadable(place, path, error) from None
    try:
        return parse(pa.BufferReader(content))
    except DamageError:
        raise
    except UNREADABLE as error:
        if _sound(content, name):  # it is what was written: memory is short, or Arrow too old
            raise _medium(place, path, error) from None
        raise DamageError(one_line(error)) from None


def _sound(content: pa.Buffer, name: str) -> bool:
    try:
        return digest_is_right(pa.BufferReader(content), name)
    except DamageError:
        return False


def gone_or_unreadable(place: Place, path: str, error: BaseException) -> Exception:
    """What to raise where a segment can't be read: VanishedError or InputError."""
    if isinstance(error, FileNotFoundError):
        return VanishedError(path)
    try:
        if not place.has_file(path):
            return VanishedError(path)
    except UNREACHABLE:
        pass
    return _medium(place, path, error)


def _medium(place: Place, path: str, error: BaseException) -> InputError:
    return InputError("store", place.root, f"a readable {path} ({one_line(error)})")
