"""A synthetic results store: rows and manifest as a sweep writes them, curves of our choice."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

AZIZE_FIG3 = [0.8, 0.1, 0.1, 0.1, 0.1]

LISTS = {
    "checkpoints": pa.list_(pa.int64()),
    "regret": pa.list_(pa.float64()),
    "pulls": pa.list_(pa.int64()),
    "means": pa.list_(pa.float64()),
}
TYPES = {
    "seed": pa.int64(),
    "replicate": pa.int64(),
    "replicates": pa.int64(),
    "version": pa.int64(),
    "epsilon": pa.float64(),
    "K": pa.int64(),
    "N": pa.int64(),
    "T": pa.int64(),
    "anytime": pa.bool_(),
    "uses_epsilon": pa.bool_(),
    "doubling": pa.bool_(),
} | LISTS

CELL = [
    "cell", "stream", "seed", "family", "algorithm", "version", "parameters", "instance",
    "instance_definition", "epsilon", "K", "N", "T",
]  # fmt: skip
ROW = [*CELL, "replicate", "checkpoints", "regret", "pulls"]
MANIFEST = [
    *CELL, "replicates", "guarantee", "anytime", "uses_epsilon", "doubling", "distribution",
    "means",
]  # fmt: skip


def grid(T: int) -> np.ndarray:
    """The checkpoints up to T: the distinct floor(2^(k/8)) and T itself."""
    k = np.arange(int(8 * np.log2(T)) + 2)
    points = np.unique(np.floor(2.0 ** (k / 8)).astype(np.int64))
    return np.append(points[points < T], T)


def write_table(path: Path, columns: Sequence[str], rows: list[dict[str, Any]]) -> None:
    """Write rows as a Parquet file with the store's types."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([(name, TYPES.get(name, pa.string())) for name in columns])
    arrays = [
        pa.array([row.get(name) for row in rows], TYPES.get(name, pa.string())) for name in columns
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path)


@dataclass
class Plan:
    """One cell and the curves of its replicates: `regret` has shape (rows, checkpoints)."""

    regret: np.ndarray
    T: int = 10**6
    epsilon: float | None = 1.0
    algorithm: str = "adap_ucb"
    instance: str = "azize_fig3"
    means: list[float] | None = field(default_factory=lambda: list(AZIZE_FIG3))
    doubling: bool = True
    anytime: bool = True
    replicates: int | None = None
    seed: int = 0
    family: str = "bandit"
    distribution: str = "bernoulli"
    write_rows: bool = True

    def record(self) -> dict[str, Any]:
        """What the manifest and the rows say about the cell."""
        definition = json.dumps({"means": self.means, "name": self.distribution})
        key = [self.algorithm, definition, str(self.epsilon)]
        stream = hashlib.md5("|".join(key).encode()).hexdigest()
        cell = hashlib.md5(f"{stream}|{self.seed}|{self.T}".encode()).hexdigest()
        return {
            "cell": cell,
            "stream": stream,
            "seed": self.seed,
            "replicates": self.replicates or len(self.regret),
            "family": self.family,
            "algorithm": self.algorithm,
            "version": 1,
            "parameters": "{}",
            "instance": self.instance,
            "instance_definition": definition,
            "epsilon": self.epsilon,
            "K": len(self.means) if self.means else None,
            "N": None,
            "T": self.T,
            "guarantee": "none" if self.epsilon is None else "ε-DP",
            "anytime": self.anytime,
            "uses_epsilon": self.epsilon is not None,
            "doubling": self.doubling,
            "distribution": self.distribution,
            "means": self.means,
        }


def write_sweep(
    store: Path,
    plans: list[Plan],
    sweep: str = "demo-0123abcd",
    *,
    config: dict[str, Any] | None = None,
    mtime: float | None = None,
) -> Path:
    """Write a sweep's folder and its rows, one segment per sweep; return the folder."""
    rows = []
    for plan in plans:
        record = plan.record()
        points = grid(plan.T)
        assert plan.regret.shape[1] == len(points)
        if plan.write_rows:
            rows += [
                record
                | {"replicate": r, "checkpoints": points, "regret": curve}
                | {"pulls": [1] * len(plan.means or [1])}
                for r, curve in enumerate(plan.regret)
            ]
    if rows:
        write_table(store / "rows" / f"{sweep}.parquet", ROW, rows)
    folder = store / "sweeps" / sweep
    write_table(folder / "manifest.parquet", MANIFEST, [plan.record() for plan in plans])
    (folder / "config.yaml").write_text(yaml.safe_dump(config or {"grid": {}}))
    (folder / "command.txt").write_text("python -m sweep +grid=demo\n")
    if mtime is not None:
        os.utime(folder / "manifest.parquet", (mtime, mtime))
    return folder


@pytest.fixture(scope="session")
def synthetic() -> SimpleNamespace:
    """The builders of this file, without importing a conftest: Plan, grid, write_sweep."""
    return SimpleNamespace(Plan=Plan, grid=grid, write_sweep=write_sweep)
