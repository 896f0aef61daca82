"""The rows of a sweep a cell at a time, in bounded memory, however they lie in the store.

`Index` finds where the rows of the cells are, by narrow columns; `Index.portions` divides the cells
among readers, in the order in which their rows are stored; `read` gives the rows of each cell of a
portion. A portion is small and can be sent to another process. `stream` does all of it here.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from algos.errors import InputError, Words
from sweep.store import longer_runs, scanning
from sweep.store.checkpoints import standard
from sweep.store.columns import CURVES
from sweep.store.places import Place
from sweep.store.scanning import Found, Part, codes, outcome_fields, scan
from sweep.store.segments import ROWS, VanishedError
from sweep.store.store import Store

ATTEMPTS = 5  # readings of a store whose segments are being replaced by a compaction
CHUNK = 64 * 1024**2  # decoded bytes of rows that are read together
PORTION = 256 * 1024**2  # decoded bytes of the rows of a portion
MOST_CELLS = 2000  # cells of a portion
FIELDS = pa.schema([("replicate", pa.int64()), *CURVES])


class CellRows(NamedTuple):
    """The rows of a cell.

    Attributes:
        cell: its number, that of its first appearance in the manifest among different cells.
        rows: ordered by replicate, each once: `replicate`, `checkpoints` (null for the standard
            ones, `checkpoints.standard`), `regret`, and the outcomes of all families present.
    """

    cell: int
    rows: pa.Table


@dataclass(frozen=True)
class Cells:
    """The different cells of a manifest, numbered by their first appearance.

    Attributes:
        number: int64 (rows of the manifest,), the cell of each row.
        names: their identities, with their numbers.
        described: columns stream, seed, T and anytime.
        target: int64 (cells,), the most replicates that a row of the manifest asks for.
    """

    number: np.ndarray
    names: dict[str, int]
    described: pa.Table
    target: np.ndarray

    @classmethod
    def of(cls, manifest: pa.Table) -> Cells:
        """Those of a manifest with columns cell, stream, seed, T, anytime and replicates."""
        encoded = manifest["cell"].combine_chunks().dictionary_encode()
        number = encoded.indices.to_numpy().astype(np.int64)
        target = np.zeros(len(encoded.dictionary), np.int64)
        np.maximum.at(target, number, manifest["replicates"].to_numpy())
        _, first = np.unique(number, return_index=True)
        described = manifest.select(["stream", "seed", "T", "anytime"]).take(first)
        names = {name: i for i, name in enumerate(encoded.dictionary.to_pylist())}
        return cls(number, names, described, target)


@dataclass(frozen=True)
class Portion:
    """Cells whose rows are read together, in order of their spans.

    Attributes:
        root: the store.
        cells: int64 (c,), their numbers.
        T: int64 (c,), their rounds.
        spans: of all of them (`scanning.SPAN`), those of a cell side by side.
        parts: the row groups that spans refer to.
        longer: rounds of the longer runs that spans refer to.
        schema: the columns to read.
    """

    root: str
    cells: np.ndarray
    T: np.ndarray
    spans: np.ndarray
    parts: list[Part]
    longer: list[int]
    schema: pa.Schema

    def after(self, done: int) -> np.ndarray:
        """The cells but for the first `done`."""
        return self.cells[done:]


@dataclass(frozen=True)
class Index:
    """Where the rows of cells are: spans by cell, own rows before those of longer runs."""

    store: Store
    cells: Cells
    found: Found
    longer: list[int]

    @classmethod
    def of(cls, store: Store, cells: Cells, only: np.ndarray | None = None) -> Index:
        """That of a store as it is now.

        Args:
            store: where the rows are.
            cells: those of a sweep.
            only: numbers of the cells whose rows are wanted; all by default.

        Raises:
            InputError: the store can't be read, or a segment is damaged.
            VanishedError: a segment is not there any more.
        """
        names = store.settled_names(ROWS)
        target = cells.target
        if only is not None:
            target = np.zeros_like(target)
            target[only] = cells.target[only]
        own = scan(
            store.place, names, ["cell"], lambda table: codes(table["cell"], cells.names), target
        )
        spans = own.spans[np.lexsort((own.spans["first"], own.spans["cell"]))]
        spans["count"] = np.minimum(spans["count"], target[spans["cell"]] - spans["first"])
        anytime = cells.described["anytime"].to_numpy(zero_copy_only=False).astype(bool)
        short = np.flatnonzero(anytime & (covered(spans, len(target)) < target))
        if not len(short):
            return cls(store, cells, own._replace(spans=spans), [])
        runs = longer_runs.find(store.place, names, short, cells.described, target)
        both = scanning.merged([own._replace(spans=spans), runs.found])
        order = np.lexsort((both.spans["first"], both.spans["longer"] > 0, both.spans["cell"]))
        # What is cut has no outcome: the columns are those of the cells' own rows.
        return cls(store, cells, Found(both.spans[order], both.parts, own.outcomes), runs.T)

    @property
    def size(self) -> float:
        """Decoded bytes of all rows."""
        weight = np.array([part.bytes for part in self.found.parts])
        return float((self.found.spans["count"] * weight[self.found.spans["part"]]).sum())

    def portions(self, size: int = PORTION) -> Iterator[Portion]:
        """The cells that have rows, divided into portions of about `size` decoded bytes."""
        schema = pa.schema([*FIELDS, *outcome_fields(self.found.outcomes)])
        spans = self.found.spans
        starts = np.flatnonzero(np.diff(spans["cell"], prepend=-1))
        if not len(starts):
            return
        weight = np.array([part.bytes for part in self.found.parts])
        sizes = np.add.reduceat(spans["count"] * weight[spans["part"]], starts)
        ends = np.append(starts[1:], len(spans))
        order = np.lexsort((spans["row"][starts], spans["part"][starts]))
        rounds = self.cells.described["T"].to_numpy()
        for chosen in _groups(sizes[order], size, MOST_CELLS):
            places = order[chosen]
            picked = np.concatenate([spans[starts[i] : ends[i]] for i in places])
            used, picked["part"] = np.unique(picked["part"], return_inverse=True)
            cells = spans["cell"][starts[places]].astype(np.int64)
            parts = [self.found.parts[i] for i in used]
            yield Portion(self.store.root, cells, rounds[cells], picked, parts, self.longer, schema)


def covered(spans: np.ndarray, cells: int) -> np.ndarray:
    """How many different replicates of each cell the spans hold, int64 (cells,).

    Args:
        spans: sorted by cell and first replicate.
        cells: the number of cells.
    """
    base = spans["cell"].astype(np.int64) << 32
    first, end = base + spans["first"], base + spans["first"] + spans["count"]
    before = np.concatenate([[0], np.maximum.accumulate(end)[:-1]])
    fresh = np.maximum(0, end - np.maximum(first, before))
    return np.bincount(spans["cell"], weights=fresh, minlength=cells).astype(np.int64)


def stream(store: Store, cells: Cells, only: np.ndarray | None = None) -> Iterator[CellRows]:
    """The rows of a sweep's cells: of each the replicates below the target, each once.

    Cells come in the order in which they are stored, those without rows don't. An anytime cell
    that lacks replicates has them cut from longer runs; these rows carry no outcome.

    Args:
        store: where the rows are; segments may be compacted meanwhile.
        cells: those of the sweep.
        only: numbers of the cells that are wanted; all by default.

    Raises:
        InputError: the store can't be read, a segment is damaged, a row lacks its curve, or the
            segments are replaced faster than they are read.
    """
    left = np.arange(len(cells.target)) if only is None else only
    for _ in range(ATTEMPTS):
        try:
            portions = list(Index.of(store, cells, left).portions())
        except VanishedError:
            continue
        missed = []
        for portion in portions:
            done = 0
            try:
                for one in read(portion):
                    done += 1
                    if len(one.rows):
                        yield one
            except VanishedError:
                missed.append(portion.after(done))
        if not missed:
            return
        left = np.concatenate(missed)
    raise replaced(store)


def replaced(store: Store) -> InputError:
    """The error for a store whose segments were replaced in every attempt to read them."""
    return InputError(
        "rows",
        Words(f"segments that were replaced while being read, {ATTEMPTS} times"),
        f"a store that no compaction is changing; try {store.root} again later",
    )


def read(portion: Portion) -> Iterator[CellRows]:
    """The rows of the cells of a portion, in its order; a cell of which none fits has none.

    About CHUNK decoded bytes are in memory, and those of one cell and one row group.

    Raises:
        InputError: a segment is damaged or can't be read, a row lacks its curve.
        VanishedError: a segment is not there any more.
    """
    place = _place(portion.root)
    spans = portion.spans
    starts = np.flatnonzero(np.diff(spans["cell"], prepend=-1))
    ends = np.append(starts[1:], len(spans))
    weight = np.array([part.bytes for part in portion.parts])
    sizes = np.add.reduceat(spans["count"] * weight[spans["part"]], starts)
    last: dict[int, pa.Table] = {}  # the row group that the next chunk begins in, perhaps
    for chosen in _groups(sizes, CHUNK):
        held = spans[starts[chosen[0]] : ends[chosen[-1]]]
        pieces, last = _pieces(place, portion, held, last)
        for i in chosen:
            at = slice(starts[i] - starts[chosen[0]], ends[i] - starts[chosen[0]])
            rows = _cell(held[at], pieces[at], int(portion.T[i]), portion.longer)
            _check(rows, int(portion.T[i]), place)
            yield CellRows(int(portion.cells[i]), rows)


@lru_cache(maxsize=4)
def _place(root: str) -> Place:
    return Place(root)


def _groups(sizes: np.ndarray, limit: float, most: int = 2**62) -> Iterator[np.ndarray]:
    """Successive places of `sizes`, each group of about `limit` together, one place at least."""
    group = (np.cumsum(sizes) - sizes) // limit
    for places in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(group)) + 1):
        for start in range(0, len(places), most):
            yield places[start : start + most]


def _pieces(
    place: Place, portion: Portion, spans: np.ndarray, last: dict[int, pa.Table]
) -> tuple[list[pa.Table], dict[int, pa.Table]]:
    """The rows of each span, and the last row group that was decoded.

    Args:
        place: the store's.
        portion: whose row groups they are.
        spans: those of a chunk.
        last: row groups that are decoded already.
    """
    pieces: list[pa.Table] = [pa.table({})] * len(spans)
    order = np.argsort(spans["part"], kind="stable")
    bounds = np.flatnonzero(np.diff(spans["part"][order], prepend=-1, append=-1))
    wanted = [order[start:end] for start, end in itertools.pairwise(bounds)]
    numbers = [int(spans["part"][places[0]]) for places in wanted]
    of_segment = lambda pair: portion.parts[pair[0]].segment  # noqa: E731
    for segment, pairs in itertools.groupby(zip(numbers, wanted, strict=True), of_segment):
        numbered = dict(pairs)
        take = partial(_take, portion, spans, numbered, last, pieces)
        if set(numbered) <= set(last):
            last = take(None)
        else:
            last = scanning.read(place, segment, take)
    return pieces, last


def _take(
    portion: Portion,
    spans: np.ndarray,
    wanted: dict[int, np.ndarray],
    last: dict[int, pa.Table],
    pieces: list[pa.Table],
    source: pa.NativeFile | None,
) -> dict[int, pa.Table]:
    """Put the rows of one segment into `pieces`; returns its last row group."""
    file = None
    if source is not None:
        file = pq.ParquetFile(source, page_checksum_verification=True)
    for part, places in wanted.items():
        table = last.get(part)
        if table is None:
            assert file is not None
            table = _decoded(file, portion.parts[part].group, portion.schema)
        slices = [table.slice(spans["row"][i], spans["count"][i]) for i in places]
        if 2 * sum(map(len, slices)) < len(table):  # the rest is not to be kept along with them
            kept = pa.concat_tables(slices).combine_chunks()
            ends = np.cumsum(spans["count"][places])
            pairs = zip(ends - spans["count"][places], spans["count"][places], strict=True)
            slices = [kept.slice(start, count) for start, count in pairs]
        for i, rows in zip(places, slices, strict=True):
            pieces[i] = rows
        last = {part: table}
    return last


def _decoded(file: pq.ParquetFile, group: int, schema: pa.Schema) -> pa.Table:
    """A row group in the columns of `schema`; what it lacks is null."""
    there = set(file.schema_arrow.names)
    table = file.read_row_group(group, columns=[name for name in schema.names if name in there])
    columns = []
    for field in schema:
        if field.name not in there:
            columns.append(pa.nulls(table.num_rows, field.type))
        elif table[field.name].type != field.type:
            columns.append(table[field.name].cast(field.type))
        else:
            columns.append(table[field.name])
    return pa.table(columns, schema=schema)


def _cell(spans: np.ndarray, pieces: list[pa.Table], T: int, longer: list[int]) -> pa.Table:
    """The rows of a cell, each replicate once."""
    ends = spans["first"] + spans["count"]
    if not spans["longer"].any() and (spans["first"][1:] >= ends[:-1]).all():
        return pa.concat_tables(pieces)
    own = [
        longer_runs.cut(rows, T, longer[run - 1]) if run else rows
        for rows, run in zip(pieces, spans["longer"].tolist(), strict=True)
    ]
    rows = pa.concat_tables(own).combine_chunks()
    # A replicate's own row stands before those that are cut.
    _, first = np.unique(rows["replicate"].to_numpy(), return_index=True)
    return rows.take(pa.array(first))


def _check(rows: pa.Table, T: int, place: Place) -> None:
    """Raises InputError where a row has no regret, or not one at each of its checkpoints."""
    regret, known = rows["regret"], rows["checkpoints"]
    if regret.null_count:
        allowed = f"rows with regret, if only an empty list (in {place.root})"
        raise InputError("rows", Words("a row without regret"), allowed)
    lengths = pc.fill_null(pc.list_value_length(known), len(standard(T)))
    if pc.any(pc.not_equal(lengths, pc.list_value_length(regret))).as_py():
        allowed = f"rows with one regret for each checkpoint (in {place.root})"
        raise InputError("rows", Words("a row whose lists differ in length"), allowed)


def replicates_below(rows: pa.Table, target: int) -> pa.Table:
    """The first rows of a cell, those of replicates below `target`."""
    return rows.slice(0, int(np.searchsorted(rows["replicate"].to_numpy(), target)))
