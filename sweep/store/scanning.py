"""Columns out of many segments at once, of the rows that are wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from algos.errors import InputError, Words
from sweep.store.columns import IDENTITY, ROW_COLUMNS
from sweep.store.errors import one_line
from sweep.store.segments import ROWS
from sweep.store.store import Store

Fields = Sequence[tuple[str, pa.DataType]]


class Segments:
    """Segments of a store that are read together."""

    def __init__(self, store: Store, names: Sequence[str]) -> None:
        self.filesystem = store.place.filesystem
        self.paths = [store.place.full(f"{ROWS}/{name}") for name in names]
        options = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
        self.format = ds.ParquetFileFormat(default_fragment_scan_options=options)

    def scan(self, wanted: pc.Expression, fields: Fields, outcomes: bool = False) -> pa.Table:
        """Columns `fields` of the rows that satisfy `wanted`, and their outcome columns if asked.

        `wanted` is a condition on columns of IDENTITY and on `replicate`.
        """
        narrow = pa.schema([*IDENTITY, ("replicate", pa.int64())])
        counts = self._counts(wanted, narrow)
        footers = {path: pq.read_metadata(path, filesystem=self.filesystem) for path in counts}
        added = []
        if outcomes:
            added = _outcomes(footer.schema.to_arrow_schema() for footer in footers.values())
        schema = pa.schema([*fields, *added])
        # Filtering copies the lists: segments that are wanted as a whole are read as they are.
        whole = [path for path, count in counts.items() if footers[path].num_rows == count]
        parts = [path for path, count in counts.items() if footers[path].num_rows > count]
        tables = [schema.empty_table()]
        if whole:
            tables.append(self._dataset(whole, schema).to_table())
        if parts:
            known = {field.name for field in schema}
            filtered = pa.schema([*schema, *(field for field in narrow if field.name not in known)])
            dataset = self._dataset(parts, filtered)
            tables.append(dataset.to_table(columns=schema.names, filter=wanted))
        return pa.concat_tables(tables)

    def _dataset(self, paths: Sequence[str], schema: pa.Schema) -> ds.Dataset:
        return ds.dataset(paths, schema=schema, format=self.format, filesystem=self.filesystem)

    def _counts(self, wanted: pc.Expression, schema: pa.Schema) -> dict[str, int]:
        """The number of wanted rows of each segment that has any."""
        if not self.paths:
            return {}
        counts: Counter[str] = Counter()
        dataset = self._dataset(self.paths, schema)
        for batch in dataset.to_batches(columns=["__filename"], filter=wanted):
            if batch.num_rows:  # all of one segment
                counts[batch["__filename"][0].as_py()] += batch.num_rows
        return counts


def _outcomes(schemas: Iterable[pa.Schema]) -> list[pa.Field]:
    """The columns that families add to rows.

    Raises:
        InputError: one column has types in different segments that nothing joins.
    """
    added = {
        pa.schema([field for field in schema.remove_metadata() if field.name not in ROW_COLUMNS])
        for schema in schemas
    }
    if not added:
        return []
    try:
        # In one order, whatever the segments are called.
        return list(pa.unify_schemas(sorted(added, key=str), promote_options="permissive"))
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        got = Words("an outcome column of different types")
        raise InputError("rows", got, f"one type in all segments ({one_line(error)})") from None


def values(column: pa.ChunkedArray) -> np.ndarray:
    """A column as an array; numbers with nulls as floats with NaN, lists as arrays."""
    return list_arrays(column) if pa.types.is_list(column.type) else column.to_numpy()


def list_arrays(column: pa.ChunkedArray) -> np.ndarray:
    """A list column as an object array of numpy arrays, None for null."""
    entries: list[np.ndarray | None] = []
    for chunk in column.chunks:
        flat = chunk.flatten().to_numpy(zero_copy_only=False)
        ends = np.cumsum(pc.fill_null(chunk.value_lengths(), 0).to_numpy())
        bounds = [0, *ends.tolist()]
        entries += [flat[start:end] for start, end in pairwise(bounds)]
        for null in np.flatnonzero(chunk.is_null().to_numpy(zero_copy_only=False)) - len(chunk):
            entries[null] = None
    return np.fromiter(entries, dtype=object, count=len(entries))
