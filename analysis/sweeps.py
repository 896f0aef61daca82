"""The sweeps of a store: finding one by name, reading its manifest and configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from analysis.errors import AnalysisError, closest, one_line
from analysis.places import Place, is_url, open_place

MANIFEST_COLUMNS = [
    "cell", "stream", "seed", "replicates", "family", "algorithm", "version", "parameters",
    "instance", "instance_definition", "epsilon", "K", "N", "T", "guarantee", "anytime",
    "uses_epsilon", "doubling", "distribution", "means",
]  # fmt: skip


def find_sweep(sweep: str = "latest", store: str | Path = "results") -> Path:
    """Return the folder of a sweep named by ID, unique prefix, path or "latest".

    `latest` is the sweep whose manifest is newest. Of a sweep in a store at a URL, what the
    analysis reads is copied to a local folder first. Raises AnalysisError when the store or the
    sweep does not exist, or when a prefix fits several sweeps.
    """
    if (folder := given_folder(sweep)) is not None:
        return folder
    place = open_place(store)
    if place.local is not None and not place.local.is_dir():
        raise AnalysisError(
            f"store: {str(store)!r} is not a folder; give the folder a sweep wrote its results to"
        )
    name = _choose(str(sweep), place.sweeps(), str(store))
    return place.local / "sweeps" / name if place.local is not None else place.fetch(name)


def given_folder(sweep: str) -> Path | None:
    """Return the folder of a sweep named by its path, None if `sweep` is no such path."""
    given = Path(str(sweep))
    if (given / "manifest.parquet").is_file() and given.resolve().parent.name == "sweeps":
        return given.resolve()
    return None


def place_of(folder: Path, store: str | Path) -> Place:
    """Return the place of a sweep's rows: the store's URL, or where the sweep's folder is."""
    return open_place(store if is_url(store) else folder.parent.parent)


def _choose(sweep: str, manifests: Mapping[str, int], store: str) -> str:
    """Return the ID that `sweep` stands for among those of a store, given with their times."""
    if not manifests:
        raise AnalysisError(f"store: {store!r} holds no sweeps; run a sweep into it first")
    if sweep == "latest":
        return max(manifests, key=lambda name: manifests[name])
    if sweep in manifests:
        return sweep
    fits = sorted(name for name in manifests if sweep and name.startswith(sweep))
    if len(fits) == 1:
        return fits[0]
    if fits:
        raise AnalysisError(
            f"sweep: {sweep!r} fits {len(fits)} sweeps ({', '.join(fits[:4])}"
            f"{', …' if len(fits) > 4 else ''}); give a longer prefix"
        )
    raise AnalysisError(
        f"sweep: {sweep!r} is not in {store!r}; give an ID, a unique prefix, a path or "
        f"'latest' (it holds {', '.join(sorted(manifests)[:4])}"
        f"{', …' if len(manifests) > 4 else ''}){closest(sweep, manifests)}"
    )


def read_manifest(folder: Path) -> pd.DataFrame:
    """Return the cells of a sweep, one row each; AnalysisError if the file is damaged."""
    path = folder / "manifest.parquet"
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise AnalysisError(
            f"manifest: {str(path)!r} is damaged ({one_line(error)}); "
            "run the sweep's command again to rewrite it"
        ) from error
    missing = [name for name in MANIFEST_COLUMNS if name not in table.column_names]
    if missing or table.num_rows == 0:
        reason = f"lacks the columns {', '.join(missing)}" if missing else "has no rows"
        raise AnalysisError(
            f"manifest: {str(path)!r} {reason}; run the sweep's command again to rewrite it"
        )
    frame = table.select([c for c in MANIFEST_COLUMNS if c != "means"]).to_pandas()
    frame["means"] = list_arrays(table.column("means"))
    for name in ("K", "N"):
        frame[name] = frame[name].astype("Int64")
    frame["epsilon"] = frame["epsilon"].astype("float64")
    return frame.drop_duplicates("cell", ignore_index=True)


def describe(folder: Path, store: str) -> dict[str, Any]:
    """Return what config.yaml and command.txt say about a sweep in `store`.

    Raises AnalysisError where config.yaml or its `grid.window` cannot be used.
    """
    config: Any = None
    path = folder / "config.yaml"
    if path.is_file():
        try:
            config = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise AnalysisError(f"config: {str(path)!r} is damaged ({one_line(error)})") from error
    grid = config.get("grid") if isinstance(config, dict) else None
    grid = grid if isinstance(grid, dict) else {}
    command = folder / "command.txt"
    return {
        "id": folder.name,
        "path": str(folder),
        "store": store,
        "question": str(grid.get("question") or ""),
        "window": _window(grid.get("window"), path),
        "command": command.read_text(encoding="utf-8").strip() if command.is_file() else "",
    }


def _window(value: Any, path: Path) -> tuple[float, float] | None:
    """Return grid.window as two rounds, or None when the sweep states none."""
    if value is None:
        return None
    try:
        low, high = (float(item) for item in value)
    except (TypeError, ValueError):
        low = high = np.nan
    if not 0 < low < high:
        raise AnalysisError(
            f"grid.window: got {value!r} in {str(path)!r}; two rounds [T0, T1] with 0 < T0 < T1"
        )
    return low, high


def list_arrays(column: pa.ChunkedArray) -> np.ndarray:
    """Return a list column as an object array of numpy arrays (None for null)."""
    out = np.empty(len(column), dtype=object)
    at = 0
    for chunk in column.chunks:
        flat = chunk.flatten().to_numpy(zero_copy_only=False)
        ends = np.cumsum(pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(False))
        valid = chunk.is_valid().to_numpy(False)
        start = 0
        for i, (end, ok) in enumerate(zip(ends.tolist(), valid.tolist(), strict=True)):
            out[at + i] = flat[start:end] if ok else None
            start = end
        at += len(chunk)
    return out
