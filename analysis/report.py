"""The report of a sweep: one HTML file to send, and the figures and tables behind it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2
import matplotlib
import pandas as pd
from matplotlib.figure import Figure

from analysis import figures, growth, looks, stopping_figures, tables
from analysis import stopping as rules
from analysis.curves import cells, series_key
from analysis.errors import AnalysisError
from analysis.loading import load
from analysis.slopes import slopes
from analysis.transitions import transitions
from sweep.store.errors import one_line
from sweep.store.files import write_file
from sweep.store.sweeps import Sweep, find_sweep

LIBRARIES = ("numpy", "scipy", "pandas", "pyarrow", "matplotlib")

MAX_FAILURES = 50
"""Failed units shown in the HTML; the table on disk has all."""


@dataclass(frozen=True)
class Report:
    """What was written: the page, the figures, the tables behind both, the findings.

    html: path of report.html. figures: paths of the PNG and SVG files. tables: `summary`,
    `slopes` and `transitions` of cells with regret, `stopping` of stopping rules and, where units
    failed, `failures`. headlines: one finding a line. url: where the store at a URL has the same
    files, "" where it is left to the caller to send them there.
    """

    html: Path
    figures: list[Path] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    headlines: list[str] = field(default_factory=list)
    url: str = ""


def reuse_stamp(folder: Path) -> str:
    """Return a digest of all a complete sweep's report depends on: record, code, versions."""
    digest = hashlib.sha256()
    code = sorted(Path(__file__).parent.glob("*.[pj]*"))
    record = [folder / name for name in ("manifest.parquet", "config.yaml", "command.txt",
                                         "failures.parquet")]  # fmt: skip
    for path in [*code, *record]:
        digest.update(path.name.encode() + b"\0")
        digest.update(path.read_bytes() if path.is_file() else b"")
    digest.update(str(_versions()).encode())
    return digest.hexdigest()


def keep_report(folder: Path, report: Report, stamp: str | None) -> None:
    """Note what was written, so that `kept_report` finds it; without a stamp, forget it."""
    note = {
        "stamp": stamp,
        "headlines": report.headlines,
        "figures": [path.name for path in report.figures],
        "tables": list(report.tables),
    }
    write_file(folder / "report.json", json.dumps(note))


def kept_report(folder: Path, stamp: str) -> Report | None:
    """Return the report that was noted with this stamp, None if there is none in full."""
    try:
        note = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        if note["stamp"] != stamp or not (folder / "report.html").is_file():
            return None
        found = {name: pd.read_csv(folder / "tables" / f"{name}.csv") for name in note["tables"]}
        paths = [folder / "figures" / name for name in note["figures"]]
        if not all(path.is_file() for path in paths):
            return None
    except (OSError, ValueError, KeyError):
        return None
    for table in found.values():
        texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name])]
        table[texts] = table[texts].fillna("")
    return Report(folder / "report.html", paths, found, note["headlines"])


@dataclass(frozen=True)
class _Picture:
    """A drawn figure as the page needs it."""

    title: str
    name: str
    png: str


def write_report(
    sweep: str = "latest", store: str | Path = "results", reuse: bool = False
) -> Report:
    """Analyse a sweep and write report.html, figures/ and tables/ into its folder.

    Where the store is a URL and the sweep isn't named by its local folder, the files are written
    to a folder among the user's caches and sent to the store. With `reuse`, a report that was
    made of the same complete sweep by the same code is kept: for callers who know that no row has
    come since. `sweep` and `store` are those of `analysis.load`, which raises AnalysisError for
    input that cannot be used; so does this function when the folder cannot be written.
    """
    recorded = find_sweep(sweep, store)
    folder = recorded.folder
    stamp = reuse_stamp(folder)
    if reuse and (kept := kept_report(folder, stamp)) is not None:
        return kept
    df = load(str(folder), store)
    found: dict[str, pd.DataFrame] = {}
    headlines: list[str] = []
    fitted = slopes(df)
    if len(fitted):
        fits = transitions(df)
        found = {"summary": tables.summary(fitted, fits), "slopes": fitted, "transitions": fits}
        headlines = tables.headlines(found["summary"])
    stops = rules.stopping(df)
    if len(stops):
        found["stopping"] = stops
        headlines += rules.headlines(stops)
    failures = _failures(recorded)
    if failures is not None:
        found["failures"] = failures
    about = df.attrs["sweep"]
    if about["found"] < about["wanted"]:
        share = f"{about['found']:,} of {about['wanted']:,} replicates"
        headlines.insert(0, f"Not complete: {share} are in the store.")
    try:
        pictures, paths = _draw(folder / "figures", df, found)
        for name, table in found.items():
            write_file(folder / "tables" / f"{name}.csv", table.to_csv(index=False))
        page = _page(about, folder, found, headlines, pictures)
        html = write_file(folder / "report.html", page)
        report = Report(html, paths, found, headlines)
        keep_report(folder, report, stamp if about["found"] == about["wanted"] else None)
        files = [html, folder / "report.json", *paths]
        files += [folder / "tables" / f"{name}.csv" for name in found]
        report = replace(report, url=recorded.publish(files))
    except OSError as error:
        allowed = f"a folder that can be written ({one_line(error)})"
        raise AnalysisError("report", str(folder), allowed) from error
    return report


