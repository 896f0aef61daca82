"""From a store to one table: the rows of a sweep and nothing else.

A store is shared by many sweeps. A first pass reads only the column `cell` to find the segments
that hold this sweep's cells; the wide columns are then read from those segments alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from analysis.errors import AnalysisError, one_line
from analysis.places import UNREADABLE, Place
from analysis.sweeps import describe, find_sweep, list_arrays, place_of, read_manifest

ATTEMPTS = 5
"""Readings of a store whose segments are being replaced by a compaction."""

SCALARS = {"stop_time": pa.int64(), "estimate": pa.float64(), "halted": pa.bool_()}
"""Outcome columns of families whose rows carry numbers in place of curves."""

ROW_SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("stream", pa.string()),
        ("seed", pa.int64()),
        ("replicate", pa.int64()),
        ("T", pa.int64()),
        ("checkpoints", pa.list_(pa.int64())),
        ("regret", pa.list_(pa.float64())),
        ("pulls", pa.list_(pa.int64())),
        *SCALARS.items(),
    ]
)


def load(sweep: str = "latest", store: str | Path = "results") -> pd.DataFrame:
    """Return a sweep's results, one row per cell and replicate, in the manifest's order.

    Columns: the manifest's (the swept values and the algorithm's metadata), `replicate`, and as
    numpy arrays `checkpoints` (rounds, shape (m,)), `regret` (cumulative, shape (m,)) and
    `pulls` (None where the family records none). In a sweep with stopping rules also their
    `stop_time`, `estimate` and `halted`; the arrays of such rows have length 0. Replicates beyond
    those the sweep asked for and duplicated rows are left out. An anytime cell without rows of its
    own is cut from a longer run of the same stream, seed and replicate, whose beginning it is.

    `df.attrs["sweep"]` is a dict: id, path, store, question, window, command, cells (number in
    the manifest), wanted and found (numbers of rows).

    Raises AnalysisError for an unknown sweep, a missing store, a damaged manifest or segment,
    and a sweep without any rows.
    """
    folder = find_sweep(sweep, store)
    place = place_of(folder, store)
    manifest = read_manifest(folder)
    rows = _read_rows(place, manifest)
    position = pd.Series(np.arange(len(manifest)), index=manifest["cell"])
    rows["position"] = position.loc[rows["cell"]].to_numpy()
    wanted = manifest["replicates"].to_numpy()[rows["position"].to_numpy()]
    rows = rows[rows["replicate"].to_numpy() < wanted]
    rows = rows.drop_duplicates(["position", "replicate"])
    rows = rows.sort_values(["position", "replicate"], kind="stable")
    total = int(manifest["replicates"].sum())
    if rows.empty:
        raise AnalysisError(
            f"sweep: {folder.name!r} has no rows yet (0 of {total} in {f'{place.root}/rows'!r}); "
            "run it, or wait for its first results"
        )
    df = manifest.take(rows["position"].to_numpy()).reset_index(drop=True)
    for name in ("replicate", "checkpoints", "regret", "pulls"):
        df[name] = rows[name].to_numpy()
    for name in SCALARS:
        if rows[name].notna().any():
            df[name] = rows[name].to_numpy()
    df.attrs["sweep"] = describe(folder, place.root) | {
        "cells": len(manifest),
        "wanted": total,
        "found": len(rows),
    }
    return df


def _read_rows(place: Place, manifest: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the manifest's cells, duplicates included."""
    cells = pa.array(manifest["cell"], pa.string())
    for _ in range(ATTEMPTS):
        files: list[str] = []
        try:
            files = place.segments()
            segments = Segments(place, files)
            own = segments.scan(pc.field("cell").isin(cells))
            longer = _cut_longer_runs(segments, manifest, own)
            break
        except UNREADABLE as error:
            if not _gone(place, files):
                raise _damaged(place, files, error) from error
    else:
        raise AnalysisError(
            f"rows: the segments of {place.root!r} were replaced while they were read,"
            f" {ATTEMPTS} times; try again when no compaction runs"
        )
    rows = pd.concat([own, longer], ignore_index=True) if len(longer) else own
    bad = rows["regret"].isna() | rows["checkpoints"].isna()
    if bad.any():
        cell = rows.loc[bad, "cell"].iloc[0]
        raise AnalysisError(
            f"rows: cell {cell} has a row without regret or checkpoints in "
            f"{f'{place.root}/rows'!r}; every row needs both"
        )
    return rows


