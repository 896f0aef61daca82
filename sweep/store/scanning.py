"""Where in a store the rows of cells are, from the narrow columns of its segments alone.

Rows of a cell mostly stand one after the other, so what is kept of them are spans: 24 bytes for
each stretch of a row group in which the replicates of a cell follow each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from algos.errors import InputError, Words
from sweep.store import segments
from sweep.store.columns import CURVES, ROW_COLUMNS
from sweep.store.errors import one_line
from sweep.store.places import Place
from sweep.store.segments import ROWS, DamageError

OPEN = 8  # segments that are scanned at a time
WIDTH = 8  # decoded bytes of a number

SPAN = np.dtype([(name, np.int32) for name in ("cell", "first", "count", "part", "row", "longer")])
"""Rows `row` … `row + count - 1` of part `part` are replicates `first` … of the cell `cell`.

`longer` is 0; of a longer run, from which the cell's rows can be cut, one more than its number.
"""

Result = TypeVar("Result")

Numbering = Callable[[pa.Table], np.ndarray]
"""The number of what each row of a table is of, int64 (rows,); -1 for rows that aren't wanted."""


class Part(NamedTuple):
    """A row group: its segment's name, its number there, the decoded bytes of one of its rows."""

    segment: str
    group: int
    bytes: float


class Found(NamedTuple):
    """Spans, the parts that they are in, and the outcome columns of these parts' segments."""

    spans: np.ndarray
    parts: list[Part]
    outcomes: set[pa.Schema]


def scan(
    place: Place,
    names: Sequence[str],
    columns: Sequence[str],
    number: Numbering,
    target: np.ndarray | int,
) -> Found:
    """The spans of all rows that are wanted; `cell` is the number that `number` gives.

    Args:
        place: the store's.
        names: its segments.
        columns: what `number` is asked with, beside `replicate`; texts come as dictionaries.
        number: what a row is of.
        target: replicates wanted, of each number (int64) or of all; further ones are left out.

    Raises:
        InputError: a segment is damaged or can't be read.
        VanishedError: a segment is not there any more.
    """

    def one(name: str) -> Found:
        return read(place, name, lambda source: _scan(source, name, columns, number, target))

    with ThreadPoolExecutor(OPEN) as threads:
        return merged(threads.map(one, names))


def merged(found: Iterable[Found]) -> Found:
    """All of it together."""
    spans, parts, outcomes = [np.empty(0, SPAN)], list[Part](), set[pa.Schema]()
    for one in found:
        one.spans["part"] += len(parts)
        spans.append(one.spans)
        parts += one.parts
        outcomes |= one.outcomes
    return Found(np.concatenate(spans), parts, outcomes)


def read(place: Place, name: str, parse: Callable[[pa.NativeFile], Result]) -> Result:
    """`parse` a segment of rows.

    Raises:
        InputError: it is damaged or can't be read.
        VanishedError: it is not there any more.
    """
    try:
        return segments.attempt(place, ROWS, name, parse)
    except DamageError as error:
        raise InputError(
            "rows",
            Words("a damaged segment"),
            f"sound segments; {ROWS}/{name} is damaged ({error}): run the sweep again, which"
            " sets it aside and computes its rows anew",
        ) from error


def _scan(
    source: pa.NativeFile,
    name: str,
    columns: Sequence[str],
    number: Numbering,
    target: np.ndarray | int,
) -> Found:
    """The spans of one segment."""
    columns = list(dict.fromkeys([*columns, "replicate"]))
    with pq.ParquetFile(
        source, page_checksum_verification=True, read_dictionary=["cell", "stream"]
    ) as file:
        schema = file.schema_arrow.remove_metadata()
        lacking = [column for column in columns if column not in schema.names]
        if lacking:
            raise DamageError(f"it lacks the columns {', '.join(lacking)}")
        spans = [np.empty(0, SPAN)]
        parts: list[Part] = []
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=columns)
            if any(table[column].null_count for column in columns):
                raise DamageError(f"it has rows without {' or '.join(columns)}")
            found = _spans(number(table), table["replicate"].to_numpy(), target)
            if len(found):
                found["part"] = len(parts)
                spans.append(found)
                parts.append(Part(name, group, _row_bytes(file.metadata.row_group(group))))
    outcomes = [field for field in schema if field.name not in ROW_COLUMNS]
    return Found(np.concatenate(spans), parts, {pa.schema(outcomes)} if parts else set())


def _spans(number: np.ndarray, replicate: np.ndarray, target: np.ndarray | int) -> np.ndarray:
    """The spans of a row group; `part` is left to the caller."""
    limit = target if isinstance(target, int) else target[number]
    rows = np.flatnonzero((number >= 0) & (replicate < limit))
    number, replicate = number[rows], replicate[rows]
    again = (np.diff(number) != 0) | (np.diff(replicate) != 1) | (np.diff(rows) != 1)
    heads = np.flatnonzero(np.concatenate([[len(rows) > 0], again]))
    found = np.zeros(len(heads), SPAN)
    found["cell"], found["first"], found["row"] = number[heads], replicate[heads], rows[heads]
    found["count"] = np.diff(heads, append=len(rows))
    return found


def _row_bytes(group: pq.RowGroupMetaData) -> float:
    """The decoded bytes of a row, of the columns that are not the same for all rows of a cell."""
    wide = {name for name, _ in CURVES}
    total = 0
    for number in range(group.num_columns):
        column = group.column(number)
        root = column.path_in_schema.partition(".")[0]
        if root in wide or root not in ROW_COLUMNS:
            total += WIDTH * column.num_values
    return total / max(1, group.num_rows)


def codes(column: pa.ChunkedArray, known: Mapping[str, int]) -> np.ndarray:
    """The number that each entry of a column of texts has in `known`, int64; -1 for none."""
    parts = [np.empty(0, np.int64)]
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        numbers = [known.get(text, -1) for text in encoded.dictionary.to_pylist()]
        parts.append(np.array(numbers, np.int64)[encoded.indices.to_numpy()])
    return np.concatenate(parts)


def outcome_fields(schemas: Iterable[pa.Schema]) -> list[pa.Field]:
    """The columns that families add to rows.

    Raises:
        InputError: one column has types in different segments that nothing joins.
    """
    added = list(schemas)
    if not added:
        return []
    try:
        # In one order, whatever the segments are called.
        return list(pa.unify_schemas(sorted(added, key=str), promote_options="permissive"))
    except (pa.ArrowTypeError, pa.ArrowInvalid) as error:
        got = Words("an outcome column of different types")
        raise InputError("rows", got, f"one type in all segments ({one_line(error)})") from None
