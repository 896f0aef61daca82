"""Writing the report of a sweep: chapters first, their figures drawn meanwhile, then the files."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from algos.errors import InputError
from analysis.chapter import Chapter, Data, Figure
from analysis.chapters import ask_chapters, find_chapters, write_chapter
from analysis.crew import cores
from analysis.measuring import begin
from analysis.progress import Progress, silent
from analysis.rendering import Studio
from analysis.report import page
from analysis.report.record import Report, kept_report, note_of, reuse_stamp
from analysis.stored import Stored, crew_for
from sweep.store import find_sweep
from sweep.store.errors import one_line
from sweep.store.files import write_atomically, write_file


def write_report(
    sweep: str = "latest",
    store: str | Path = "results",
    reuse: bool = False,
    plugins: Iterable[str] = (),
    progress: Progress = silent,
    processes: int | None = None,
) -> Report:
    """Analyse a sweep and write report.html, figures/ and tables/ into its folder.

    Where the store is a URL and the sweep isn't named by its local folder, the files are written
    to a folder among the user's caches and sent to the store.

    Args:
        sweep: an ID, a unique prefix of one, the sweep's folder, or "latest".
        store: the results store, a folder or a URL.
        reuse: whether a report is kept that was made of the same complete sweep by the same code:
            for callers who know that no row has come since.
        plugins: names of modules with a chapter of their own (`analysis.chapter`).
        progress: told what is being done, and what share of it is.
        processes: how many may measure cells; by default as many as this process may use cores.
            The results do not depend on it.

    Raises:
        InputError: for input that cannot be used, and where the folder cannot be written.
    """
    plugins = list(dict.fromkeys(plugins))
    found = find_sweep(sweep, store)
    folder = found.folder
    stamp = reuse_stamp(folder, plugins)
    if reuse and (kept := kept_report(folder, stamp)) is not None:
        return kept
    if plugins:  # a name that can't be used is refused before any work
        find_chapters(plugins)
    whole = found.manifest()
    with (
        Studio() as studio,
        crew_for(whole, processes or cores()) as crew,
        ThreadPoolExecutor(1) as beside,
    ):
        script = studio.library()
        crew.prepare(begin)
        opening = beside.submit(Stored, found, whole, crew)
        modules = find_chapters(plugins)  # figures take long to import
        data = Data(opening.result(), found.failures().to_pandas(), progress)
        failed = ask_chapters(modules, data)
        draft = _draft(data, modules, failed, studio)
        try:
            report = _write(draft, data, folder, script, progress)
            complete = data.sweep["found"] == data.sweep["wanted"] and not draft.failed
            write_file(folder / "report.json", note_of(report, stamp if complete else None))
            return replace(report, url=found.publish(_files(report, folder)))
        except OSError as error:
            allowed = f"a folder that can be written ({one_line(error)})"
            raise InputError("report", str(folder), allowed) from error


@dataclass
class _Drawn:
    """A figure on its way: its specification, and its files, still being drawn."""

    name: str
    spec: dict[str, Any]
    files: Future[dict[str, bytes]]


@dataclass
class _Draft:
    """Chapters and, in the place of those that failed, a line on why; figures of all of them."""

    sections: list[Chapter | str] = field(default_factory=list)
    drawn: list[_Drawn] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    @property
    def chapters(self) -> list[Chapter]:
        """The chapters that did not fail."""
        return [one for one in self.sections if isinstance(one, Chapter)]


def _draft(
    data: Data, modules: Iterable[ModuleType], failed: Mapping[str, str], studio: Studio
) -> _Draft:
    """Ask every chapter for what it has to say, and begin to draw its figures.

    `failed` has a line for each chapter that failed already.
    """
    draft = _Draft()
    for module in modules:
        taken = [chapter.name for chapter in draft.chapters]
        made = failed.get(module.__name__) or write_chapter(module, data, taken)
        if made is None:
            continue
        draft.sections.append(made)
        if isinstance(made, str):
            draft.failed.append(made)
            continue
        for figure in made.figures:
            _begin(figure, draft, studio)
    return draft


def _begin(figure: Figure, draft: _Draft, studio: Studio) -> None:
    """Begin to draw a figure, under a name that no other has."""
    taken = {one.name for one in draft.drawn}
    numbered = (f"{figure.stem}-{i}" for i in itertools.count(2))
    name = next(one for one in itertools.chain([figure.stem], numbered) if one not in taken)
    try:
        spec = figure.chart.to_dict(validate=False)
        draft.drawn.append(_Drawn(name, spec, studio.still(spec)))
    except Exception as error:
        draft.failed.append(_figure_failed(name, error))


def _write(
    draft: _Draft, data: Data, folder: Path, script: Future[str], progress: Progress
) -> Report:
    """Write figures, tables and the page."""
    figures: list[Path] = []
    pictures: list[page.Picture] = []
    for i, one in enumerate(draft.drawn):
        progress("drawing figures", i / len(draft.drawn))
        try:
            files = one.files.result()
        except Exception as error:
            draft.failed.append(_figure_failed(one.name, error))
            continue
        named = {form: folder / "figures" / f"{one.name}.{form}" for form in files}
        figures += [write_file(path, files[form]) for form, path in named.items()]
        pictures.append(page.Picture(one.name, one.spec, files["svg"]))
    tables = {chapter.name: chapter.table for chapter in draft.chapters}
    progress("writing tables and page", 0.0)
    for name, table in tables.items():
        _write_csv(table, folder / "tables" / f"{name}.csv")
    library = _library(script, draft) if pictures else ""
    warnings = list(draft.failed)
    if data.sweep["found"] < data.sweep["wanted"]:
        share = f"{data.sweep['found']:,} of {data.sweep['wanted']:,} replicates"
        warnings.insert(0, f"Not complete: {share} are in the store.")
    report = Report(
        html=folder / "report.html",
        figures=figures,
        tables=tables,
        headlines=[line for chapter in draft.chapters for line in chapter.headlines],
        overviews=[table for chapter in draft.chapters for table in chapter.overviews],
        warnings=warnings,
    )
    text = page.render(data, report, draft.sections, pictures, library, folder)
    write_file(report.html, text)
    return report


def _write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as a whole, without holding its text in memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda temporary: table.to_csv(temporary, index=False))


def _library(script: Future[str], draft: _Draft) -> str:
    """The JavaScript that draws; "" where there is none, since every figure is there still."""
    try:
        return script.result()
    except Exception as error:
        reason = f"{type(error).__name__}: {one_line(error)}"
        draft.failed.append(f"The figures of the page do not answer to the mouse: {reason}")
        return ""


def _figure_failed(name: str, error: BaseException) -> str:
    return f"The figure {name} failed: {type(error).__name__}: {one_line(error)}"


def _files(report: Report, folder: Path) -> Iterator[Path]:
    """Every file of a report."""
    yield from (report.html, folder / "report.json", *report.figures)
    yield from (folder / "tables" / f"{name}.csv" for name in report.tables)
