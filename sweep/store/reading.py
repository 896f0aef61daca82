"""The rows of a sweep, out of a store that many sweeps share.

The path of a row from its file: `Segments` finds the segments that hold the sweep's cells by the
column `cell` alone and reads the wide columns from those; `read_rows` keeps each replicate once,
lets `longer_runs` add what longer runs begin with, and puts all in the manifest's order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from algos.errors import InputError, Words
from sweep.store import longer_runs, segments
from sweep.store.columns import CURVES
from sweep.store.errors import one_line
from sweep.store.scanning import Segments, values
from sweep.store.segments import ROWS, UNREADABLE, DamageError, VanishedError
from sweep.store.store import Store

ATTEMPTS = 5  # readings of a store whose segments are being replaced by a compaction
FIELDS = (("cell", pa.string()), ("replicate", pa.int64()), *CURVES)
CURVE_NAMES = tuple(name for name, _ in CURVES)
SHIFT = 32  # bits of a replicate's number, below the number of its cell, in one integer
REPLICATE = (1 << SHIFT) - 1


@dataclass(frozen=True)
class Rows:
    """Rows of a sweep, ordered by the rows of its manifest and by replicate.

    Attributes:
        manifest_row: int64 (rows,), which row of the manifest each belongs to.
        columns: an array (rows,) by name: `replicate`; `checkpoints` and `regret`, whose entries
            are arrays (m,); and each outcome column of the families present. Lists are arrays;
            what a row lacks is None, or NaN among numbers.
    """

    manifest_row: np.ndarray
    columns: dict[str, np.ndarray]


def read_rows(store: Store, manifest: pa.Table) -> Rows:
    """The rows of a sweep's cells: of each the replicates below the target, each once.

    A cell that stands in the manifest under several names has its rows under each. An anytime
    cell that lacks replicates has them cut from longer runs; these carry no outcome.

    Args:
        store: where the rows are; segments may be compacted meanwhile.
        manifest: columns cell, stream, seed, T, anytime and replicates.

    Raises:
        InputError: the store can't be read, a segment is damaged, a row lacks its curve, or the
            segments are replaced faster than they are read.
    """
    for _ in range(ATTEMPTS):
        names = store.settled_names(ROWS)
        try:
            return _read(Segments(store, names), manifest)
        except InputError:
            raise
        except UNREADABLE as error:
            if set(names) <= set(store.settled_names(ROWS)):
                raise _culprit(store, names, error) from error
    raise InputError(
        "rows",
        Words(f"segments that were replaced while being read, {ATTEMPTS} times"),
        f"a store that no compaction is changing; try {store.root} again later",
    )


def _read(source: Segments, manifest: pa.Table) -> Rows:
    """The rows, as `read_rows` says; a cell is known by its number in the manifest's order."""
    encoded = manifest["cell"].combine_chunks().dictionary_encode()
    cells, number = encoded.dictionary, encoded.indices.to_numpy().astype(np.int64)
    wanted = manifest["replicates"].to_numpy().astype(np.int64)
    target = np.zeros(len(cells), np.int64)
    np.maximum.at(target, number, wanted)

    own = source.scan(pc.field("cell").isin(cells), FIELDS, outcomes=True)
    _check_curves(own)
    numbers = pc.index_in(own["cell"], cells).to_numpy().astype(np.int64)
    keys, at = np.unique(_key(numbers, own["replicate"].to_numpy()), return_index=True)
    kept = (keys & REPLICATE) < target[keys >> SHIFT]
    keys, at = keys[kept], at[kept]
    names = [name for name in own.column_names if name not in ("cell", "replicate")]
    columns = {name: values(own[name])[at] for name in names}

    _, first = np.unique(number, return_index=True)
    described = manifest.select(["stream", "seed", "T", "anytime"]).take(first)
    lacking = np.bincount(keys >> SHIFT, minlength=len(cells)) < target
    short = np.flatnonzero(lacking & described["anytime"].to_numpy())
    if len(short):
        have = set(keys[np.isin(keys >> SHIFT, short)].tolist())
        pieces = longer_runs.cut(
            source, short, described, target, lambda *key: int(_key(*key)) in have
        )
        keys, columns = _joined(keys, columns, pieces)

    starts = np.searchsorted(keys, _key(number, 0))
    counts = np.searchsorted(keys, _key(number, wanted)) - starts
    ends = np.cumsum(counts)
    at = np.arange(counts.sum()) + np.repeat(starts - (ends - counts), counts)
    columns = {"replicate": keys & REPLICATE, **columns}
    return Rows(
        np.repeat(np.arange(len(counts)), counts),
        {name: column[at] for name, column in columns.items()},
    )


def _key(number: np.ndarray | int, replicate: np.ndarray | int) -> np.ndarray:
    """A cell's number and a replicate in one integer, which sorts by both."""
    return np.add(np.left_shift(np.asarray(number, np.int64), SHIFT), replicate)


def _check_curves(rows: pa.Table) -> None:
    """Raises InputError where a row has no list of checkpoints or of regret."""
    for name, _ in CURVES:
        if rows[name].null_count:
            cell = rows["cell"].filter(rows[name].is_null())[0]
            allowed = f"rows with checkpoints and regret, if only empty lists (cell {cell})"
            raise InputError("rows", Words(f"a row without {name}"), allowed)


def _joined(
    keys: np.ndarray, columns: dict[str, np.ndarray], pieces: list[longer_runs.Piece]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Keys and columns with the pieces of longer runs among them, sorted by key."""
    if not pieces:
        return keys, columns
    more = [int(_key(piece.cell, piece.replicate)) for piece in pieces]
    keys = np.concatenate([keys, more])
    order = np.argsort(keys)
    joined = {}
    for name, column in columns.items():
        added = [getattr(piece, name) if name in CURVE_NAMES else None for piece in pieces]
        if column.dtype.kind in "iuf":  # a missing number is NaN
            extended = np.concatenate([column.astype(np.float64), np.full(len(added), np.nan)])
        else:
            objects = np.fromiter(added, dtype=object, count=len(added))
            extended = np.concatenate([column.astype(object), objects])
        joined[name] = extended[order]
    return keys[order], joined


def _culprit(store: Store, names: Iterable[str], error: BaseException) -> InputError:
    """The error that names the segment which can't be read."""
    for name in names:

        def whole(source: pa.NativeFile, name: str = name) -> None:
            segments.check(source, name, ROWS, decode=True)

        try:
            segments.attempt(store.place, ROWS, name, whole)
        except VanishedError:
            continue
        except DamageError as found:
            return InputError(
                "rows",
                Words("a damaged segment"),
                f"sound segments; {ROWS}/{name} is damaged ({found}): run the sweep again, which"
                " sets it aside and computes its rows anew",
            )
        except InputError as found:
            return found
    return InputError("store", store.root, f"segments that can be read ({one_line(error)})")
