"""The cells of a sweep: their regret curves as matrices, and the bootstrap's generators."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.statistics.bootstrap import resampled_means
from sweep.store.checkpoints import checkpoints_of, lists_of, standard
from sweep.store.columns import MANIFEST, ROW_COLUMNS

if TYPE_CHECKING:  # processes that measure cells need no frames
    import pandas as pd

Floats = NDArray[np.float64]

SERIES_KEYS = [
    "family", "algorithm", "version", "parameters", "instance", "instance_definition", "K", "N",
    "T", "seed",
]  # fmt: skip
"""The columns that are equal within a series of cells that differ in ε only."""

CELL_KEYS = ["cell", "instance"]
"""What tells the points of a grid apart: one cell may stand there under two labels."""

Key = tuple[str, str]
"""The values of CELL_KEYS."""


@dataclass(frozen=True, repr=False)
class Curves:
    """One point of the grid.

    Attributes:
        info: the manifest's columns of this cell.
        checkpoints: rounds, shape (m,), ascending; m = 0 without regret.
        regret: cumulative, shape (n replicates, m).
        outcomes: what its family adds, by column: shape (n,), or (n, k) for lists of one length;
            lists of several lengths as arrays in an object array. A column that is null in all
            rows is left out.
    """

    info: dict[str, Any]
    checkpoints: NDArray[np.int64]
    regret: Floats
    outcomes: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, m = self.regret.shape
        return f"Curves({self.info['cell']!r}, {n} replicates, {m} checkpoints)"

    @property
    def key(self) -> Key:
        """The values of CELL_KEYS."""
        return self.info["cell"], self.info["instance"]

    @property
    def n(self) -> int:
        """Number of replicates."""
        return self.regret.shape[0]

    @property
    def final(self) -> Floats:
        """Regret at the last checkpoint, shape (n,)."""
        return self.regret[:, -1]

    @property
    def mean(self) -> Floats:
        """Mean curve, shape (m,)."""
        return self.regret.mean(axis=0)

    @cached_property
    def _drawn(self) -> dict[tuple[int, int], Floats]:
        return {}

    def final_means(self, draws: int, seed: int) -> Floats:
        """Bootstrap means of `final`, shape (draws,), drawn once for all who ask."""
        if (draws, seed) not in self._drawn:
            rng = bootstrap_generator(self.info["cell"], seed)
            self._drawn[draws, seed] = resampled_means(self.final, draws, rng)
        return self._drawn[draws, seed]


def series_key(row: Any) -> tuple[str, ...]:
    """What names the series of a row, given as a named tuple; missing values compare."""
    return tuple(str(getattr(row, name)) for name in SERIES_KEYS)


def infos(manifest: pa.Table) -> list[dict[str, Any]]:
    """The rows of a manifest as `Curves.info` has them: a missing ε is NaN, means are arrays."""
    columns = {name: manifest[name].to_pylist() for name in manifest.column_names}
    columns["epsilon"] = [math.nan if one is None else one for one in columns["epsilon"]]
    columns["means"] = [None if one is None else np.array(one) for one in columns["means"]]
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def curves_of(info: dict[str, Any], rows: pa.Table) -> Curves:
    """The point of the grid whose rows these are, as `sweep.store.cells` gives them."""
    rows = rows.combine_chunks()
    grids, regret = (_whole(rows[name]) for name in ("checkpoints", "regret"))
    curve = _matrix(regret)
    outcomes = {name: _outcome(rows[name]) for name in rows.column_names if name not in ROW_COLUMNS}
    known = {name: column for name, column in outcomes.items() if column is not None}
    if curve is not None:
        if grids.null_count == len(grids) and curve.shape[1] == len(standard(info["T"])):
            return Curves(info, standard(info["T"]), curve, known)
        shared = _matrix(grids) if not grids.null_count else None
        if shared is not None and (shared == shared[:1]).all():
            return Curves(info, shared[0], curve, known)
    return Curves(
        info, *_stack(checkpoints_of(grids, info["T"]), [_list(one) for one in lists_of(regret)]),
        known,
    )  # fmt: skip


def cells(df: pd.DataFrame) -> Iterator[Curves]:
    """The cells of a loaded sweep, in order of appearance."""
    info_columns = [name for name in df.columns if name in MANIFEST.names]
    others = [name for name in df.columns if name not in {*MANIFEST.names, *ROW_COLUMNS}]
    groups = df.groupby(CELL_KEYS, sort=False).indices
    first = df.drop_duplicates(CELL_KEYS)
    if {"checkpoints", "regret"} <= set(df.columns):
        grids, curves = df["checkpoints"].to_numpy(), df["regret"].to_numpy()
    else:  # a table of outcomes alone
        grids = curves = np.fromiter([np.empty(0)] * len(df), dtype=object, count=len(df))
    for info in first[info_columns].to_dict("records"):
        at = groups[info["cell"], info["instance"]]
        outcomes = {name: df[name].iloc[at] for name in others}
        known = {name: one.to_numpy() for name, one in outcomes.items() if one.notna().any()}
        yield Curves(info, *_stack(list(grids[at]), list(curves[at])), known)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _matrix(lists: pa.ListArray) -> NDArray[Any] | None:
    """Lists of one length as a matrix that shares their memory; None where lengths differ."""
    offsets = lists.offsets.to_numpy()
    lengths = np.diff(offsets)
    if not len(lengths) or (lengths != lengths[0]).any():
        return None
    flat = lists.values.slice(offsets[0], offsets[-1] - offsets[0]).to_numpy(zero_copy_only=False)
    return flat.reshape(len(lengths), lengths[0])


def _outcome(column: pa.ChunkedArray) -> NDArray[Any] | None:
    """An outcome column as `Curves.outcomes` has it."""
    array = _whole(column)
    if array.null_count == len(array):
        return None
    if not pa.types.is_list(array.type):
        return array.to_numpy(zero_copy_only=False)
    matrix = None if array.null_count else _matrix(array)
    if matrix is not None:
        return matrix
    return np.fromiter(lists_of(array), dtype=object, count=len(array))


def _list(one: Floats | None) -> Floats:
    return np.empty(0) if one is None else one


def _stack(grids: list[Any], curves: list[Floats]) -> tuple[NDArray[np.int64], Floats]:
    """The checkpoints all replicates share and the matrix of their regrets.

    Replicates without any are left out where others have some.
    """
    kept = [(g, c) for g, c in zip(grids, curves, strict=True) if len(g)]
    if not kept:
        return np.empty(0, np.int64), np.empty((len(grids), 0))
    grids, curves = [g for g, _ in kept], [c for _, c in kept]
    first = grids[0]
    if all(g is first for g in grids):
        return first, np.stack(curves)
    if all(len(g) == len(first) for g in grids) and (np.stack(grids) == first).all():
        return first, np.stack(curves)
    common = first
    for g in grids[1:]:
        common = np.intersect1d(common, g)
    rows = [c[np.searchsorted(g, common)] for g, c in zip(grids, curves, strict=True)]
    return common, np.stack(rows)


def parameters_of(text: Any) -> dict[str, Any]:
    """The mapping that a JSON text holds; {} where it holds none."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def bootstrap_generator(cell: str, seed: int) -> np.random.Generator:
    """The bootstrap's generator of a cell: it does not depend on the other cells."""
    return np.random.default_rng([seed, zlib.crc32(cell.encode())])
