"""Columns of the tables in a store, and what each of them means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pyarrow as pa


class Column(NamedTuple):
    """A column of a table: its name, Arrow type and meaning."""

    name: str
    type: pa.DataType
    meaning: str


STRING, INTEGER, NUMBER, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
INTEGERS, NUMBERS = pa.list_(pa.int64()), pa.list_(pa.float64())

_IDENTITY = (
    Column("cell", STRING, "identity of the cell: its stream, seed and T"),
    Column("stream", STRING, "identity of what seeds the draws: algorithm, parameters, instance"),
    Column("seed", INTEGER, "the sweep's seed"),
    Column("family", STRING, "name of the feedback model"),
    Column("algorithm", STRING, "name of the algorithm"),
    Column("version", INTEGER, "version of the algorithm's kernel"),
    Column("parameters", STRING, "the algorithm's parameters, as JSON"),
    Column("instance", STRING, "the instance by a name derived from its content"),
    Column(
        "instance_definition",
        STRING,
        "the instance's resolved content as JSON, or its address if that is longer than 4 kB",
    ),
    Column("epsilon", NUMBER, "privacy parameter ε; null for an algorithm without one"),
    Column("K", INTEGER, "number of arms or actions; null in a family without"),
    Column("N", INTEGER, "number of experts; null in a family without"),
    Column("T", INTEGER, "number of rounds"),
)
_REPLICATE = (Column("replicate", INTEGER, "number of the simulated run, from 0"),)
_CURVES = (
    Column(
        "checkpoints",
        INTEGERS,
        "rounds at which regret is recorded; null in rows where they follow from T: the ⌊2^(k/8)⌋"
        " below T, and T; empty without regret",
    ),
    Column("regret", NUMBERS, "cumulative regret at each checkpoint; empty without regret"),
)
_MANIFEST = (
    *(
        column._replace(meaning="the instance by the name that the user gave it")
        if column.name == "instance"
        else column
        for column in _IDENTITY
    ),
    Column("replicates", INTEGER, "number of replicates the sweep asks for"),
    Column("guarantee", STRING, "privacy guarantee of the algorithm"),
    Column("anytime", FLAG, "whether a curve to T begins every longer curve of its stream"),
    Column("uses_epsilon", FLAG, "whether the algorithm depends on ε"),
    Column("doubling", FLAG, "whether the algorithm works in epochs of doubling length"),
    Column("source", STRING, "paper and place in it where the algorithm is defined"),
    Column("noiseless", STRING, "algorithm that it equals without noise; null if none is listed"),
    Column("distribution", STRING, "kind of the instance"),
    Column("means", NUMBERS, "mean reward of each arm; null where the kind has none"),
    Column("sizes", STRING, "sizes of the instance by name, as JSON"),
    Column("instance_generator", STRING, "what generated the instance, as JSON"),
)
_FAILURES = (
    Column("cells", pa.list_(STRING), "the cells that lack replicates"),
    Column("stream", STRING, "their stream"),
    Column("algorithm", STRING, "name of the algorithm"),
    Column("instance", STRING, "name of the instance"),
    Column("epsilon", NUMBER, "privacy parameter ε"),
    Column("T", INTEGER, "number of rounds"),
    Column("start", INTEGER, "first replicate of the unit"),
    Column("stop", INTEGER, "the replicate after its last"),
    Column("attempts", INTEGER, "how often the unit was tried"),
    Column("error", STRING, "the last attempt's error, in one line"),
    Column("traceback", STRING, "the last attempt's traceback"),
)
_TIMINGS = (
    Column("stream", STRING, "stream of the unit"),
    Column("algorithm", STRING, "name of the algorithm"),
    Column("version", INTEGER, "version of its kernel"),
    Column("distribution", STRING, "kind of the instance"),
    Column("T", INTEGER, "number of rounds"),
    Column("start", INTEGER, "first replicate of the unit"),
    Column("stop", INTEGER, "the replicate after its last"),
    Column("seconds", NUMBER, "measured seconds"),
    Column("uncorrected", NUMBER, "expected seconds, before any measurement"),
    Column("host", STRING, "machine that played the unit"),
    Column("pid", INTEGER, "process that played it"),
    Column("finished", NUMBER, "when it ended, in seconds since 1970"),
)


def _pairs(columns: Iterable[Column]) -> tuple[tuple[str, pa.DataType], ...]:
    return tuple((column.name, column.type) for column in columns)


# What a result is of; shared by rows and manifests.
IDENTITY = _pairs(_IDENTITY)
# What every family's rows carry; lists are empty where a family has no regret.
CURVES = _pairs(_CURVES)
# A sweep's cells, with what the analysis must know of algorithm and instance: a row for each cell
# and each name under which the sweep asks for it.
MANIFEST = pa.schema(_pairs(_MANIFEST))
# Columns that manifests of version 0.1.0 lack; they are read as null.
ADDED_TO_MANIFEST = ("noiseless", "sizes", "instance_generator")
# Units that were given up.
FAILURES = pa.schema(_pairs(_FAILURES))
# What units took.
TIMINGS = pa.schema(_pairs(_TIMINGS))

# Columns of rows that every family has; whatever else a row has is its family's outcome.
ROW_COLUMNS = tuple(name for name, _ in (*IDENTITY, *_pairs(_REPLICATE), *CURVES))

# What the columns mean, by table. A family's own columns are described in the manifest's metadata.
MEANINGS: Mapping[str, Mapping[str, str]] = {
    table: {column.name: column.meaning for column in columns}
    for table, columns in {
        "rows": (*_IDENTITY, *_REPLICATE, *_CURVES),
        "manifest": _MANIFEST,
        "failures": _FAILURES,
        "timings": _TIMINGS,
    }.items()
}


def row_schema(outcome: Iterable[tuple[str, pa.DataType]]) -> pa.Schema:
    """The schema of rows whose family adds the columns `outcome`."""
    return pa.schema([*IDENTITY, *_pairs(_REPLICATE), *CURVES, *outcome])
