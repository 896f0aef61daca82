"""A synthetic results store: rows and manifest as a sweep writes them, curves of our choice."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from sweep.store.columns import MANIFEST, row_schema

AZIZE_FIG3 = [0.8, 0.1, 0.1, 0.1, 0.1]

ROWS = row_schema([("pulls", pa.list_(pa.int64()))])


def grid(T: int) -> np.ndarray:
    """The checkpoints up to T: the distinct floor(2^(k/8)) and T itself."""
    k = np.arange(int(8 * np.log2(T)) + 2)
    points = np.unique(np.floor(2.0 ** (k / 8)).astype(np.int64))
    return np.append(points[points < T], T)


def write_table(path: Path, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
    """Write rows as a Parquet file; what a row lacks is null."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)


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
    label: str | None = None
    write_rows: bool = True

    def record(self) -> dict[str, Any]:
        """What the manifest says about the cell; `instance` is its name there."""
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
            "instance": self.label or self.instance,
            "instance_definition": definition,
            "epsilon": self.epsilon,
            "K": len(self.means) if self.means else None,
            "N": None,
            "T": self.T,
            "guarantee": "none" if self.epsilon is None else "ε-DP",
            "anytime": self.anytime,
            "uses_epsilon": self.epsilon is not None,
            "doubling": self.doubling,
            "source": "Anon 2024, Algorithm 1",
            "noiseless": None,
            "distribution": self.distribution,
            "means": self.means,
            "sizes": json.dumps({"K": len(self.means)} if self.means else {}),
            "instance_generator": definition,
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
                | {"instance": plan.instance, "replicate": r}
                | {"checkpoints": points, "regret": curve, "pulls": [1] * len(plan.means or [1])}
                for r, curve in enumerate(plan.regret)
            ]
    if rows:
        write_table(store / "rows" / f"{sweep}.parquet", ROWS, rows)
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
