"""What was written, and how a later call finds that it still holds."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import pandas as pd

from analysis.chapter import Overview
from sweep.store.sweeps import RECORD

LIBRARIES = ("numpy", "scipy", "pandas", "pyarrow", "altair", "vl-convert-python")


@dataclass(frozen=True, repr=False)
class Report:
    """A written report.

    Attributes:
        html: path of report.html.
        figures: paths of the PNG, SVG and PDF files.
        tables: one per chapter, by its name.
        headlines: the findings, a sentence each.
        url: where the store at a URL has the same files; "" where it is left to the caller to
            send them there.
        overviews: the chapters' tables for a terminal.
        warnings: what is missing: replicates, chapters that failed.
    """

    html: Path
    figures: list[Path] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    headlines: list[str] = field(default_factory=list)
    url: str = ""
    overviews: list[Overview] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        tables = ", ".join(f"{name} ({len(table)})" for name, table in self.tables.items())
        lines = [
            f"Report: {self.html}",
            *([f"  at {self.url}"] if self.url else []),
            f"  {len(self.figures)} files of figures",
            f"  tables (rows): {tables or 'none'}",
            *(f"  {line}" for line in self.headlines),
        ]
        return "\n".join(lines)


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries behind the numbers."""
    found = {name: metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version()} | found


def reuse_stamp(folder: Path, plugins: Iterable[str] = ()) -> str:
    """A digest of all a complete sweep's report depends on: record, code, versions, plugins."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    code = (path for path in package.rglob("*") if path.suffix in (".py", ".j2"))
    named = [(path.relative_to(package).as_posix(), path) for path in sorted(code)]
    for name, path in [*named, *((name, folder / name) for name in RECORD)]:
        content = path.read_bytes() if path.is_file() else b""
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    for name in sorted(plugins):
        digest.update(f"{name}\0".encode() + _source(name))
    digest.update(json.dumps(versions()).encode())
    return digest.hexdigest()


def note_of(report: Report, stamp: str | None) -> str:
    """The note, as JSON, by which `kept_report` finds this report; without a stamp it does not."""
    return json.dumps(
        {
            "stamp": stamp,
            "headlines": report.headlines,
            "warnings": report.warnings,
            "figures": [path.name for path in report.figures],
            "tables": list(report.tables),
            "overviews": [
                {
                    "title": one.title,
                    "notes": list(one.notes),
                    "columns": list(one.table.columns),
                    "rows": one.table.astype(str).to_numpy().tolist(),
                }
                for one in report.overviews
            ],
        }
    )


def kept_report(folder: Path, stamp: str) -> Report | None:
    """The report that was noted with this stamp; None if there is none in full."""
    try:
        note = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        if note["stamp"] != stamp or not (folder / "report.html").is_file():
            return None
        tables = {name: _read(folder / "tables" / f"{name}.csv") for name in note["tables"]}
        paths = [folder / "figures" / name for name in note["figures"]]
        if not all(path.is_file() for path in paths):
            return None
        overviews = [
            Overview(one["title"], pd.DataFrame(one["rows"], columns=one["columns"]), one["notes"])
            for one in note["overviews"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Report(
        folder / "report.html", paths, tables, note["headlines"], "", overviews, note["warnings"]
    )


def _source(plugin: str) -> bytes:
    """The code of a plugin's module, b"" where there is none to be found."""
    try:
        spec = importlib.util.find_spec(plugin)
        return Path(spec.origin).read_bytes() if spec and spec.origin else b""
    except (ImportError, ValueError, OSError):
        return b""


def _read(path: Path) -> pd.DataFrame:
    """A table from its CSV file; empty texts are empty, not missing."""
    table = pd.read_csv(path)
    texts: Sequence[str] = [
        name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])
    ]
    table[texts] = table[texts].fillna("")
    return table
