"""What W&B is given: points, tables, figures and the artifact, each marked by its content."""

import csv
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sweep.tracking.ledger import Mark

Make = Callable[[Any], dict[str, Any] | None]
"""Given a run, makes the row to log, or does the logging by itself and gives None."""

Item = tuple[Mark, Make]


def allowed(name: str) -> str:
    """A name W&B takes as an id: unchanged, or cleaned and told apart by a hash.

    Letters, digits, dot, dash and underscore stay; 64 characters at most.
    """
    clean = re.sub(r"[^A-Za-z0-9_.-]", "-", name)
    if clean == name and len(name) <= 64:
        return name
    return f"{clean[:55]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def constant(row: dict[str, Any]) -> Make:
    """An item's row that does not depend on the run."""
    return lambda run: row


def identity(row: dict[str, Any]) -> str:
    """Hash of a point; six digits of a float, so that the order of a sum does not matter."""
    parts = {
        name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _digest(name: str, paths: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(Path(path).read_bytes())
    return f"{name}:{digest.hexdigest()[:16]}"


def _table(path: str) -> Any:
    """The CSV file as a table: columns of integers or floats where every cell is one."""
    import wandb

    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    columns = [_typed(column) for column in zip(*rows, strict=True)]
    names: list[str | int] = list(header)
    return wandb.Table(columns=names, data=[list(row) for row in zip(*columns, strict=True)])


def _typed(column: tuple[str, ...]) -> list[Any]:
    for kind in (int, float):
        with suppress(ValueError):
            return [kind(cell) if cell else None for cell in column]
    return list(column)


def results(message: dict[str, Any], artifact_name: str) -> list[Item]:
    """Tables, figures and the artifact of files; each item is marked by its content."""
    import wandb

    def table(key: str, path: str) -> Item:
        return _digest(key, [path]), lambda run: {key: _table(path)}

    def figure(key: str, path: str) -> Item:
        return _digest(key, [path]), lambda run: {key: wandb.Image(path)}

    items = [table(f"tables/{name}", path) for name, path in message["tables"].items()]
    items += [figure(f"figures/{Path(path).stem}", path) for path in message["figures"]]
    files = message["files"]

    def artifact(run: Any) -> None:
        content = wandb.Artifact(artifact_name, type="sweep")
        for name, path in files.items():
            content.add_file(path, name=name, skip_cache=True)
        run.log_artifact(content)

    if files:
        items.append((_digest("files", files.values()), artifact))
    return items
