"""The store: append-only Parquet segments, each complete or absent.

    STORE/rows/*.parquet       results, one row per (cell, replicate)
    STORE/timings/*.parquet    what each unit took, where and when
    STORE/sweeps/ID/           one folder per sweep
    STORE/damaged/             segments that were set aside

STORE is a folder or the URL of an object store. A segment is written under a name of its own and
nothing is ever rewritten: in a folder it is flushed to disk, then renamed; in an object store it
is one object. So any number of sweeps may write at once. Duplicated rows are equal, so they do
no harm. Nothing is pickled.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from algos.errors import InputError
from sweep.store import mirror, segments
from sweep.store.files import make_folder, unmake, write_atomically
from sweep.store.places import Place, one_line
from sweep.store.segments import ROWS, TIMINGS, Damaged, DamageError, VanishedError

SWEEPS, DAMAGED = "sweeps", "damaged"


class Store:
    """A results store, made when first written to.

    Attributes:
        root: the path or URL as given.
        damaged: the damaged segments that `scan` has come upon.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        """Take a path or a URL; nothing is opened yet.

        Raises:
            InputError: the URL holds a key or password.
        """
        self.root = os.fspath(root)
        self.place = Place(self.root)
        self.damaged: list[Damaged] = []

    def exists(self) -> bool:
        """Whether there is a folder of rows.

        Raises:
            InputError: the store can't be reached.
        """
        with self._reached():
            return self.place.has_folder(ROWS)

    def open_for_writing(self) -> None:
        """Make the store's folders and try a write; leave nothing behind where that fails.

        Raises:
            InputError: the path can't be written, the URL can't be reached.
        """
        local = self.place.local
        made: list[Path] = []
        try:
            if local is None:
                self.place.has_folder(ROWS)  # an endpoint that is silent is waited for once
                for folder in (ROWS, TIMINGS):
                    self.place.make_folder(folder)
                probe = f".{uuid.uuid4().hex}.tmp"
                self.place.write(f"{ROWS}/{probe}", pa.py_buffer(b"-"))
                self.place.remove(ROWS, [probe])
                made.extend(make_folder(self.sweep_folder("x").parent))
                return
            for name in (ROWS, TIMINGS, SWEEPS):
                made.extend(make_folder(local / name))
            path = local / ROWS / f".{uuid.uuid4().hex}.tmp"
            path.touch()
            path.unlink()
        except (OSError, pa.ArrowException) as error:
            unmake(made)
            what = "folder" if local is not None else "place"
            raise InputError(
                "store", self.root, f"a {what} that can be written ({one_line(error)})"
            ) from None

    def append_rows(self, tables: Sequence[pa.Table]) -> None:
        """Commit rows as new segments, one per schema.

        Raises:
            OSError: the folder can't be written.
            InputError: the object store can't be written.
        """
        self._append(ROWS, tables)

    def append_timings(self, table: pa.Table) -> None:
        """Commit timings as a new segment; raises as `append_rows` does."""
        self._append(TIMINGS, [table])

    def _append(self, folder: str, tables: Sequence[pa.Table]) -> None:
        by_schema: dict[str, list[pa.Table]] = {}
        for table in tables:
            by_schema.setdefault(table.schema.to_string(), []).append(table)
        for group in by_schema.values():
            try:
                segments.commit(self.place, folder, pa.concat_tables(group))
            except (OSError, pa.ArrowException) as error:
                if self.place.local is not None:
                    raise
                raise InputError(
                    "store",
                    self.root,
                    f"a place that can be written ({one_line(error)}); what was committed is"
                    " kept, and the same command goes on from there",
                ) from None

    def scan(
        self, relevant: Callable[[pa.ChunkedArray], bool], set_aside: bool
    ) -> Iterator[pa.Table]:
        """Per segment of rows a table of its columns `cell` and `replicate`.

        Segments that come while the scan goes on are read, too: what was committed before it
        began is never missed, even if it is compacted meanwhile; rows may come twice.

        Args:
            relevant: whether a segment with these cells matters; then all of it is checked.
            set_aside: move damaged segments to STORE/damaged; without it nothing is changed.

        Raises:
            InputError: a segment or the store can't be read or, with `set_aside`, a damaged
                segment can't be moved.
        """
        seen: set[str] = set()
        while new := [name for name in self.names(ROWS) if name not in seen]:
            for name in new:
                seen.add(name)
                try:
                    table = self._examine(name, relevant)
                except VanishedError:
                    continue  # what it was merged into is in the next listing
                except DamageError as error:
                    self.damaged.append(Damaged(name, str(error)))
                    if set_aside:
                        self._set_aside(self.damaged[-1])
                    continue
                yield table

    def _examine(self, name: str, relevant: Callable[[pa.ChunkedArray], bool]) -> pa.Table:
        table = segments.attempt(self.place, ROWS, name, segments.read_keys)
        if relevant(table["cell"]):
            segments.attempt(
                self.place, ROWS, name, lambda source: segments.check(source, name, ROWS)
            )
        return table

    def _set_aside(self, damaged: Damaged) -> None:
        try:
            self.place.move(f"{ROWS}/{damaged.name}", f"{DAMAGED}/{damaged.name}")
        except FileNotFoundError:
            pass  # another sweep was faster
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                "store",
                self.root,
                f"a place that can be written, to set the damaged {damaged.name} aside"
                f" ({one_line(error)})",
            ) from None

    def names(self, folder: str) -> list[str]:
        """The names of the complete segments of `folder`.

        Raises:
            InputError: the store can't be read.
        """
        return list(self.sizes(folder))

    def sizes(self, folder: str) -> dict[str, int]:
        """The complete segments of `folder`: bytes by name; raises as `names` does."""
        with self._reached():
            files = self.place.files(folder)
        return {name: info.size for name, info in files.items() if name.endswith(".parquet")}

    def corrections(self) -> dict[tuple[str, int, str], float]:
        """Measured over expected seconds by (algorithm, version, distribution).

        Timings only tune the size of blocks, so unreadable ones are passed over.
        """
        sums: dict[tuple[str, int, str], np.ndarray] = {}
        keys = ["algorithm", "version", "distribution"]
        for name in self.names(TIMINGS):
            try:
                with self.place.source(f"{TIMINGS}/{name}") as source:
                    table = pq.read_table(
                        source,
                        columns=[*keys, "seconds", "uncorrected"],
                        page_checksum_verification=True,
                    )
                sums_of = [("seconds", "sum"), ("uncorrected", "sum")]
                groups = table.group_by(keys).aggregate(sums_of)
            except segments.UNREADABLE:
                continue
            for row in groups.to_pylist():
                key = (row["algorithm"], row["version"], row["distribution"])
                pair = np.array([row["seconds_sum"], row["uncorrected_sum"]])
                sums[key] = sums.get(key, np.zeros(2)) + pair
        return {key: float(a / b) for key, (a, b) in sums.items() if a > 0 and b > 0}

    def sweep_folder(self, name: str) -> Path:
        """The local folder of one sweep: of a URL's a mirror among the user's caches."""
        local = self.place.local
        return (local or mirror.root(self.root)) / SWEEPS / name

    def fetch_sweep(self, name: str) -> None:
        """Bring a sweep's folder from a URL into its mirror, unless the mirror is newer.

        Raises:
            InputError: the store can't be read.
        """
        if self.place.local is None:
            with self._reached():
                mirror.fetch(self.place, f"{SWEEPS}/{name}", self.sweep_folder(name))

    def publish_sweep(self, name: str) -> str:
        """Send a sweep's folder from its mirror to the URL; `wandb/` stays here.

        Returns the URL of the folder there; "" for a local store, where nothing is to be done.

        Raises:
            InputError: the store can't be written.
        """
        if self.place.local is None:
            with self._reached("written"):
                mirror.publish(self.place, f"{SWEEPS}/{name}", self.sweep_folder(name))
            return f"{self.root.partition('?')[0].rstrip('/')}/{SWEEPS}/{name}"
        return ""

    def write_table(self, path: Path, rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> None:
        """Write a small table of a sweep's folder."""
        table = pa.Table.from_pylist(list(rows), schema=schema)
        write_atomically(path, lambda temporary: pq.write_table(table, temporary))

    def write_text(self, path: Path, text: str) -> None:
        """Write a small text file of a sweep's folder."""
        write_atomically(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))

    @contextmanager
    def _reached(self, done: str = "read") -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            what = "folder" if self.place.local is not None else "place"
            raise InputError(
                "store", self.root, f"a {what} that can be {done} ({one_line(error)})"
            ) from None
