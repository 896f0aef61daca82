"""Columns of the tables in a store."""

from __future__ import annotations

import pyarrow as pa

# What a result is of; shared by rows and manifests.
IDENTITY = (
    ("cell", pa.string()),
    ("stream", pa.string()),
    ("seed", pa.int64()),
    ("family", pa.string()),
    ("algorithm", pa.string()),
    ("version", pa.int64()),
    ("parameters", pa.string()),
    ("instance", pa.string()),
    ("instance_definition", pa.string()),
    ("epsilon", pa.float64()),
    ("K", pa.int64()),
    ("N", pa.int64()),
    ("T", pa.int64()),
)

# What every family's rows carry; lists are empty where a family has no regret.
CURVES = (
    ("checkpoints", pa.list_(pa.int64())),
    ("regret", pa.list_(pa.float64())),
)

# A sweep's cells, with what the analysis must know of algorithm and instance.
MANIFEST = pa.schema(
    [
        *IDENTITY,
        ("replicates", pa.int64()),
        ("guarantee", pa.string()),
        ("anytime", pa.bool_()),
        ("uses_epsilon", pa.bool_()),
        ("doubling", pa.bool_()),
        ("source", pa.string()),
        ("distribution", pa.string()),
        ("means", pa.list_(pa.float64())),
    ]
)

# Units that were given up.
FAILURES = pa.schema(
    [
        ("cells", pa.list_(pa.string())),
        ("stream", pa.string()),
        ("algorithm", pa.string()),
        ("instance", pa.string()),
        ("epsilon", pa.float64()),
        ("T", pa.int64()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("attempts", pa.int64()),
        ("error", pa.string()),
        ("traceback", pa.string()),
    ]
)

# What a unit took: `seconds` measured, `uncorrected` expected; `finished` in seconds since 1970.
TIMINGS = pa.schema(
    [
        ("stream", pa.string()),
        ("algorithm", pa.string()),
        ("version", pa.int64()),
        ("distribution", pa.string()),
        ("T", pa.int64()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("seconds", pa.float64()),
        ("uncorrected", pa.float64()),
        ("host", pa.string()),
        ("pid", pa.int64()),
        ("finished", pa.float64()),
    ]
)