class Segments:
    """Segments that are read together; every page is checked as it is read."""

    def __init__(self, place: Place, files: list[str]) -> None:
        self.place, self.files = place, files
        options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        self._format = ds.ParquetFileFormat(default_fragment_scan_options=options)

    def _dataset(self, files: list[str]) -> ds.Dataset:
        filesystem = self.place.filesystem
        return ds.dataset(files, schema=ROW_SCHEMA, format=self._format, filesystem=filesystem)

    def scan(self, wanted: pc.Expression) -> pd.DataFrame:
        """Return the rows that satisfy `wanted`, list columns as arrays."""
        counts: dict[str, int] = {}
        if self.files:
            narrow = self._dataset(self.files).to_table(columns=["__filename"], filter=wanted)
            names = narrow.column("__filename").value_counts()
            counts = {str(c["values"]): c["counts"].as_py() for c in names}
        if not counts:
            return pd.DataFrame({name: [] for name in ROW_SCHEMA.names})
        # Filtering copies the lists: segments that are wanted as a whole are read as they are.
        whole = [name for name, count in counts.items() if self._rows(name) == count]
        parts = [name for name in counts if name not in set(whole)]
        table = pa.concat_tables(
            self._dataset(names).to_table(filter=condition)
            for names, condition in ((whole, None), (parts, wanted))
            if names
        )
        frame = table.select(["cell", "stream", "seed", "replicate", "T", *SCALARS]).to_pandas()
        for name in ("checkpoints", "regret", "pulls"):
            frame[name] = list_arrays(table.column(name))
        return frame

    def _rows(self, name: str) -> int:
        return int(pq.read_metadata(name, filesystem=self.place.filesystem).num_rows)


def _cut_longer_runs(segments: Segments, manifest: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return rows for anytime cells with missing replicates, cut from longer runs.

    For an anytime algorithm the curve to T is the start of every longer curve of the same
    stream, seed and replicate. The pulls of a cut row are None: they were counted at the end. A
    stopping rule that halted later than at T has not halted at T.
    """
    have = own[["cell", "replicate"]].drop_duplicates()
    counts = have.groupby("cell").size().reindex(manifest["cell"], fill_value=0).to_numpy()
    short = manifest[manifest["anytime"].to_numpy(bool) & (counts < manifest["replicates"])]
    if short.empty:
        return own.iloc[:0]
    streams = pa.array(short["stream"].unique(), pa.string())
    wanted = pc.field("stream").isin(streams) & (pc.field("T") > int(short["T"].min()))
    longer = segments.scan(wanted)
    if longer.empty:
        return longer
    pairs = longer.merge(short[["stream", "seed", "cell", "T"]], on=["stream", "seed"])
    keep = []
    for row in pairs.itertuples(index=False):
        if row.T_x <= row.T_y:
            continue
        end = np.searchsorted(row.checkpoints, row.T_y)
        cut = (row.cell_y, row.stream, row.seed, row.replicate, row.T_y,
               row.checkpoints[: end + 1], row.regret[: end + 1], None)  # fmt: skip
        if not len(row.checkpoints):
            halted = bool(row.halted) and row.stop_time <= row.T_y
            estimate = row.estimate if halted else np.nan
            keep.append((*cut, min(row.stop_time, row.T_y), estimate, halted))
        elif row.checkpoints[end] == row.T_y:
            keep.append((*cut, None, None, None))
    return pd.DataFrame(keep, columns=ROW_SCHEMA.names)


def _gone(place: Place, files: list[str]) -> bool:
    """Return whether some of these segments are not there any more."""
    try:
        return not set(files) <= set(place.segments())
    except UNREADABLE:
        return False


def _damaged(place: Place, files: list[str], error: BaseException) -> AnalysisError:
    """Return the error that names the segment which cannot be read."""
    for path in files:
        try:
            content = pa.BufferReader(place.read(path))
        except UNREADABLE as found:
            return AnalysisError(f"rows: segment {path!r} cannot be read ({one_line(found)})")
        try:
            with pq.ParquetFile(content, page_checksum_verification=True) as segment:
                segment.read()
        except UNREADABLE as found:
            return AnalysisError(
                f"rows: segment {path!r} is damaged ({one_line(found)}); run the sweep again: it"
                " sets the segment aside, and the rows it held are computed anew"
            )
    return AnalysisError(f"rows: {place.root!r} cannot be read ({one_line(error)})")
