"""The store: append-only Parquet segments, each complete or absent.

    STORE/rows/*.parquet       results, one row per (cell, replicate)
    STORE/timings/*.parquet    what each unit took, where and when
    STORE/sweeps/ID/           one folder per sweep

A segment is written under a name of its own, flushed to disk, then renamed; nothing is ever
rewritten. Duplicated rows are equal, so they do no harm. Nothing is pickled.
"""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from algos.errors import InputError


def write_atomically(path: Path, write: Any) -> None:
    """Call `write(temporary path)`, flush the file to disk, and give it its name.

    The temporary name is unique and in the same folder, so an interrupted write leaves the old
    content (or nothing) and never blocks a later one.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class Store:
    """A results store in a folder, made when first written to."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = Path(root)
        self.root = str(root)
        self.damaged: list[Any] = []

    def exists(self) -> bool:
        """Whether there are rows."""
        return self.rows.is_dir()

    def append_rows(self, tables: Sequence[pa.Table]) -> None:
        """Commit rows."""
        self.append(self.rows, tables)

    def append_timings(self, table: pa.Table) -> None:
        """Commit timings."""
        self.append(self.timings, [table])

    def scan(self, relevant: Any, set_aside: bool) -> Any:
        """The rows by cell and replicate."""
        for segment in self.segments(self.rows):
            yield pq.read_table(segment, columns=["cell", "replicate"])

    @property
    def rows(self) -> Path:
        """The folder of the results' segments."""
        return self._root / "rows"

    @property
    def timings(self) -> Path:
        """The folder of the timings' segments."""
        return self._root / "timings"

    def sweep_folder(self, sweep: str) -> Path:
        """The folder of one sweep."""
        return self._root / "sweeps" / sweep

    def open_for_writing(self) -> None:
        """Make the store's folders and try a write; leave nothing behind where that fails.

        Raises:
            InputError: the path can't be written.
        """
        made: list[Path] = []
        try:
            for folder in (self.rows, self.timings, self._root / "sweeps"):
                made.extend(_make(folder))
            probe = self.rows / f".{uuid.uuid4().hex}.tmp"
            probe.touch()
            probe.unlink()
        except OSError as error:
            _unmake(made)
            raise InputError(
                "store", str(self.root), f"a folder that can be written ({error.strerror})"
            ) from None

    def append(self, folder: Path, tables: Sequence[pa.Table]) -> None:
        """Commit tables as new segments of `folder`, one per schema."""
        by_schema: dict[str, list[pa.Table]] = {}
        for table in tables:
            by_schema.setdefault(table.schema.to_string(), []).append(table)
        for group in by_schema.values():
            table = pa.concat_tables(group)

            def write(path: Path, table: pa.Table = table) -> None:
                pq.write_table(table, path, compression="zstd", compression_level=1)

            write_atomically(folder / f"{uuid.uuid4().hex}.parquet", write)

    def segments(self, folder: Path) -> list[Path]:
        """The complete segments of `folder`."""
        return sorted(folder.glob("[!.]*.parquet"))

    def present(self, cells: Iterable[str]) -> dict[str, np.ndarray]:
        """Per cell the replicate numbers that have a row, ascending.

        Raises:
            InputError: a segment can't be read; nothing is changed.
        """
        wanted = pa.array(list(cells), pa.string())
        found: dict[str, list[np.ndarray]] = {}
        for segment in self.segments(self.rows):
            try:
                table = ds.dataset(segment, format="parquet").to_table(
                    columns=["cell", "replicate"], filter=pc.field("cell").isin(wanted)
                )
            except (pa.ArrowInvalid, OSError) as error:
                reason = str(error).split("\n")[0]
                raise InputError(
                    "store",
                    str(segment),
                    f"a readable segment; move it away and its rows are computed again ({reason})",
                ) from None
            names = table["cell"].combine_chunks().dictionary_encode()
            codes = np.asarray(names.indices)
            replicates = table["replicate"].to_numpy()
            order = np.argsort(codes, kind="stable")
            edges = np.flatnonzero(np.diff(codes[order])) + 1
            for part in np.split(order, edges):
                if part.size:
                    name = names.dictionary[int(codes[part[0]])].as_py()
                    found.setdefault(name, []).append(replicates[part])
        return {name: np.unique(np.concatenate(parts)) for name, parts in found.items()}

    def corrections(self) -> dict[tuple[str, int, str], float]:
        """Measured over expected seconds by (algorithm, version, distribution).

        Timings only tune the size of blocks, so unreadable ones are passed over.
        """
        sums: dict[tuple[str, int, str], np.ndarray] = {}
        for segment in self.segments(self.timings):
            try:
                table = pq.read_table(segment)
                groups = table.group_by(["algorithm", "version", "distribution"]).aggregate(
                    [("seconds", "sum"), ("uncorrected", "sum")]
                )
            except (pa.ArrowException, OSError):
                continue
            for row in groups.to_pylist():
                key = (row["algorithm"], row["version"], row["distribution"])
                pair = np.array([row["seconds_sum"], row["uncorrected_sum"]])
                sums[key] = sums.get(key, np.zeros(2)) + pair
        return {key: float(a / b) for key, (a, b) in sums.items() if a > 0 and b > 0}

    def write_table(self, path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
        """Write a small table of a sweep's folder."""
        table = pa.Table.from_pylist(list(rows), schema=schema)
        write_atomically(path, lambda temporary: pq.write_table(table, temporary))

    def write_text(self, path: Path, text: str) -> None:
        """Write a small text file of a sweep's folder."""
        write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def _make(folder: Path) -> list[Path]:
    """Make a folder with its parents; the new ones, outermost first, even if a later one fails."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError:
        _unmake(made)
        raise
    return made


def _unmake(made: list[Path]) -> None:
    """Remove new folders, innermost first, unless another sweep has put something there."""
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()