def _draw(
    folder: Path, df: pd.DataFrame, found: dict[str, pd.DataFrame]
) -> tuple[list[_Picture], list[Path]]:
    """Write every figure as PNG and SVG; return them for the page, and their paths."""
    pictures: list[_Picture] = []
    paths: list[Path] = []
    taken: set[str] = set()
    with matplotlib.rc_context(looks.STYLE):
        for kind, place, figure in _figures(df, found):
            stem = _slug(f"{kind}-{place}")
            name = stem
            while name in taken:
                name = f"{stem}-{len(taken)}"
            taken.add(name)
            png = _render(figure, "png")
            paths.append(write_file(folder / f"{name}.png", png))
            paths.append(write_file(folder / f"{name}.svg", _render(figure, "svg")))
            title = " ".join(str(figure.get_suptitle()).split())
            pictures.append(_Picture(title, name, base64.b64encode(png).decode("ascii")))
    return pictures, paths


def _figures(df: pd.DataFrame, found: dict[str, pd.DataFrame]) -> Iterator[tuple[str, str, Figure]]:
    """Yield (kind, place, figure) of every figure of the report."""
    if "slopes" in found:
        by_cell = {cell.info["cell"]: cell for cell in cells(df)}
        labelled = tables.with_labels(found["slopes"])
        # The fits take their labels from the slopes, so that a series has one name everywhere.
        names = {series_key(r): (r.label, r.place) for r in labelled.itertuples(index=False)}
        fits = found["transitions"].copy()
        keys = [series_key(r) for r in fits.itertuples(index=False)]
        fits["label"] = [names[key][0] for key in keys]
        fits["place"] = [names[key][1] for key in keys]
        yield from figures.draw(labelled, fits, by_cell)
        yield from growth.draw(labelled, by_cell)
    if "stopping" in found:
        yield from stopping_figures.draw(tables.with_labels(found["stopping"]))


def _render(figure: Figure, form: str) -> bytes:
    """Return a figure as the bytes of a PNG or SVG file, the same for the same figure."""
    buffer = io.BytesIO()
    clock: dict[str, Any] = {"Date": None} if form == "svg" else {}
    figure.savefig(buffer, format=form, dpi=130, metadata=clock)
    return buffer.getvalue()


def _slug(text: str) -> str:
    """Return text as a file name: letters, digits, dots, underscores and dashes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:100]


def _failures(sweep: Sweep) -> pd.DataFrame | None:
    """Return the sweep's failed units, or None when nothing failed."""
    table = sweep.failures().to_pandas()
    return table if len(table) else None


def _page(
    sweep: dict[str, Any],
    folder: Path,
    found: dict[str, pd.DataFrame],
    headlines: list[str],
    pictures: list[_Picture],
) -> str:
    """Return the HTML of the report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    config = folder / "config.yaml"
    versions = _versions()
    failures = found.get("failures", pd.DataFrame())
    # A family without cells here has no table and no words.
    fitted, fits = (found.get(name, pd.DataFrame()) for name in ("slopes", "transitions"))
    stops = found.get("stopping", pd.DataFrame())
    places = 0
    if len(fitted):
        drawn = tables.largest_horizon(fitted)
        places = drawn.groupby(tables.PLACE_KEYS, dropna=False).ngroups
    meaning = (tables.MEANING if len(fitted) else {}) | (rules.MEANING if len(stops) else {})
    return environment.get_template("report.html.j2").render(
        sweep=sweep,
        headlines=headlines,
        pictures=pictures,
        undrawn=max(0, places - figures.MAX_FIGURES_PER_KIND),
        transitions=_strings(tables.transitions_view(fits)),
        slopes=_strings(tables.slopes_view(fitted) if len(fitted) else fitted),
        stopping=_strings(rules.view(stops) if len(stops) else stops),
        failures=_strings(failures.head(MAX_FAILURES)),
        failed=len(failures),
        meaning=meaning,
        config=config.read_text(encoding="utf-8") if config.is_file() else "",
        versions=versions,
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries behind the numbers."""
    versions = {name: metadata.version(name) for name in LIBRARIES}
    return {"python": platform.python_version()} | versions


def _strings(table: pd.DataFrame) -> dict[str, Any]:
    """Return a table for the template: column names and rows of strings."""
    rows = [
        ["" if value is None or value is pd.NA else str(value) for value in row]
        for row in table.itertuples(index=False)
    ]
    return {"columns": list(table.columns), "rows": rows}
