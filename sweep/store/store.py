"""The store: append-only Parquet segments, each complete or absent.

    STORE/rows/*.parquet       results, one row per (cell, replicate)
    STORE/timings/*.parquet    what each unit took, where and when
    STORE/definitions/         instances whose definition is too long for a row
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
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from algos.errors import InputError
from sweep.store import definitions, mirror, segments, timings
from sweep.store.errors import UNREACHABLE, one_line
from sweep.store.files import make_folder, unmake
from sweep.store.places import Place
from sweep.store.segments import ROWS, TIMINGS, Damaged, DamageError, Segment, VanishedError

SWEEPS, DAMAGED = "sweeps", "damaged"
LISTINGS = 10  # at most, of a folder that changes while it is listed
MANIFEST_FILE = "manifest.parquet"  # what makes a folder of STORE/sweeps a sweep


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

    def open_for_writing(self) -> list[Path]:
        """Make the store's folders and try a write; leave nothing behind where that fails.

        Returns:
            The local folders that were not there, for `files.unmake` where nothing comes of it.

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
                return made
            for name in (ROWS, TIMINGS, SWEEPS):
                made.extend(make_folder(local / name))
            path = local / ROWS / f".{uuid.uuid4().hex}.tmp"
            path.touch()
            path.unlink()
            return made
        except UNREACHABLE as error:
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

    def keep_segment(self, segment: Segment) -> None:
        """Commit a segment of rows that was made elsewhere; raises as `append_rows` does."""
        with self._written():
            self.place.write(f"{ROWS}/{segment.name}", segment.content)

    def append_timings(self, table: pa.Table) -> None:
        """Commit timings as a new segment; raises as `append_rows` does."""
        self._append(TIMINGS, [table])

    def _append(self, folder: str, tables: Sequence[pa.Table]) -> None:
        by_schema: dict[str, list[pa.Table]] = {}
        for table in tables:
            by_schema.setdefault(table.schema.to_string(), []).append(table)
        for group in by_schema.values():
            with self._written():
                segments.commit(self.place, folder, pa.concat_tables(group))

    def keep_definitions(self, contents: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the content of large definitions, by address, where the store lacks them.

        To be called before rows that refer to them are appended. Values are scalars, lists, or
        arrays of numbers; raises as `append_rows` does.
        """
        with self._written():
            definitions.keep(self.place, contents)

    def definition(self, address: str) -> dict[str, Any]:
        """The content of a large definition, lists of numbers as arrays.

        Raises:
            InputError: it is not in the store, is damaged, or can't be read.
            ValueError: `address` is no address.
        """
        try:
            return definitions.read(self.place, address)
        except VanishedError:
            why = "it is missing"
        except DamageError as error:
            why = str(error)
        raise InputError("store", self.root, f"a sound definition {address} ({why})")

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
        except UNREACHABLE as error:
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

    def settled_names(self, folder: str) -> list[str]:
        """The names of the complete segments of `folder`, while others may compact it.

        Compaction may take a segment away and put another in its place while the folder is being
        listed, so that a listing holds neither: two listings in a row have to agree. Raises as
        `names` does.
        """
        found = self.names(folder)
        for _ in range(LISTINGS):
            again = self.names(folder)
            if again == found:
                break
            found = again
        return found

    def sizes(self, folder: str) -> dict[str, int]:
        """The complete segments of `folder`: bytes by name; raises as `names` does."""
        with self._reached():
            files = self.place.files(folder)
        return {name: info.size for name, info in files.items() if name.endswith(".parquet")}

    def corrections(self) -> dict[tuple[str, int, str], float]:
        """Measured over expected seconds by (algorithm, version, distribution).

        Timings only tune the size of blocks, so unreadable ones are passed over.
        """
        return timings.corrections(self.place, self.names(TIMINGS))

    def sweep_folder(self, name: str) -> Path:
        """The local folder of one sweep: of a URL's a mirror among the user's caches."""
        local = self.place.local
        return (local or mirror.root(self.root)) / SWEEPS / name

    def fetch_sweep(self, name: str, only: Collection[str] | None = None) -> None:
        """Bring a sweep's folder from a URL into its mirror, unless the mirror is newer.

        With `only`, the files of these names are brought and no others.

        Raises:
            InputError: the store can't be read.
        """
        if self.place.local is None:
            with self._reached():
                mirror.fetch(self.place, f"{SWEEPS}/{name}", self.sweep_folder(name), only)

    def publish_sweep(self, name: str, only: Collection[str] | None = None) -> str:
        """Send a sweep's folder from its mirror to the URL; `wandb/` stays here.

        With `only`, the files of these names are sent and no others. Returns the URL of the folder
        there; "" for a local store, where nothing is to be done.

        Raises:
            InputError: the store can't be written; what was to be sent is still here.
        """
        if self.place.local is not None:
            return ""
        here = self.sweep_folder(name)
        with self._reached("written", f"; nothing is lost, the files are in {here}"):
            mirror.publish(self.place, f"{SWEEPS}/{name}", here, only)
        return f"{self.root.partition('?')[0].rstrip('/')}/{SWEEPS}/{name}"

    def sweeps(self) -> dict[str, int]:
        """The sweeps by ID, with the time of their manifests in nanoseconds since 1970.

        Raises:
            InputError: the store can't be read.
        """
        with self._reached():
            return self.place.marked_folders(SWEEPS, MANIFEST_FILE)

    @contextmanager
    def _reached(self, done: str = "read", more: str = "") -> Iterator[None]:
        try:
            yield
        except UNREACHABLE as error:
            what = "folder" if self.place.local is not None else "place"
            raise InputError(
                "store", self.root, f"a {what} that can be {done} ({one_line(error)}){more}"
            ) from None

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Raises InputError where an object store can't be written; a disk's OSError as it is."""
        try:
            yield
        except UNREACHABLE as error:
            if self.place.local is not None:
                raise
            raise InputError(
                "store",
                self.root,
                f"a place that can be written ({one_line(error)}); what was committed is"
                " kept, and the same command goes on from there",
            ) from None
