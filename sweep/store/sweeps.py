"""The sweeps of a store: finding one, and the record that it keeps in its folder.

    STORE/sweeps/ID/config.yaml        the resolved configuration
    STORE/sweeps/ID/command.txt        the command line
    STORE/sweeps/ID/manifest.parquet   its cells, and what their families' columns mean
    STORE/sweeps/ID/failures.parquet   units that were given up

Reports, figures and what tracking needs are beside them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from algos.errors import InputError, Words, unknown_name
from sweep.store.columns import ADDED_TO_MANIFEST, FAILURES, MANIFEST
from sweep.store.errors import UNREACHABLE, one_line
from sweep.store.files import write_atomically, write_file
from sweep.store.places import is_url
from sweep.store.store import MANIFEST_FILE, SWEEPS, Store

CONFIG_FILE, COMMAND_FILE, FAILURES_FILE = "config.yaml", "command.txt", "failures.parquet"
RECORD = (MANIFEST_FILE, CONFIG_FILE, COMMAND_FILE, FAILURES_FILE)
FAMILIES = b"families"  # key of the manifest's metadata: JSON by family
MOST_NAMED = 4  # sweeps in an error's line


def check_window(value: object) -> tuple[float, float] | None:
    """`grid.window` as two rounds; None where there is none.

    Raises:
        InputError: it is something else.
    """
    if value is None:
        return None
    ends = list(value) if isinstance(value, list | tuple) else []
    if (
        len(ends) != 2
        or not all(isinstance(end, Real) and not isinstance(end, bool) for end in ends)
        or not 1 <= ends[0] < ends[1] < math.inf
    ):
        raise InputError("grid.window", value, "two rounds [T0, T1] with 1 ≤ T0 < T1")
    return float(ends[0]), float(ends[1])


def find_sweep(sweep: str | Path = "latest", store: str | Path = "results") -> Sweep:
    """The sweep named by its ID, a unique prefix of it, the path of its folder, or "latest".

    `latest` is the sweep whose manifest is newest. Of a sweep in a store at a URL the record is
    brought to the local mirror first. A sweep named by its folder has its rows in `store` if that
    is a URL, and beside its folder otherwise.

    Raises:
        InputError: the store or the sweep does not exist, or a prefix fits several sweeps.
    """
    given = Path(sweep)
    if (given / MANIFEST_FILE).is_file() and given.resolve().parent.name == SWEEPS:
        folder = given.resolve()
        return Sweep(Store(store if is_url(store) else folder.parent.parent), folder.name, folder)
    opened = Store(store)
    local = opened.place.local
    if local is not None and not local.is_dir():
        raise InputError("store", str(store), "a folder that sweeps wrote their results to")
    name = _choose(str(sweep), opened.sweeps(), opened)
    opened.fetch_sweep(name, only=RECORD)
    return Sweep(opened, name)


def _choose(sweep: str, times: Mapping[str, int], store: Store) -> str:
    """The ID that `sweep` stands for among those of a store."""
    if not times:
        raise InputError("store", store.root, "a store that holds sweeps; run one into it first")
    if sweep == "latest":
        return max(times, key=lambda name: times[name])
    if sweep in times:
        return sweep
    fits = sorted(name for name in times if sweep and name.startswith(sweep))
    if len(fits) == 1:
        return fits[0]
    if fits:
        allowed = f"a longer prefix: it fits {len(fits)} sweeps ({_some(fits)})"
        raise InputError("sweep", sweep, allowed)
    raise InputError(
        "sweep",
        sweep,
        f"an ID, a unique prefix, a path or latest; {store.root} holds {_some(sorted(times))}",
        unknown_name("sweep", sweep, times).closest,
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (", …" if len(names) > MOST_NAMED else "")


class Sweep:
    """One sweep of a store.

    Attributes:
        store: where its rows are.
        id: its name, that of its folder.
        folder: its local folder; where the store is a URL, a mirror unless the folder was given.
    """

    def __init__(self, store: Store, id: str, folder: Path | None = None) -> None:
        self.store, self.id = store, id
        self.folder = folder or store.sweep_folder(id)
        self._given = folder is not None

    def write_record(self, config: str, command: str) -> None:
        """Write the configuration, as YAML, and the command line.

        Raises:
            OSError: the folder can't be written; so do the other methods that write.
        """
        write_file(self.folder / CONFIG_FILE, config)
        write_file(self.folder / COMMAND_FILE, command.rstrip("\n") + "\n")

    def write_manifest(
        self, pieces: Iterable[pa.Table], families: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Write the cells, given as tables of the schema MANIFEST, none of which is kept.

        Args:
            pieces: the cells; one at a time is in memory.
            families: by name what describes each family that occurs, as JSON can hold it.
        """
        schema = MANIFEST.with_metadata({FAMILIES: json.dumps(families, ensure_ascii=False)})

        def write(temporary: Path) -> None:
            with pq.ParquetWriter(temporary, schema) as writer:
                for piece in pieces:
                    writer.write_table(piece)

        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / MANIFEST_FILE, write)

    def write_failures(self, failures: Sequence[Mapping[str, Any]]) -> None:
        """Write the units that were given up, by columns of the schema FAILURES."""
        table = pa.Table.from_pylist(list(failures), schema=FAILURES)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / FAILURES_FILE, lambda path: pq.write_table(table, path))

    def manifest(self) -> pa.Table:
        """The cells: a row for each (cell, instance), columns as in MANIFEST.

        Columns that a manifest of an older version lacks are null; `families` reads its metadata.

        Raises:
            InputError: the file is missing or damaged, or lacks columns or rows.
        """
        table = self._table(MANIFEST_FILE)
        lacking = set(MANIFEST.names) - {*table.column_names, *ADDED_TO_MANIFEST}
        if lacking or not table.num_rows:
            why = f"lacks the columns {', '.join(sorted(lacking))}" if lacking else "has no rows"
            raise self._damaged(MANIFEST_FILE, why)
        columns = {
            name: table[name].cast(kind)
            if name in table.column_names
            else pa.nulls(len(table), kind)
            for name, kind in zip(MANIFEST.names, MANIFEST.types, strict=True)
        }
        metadata = table.schema.metadata or {}
        schema = MANIFEST.with_metadata({FAMILIES: metadata.get(FAMILIES, b"{}")})
        found = pa.table(columns, schema=schema)
        seen: dict[tuple[str, str], int] = {}
        for row, key in enumerate(
            zip(found["cell"].to_pylist(), found["instance"].to_pylist(), strict=True)
        ):
            seen.setdefault(key, row)
        return found if len(seen) == len(found) else found.take(list(seen.values()))

    def failures(self) -> pa.Table:
        """The units that were given up, columns as in FAILURES.

        Raises:
            InputError: the file is damaged.
        """
        if not (self.folder / FAILURES_FILE).is_file():
            return FAILURES.empty_table()
        return self._table(FAILURES_FILE)

    def config(self) -> dict[str, Any]:
        """The resolved configuration; empty where none is recorded.

        Raises:
            InputError: the file is damaged.
        """
        path = self.folder / CONFIG_FILE
        if not path.is_file():
            return {}
        try:
            found = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise self._damaged(CONFIG_FILE, one_line(error)) from error
        return found if isinstance(found, dict) else {}

    def about(self) -> dict[str, Any]:
        """What a report says of the sweep: id, path, store, question, window and command.

        Raises:
            InputError: config.yaml or its `grid.window` can't be used.
        """
        grid = self.config().get("grid")
        grid = grid if isinstance(grid, dict) else {}
        try:
            window = check_window(grid.get("window"))
        except InputError as error:
            allowed = f"{error.allowed}; correct it in {self.folder / CONFIG_FILE}"
            raise InputError(error.key, error.got, allowed) from None
        command = self.folder / COMMAND_FILE
        return {
            "id": self.id,
            "path": str(self.folder),
            "store": self.store.root,
            "question": str(grid.get("question") or ""),
            "window": window,
            "command": command.read_text(encoding="utf-8").strip() if command.is_file() else "",
        }

    def publish(self, files: Iterable[Path]) -> str:
        """Send these files of the folder to the store's URL.

        Returns the URL of the folder there; "" where nothing is to be sent: the store is local, or
        the sweep was named by its folder, which whoever named it publishes.

        Raises:
            InputError: the store can't be written; the files are still here.
        """
        if self._given:
            return ""
        names = {path.relative_to(self.folder).as_posix() for path in files}
        return self.store.publish_sweep(self.id, only=names)

    def _table(self, name: str) -> pa.Table:
        try:
            return pq.read_table(self.folder / name)
        except UNREACHABLE as error:
            raise self._damaged(name, one_line(error)) from error

    def _damaged(self, name: str, why: str) -> InputError:
        path = self.folder / name
        again = f"a sound {path} ({why}); run the sweep's command again to rewrite it"
        return InputError(name.partition(".")[0], Words("a damaged file"), again)


def families(manifest: pa.Table) -> dict[str, dict[str, Any]]:
    """What describes each family of a manifest, by name; empty for those of version 0.1.0."""
    return dict(json.loads((manifest.schema.metadata or {}).get(FAMILIES, b"{}")))
