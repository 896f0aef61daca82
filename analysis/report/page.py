"""The page of a report: one HTML file with everything inside, readable without scripts."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from analysis.chapter import Chapter, Data
from analysis.rendering import embedded
from analysis.report.record import Report, versions
from analysis.selection import selected, selection_note
from sweep.store.columns import MEANINGS
from sweep.store.sweeps import CONFIG_FILE

OPEN_ROWS = 30
"""A longer table is folded."""


@dataclass(frozen=True)
class Picture:
    """A figure for the page: the name of its files, its specification, and the still SVG."""

    name: str
    spec: dict[str, Any]
    svg: bytes

    @property
    def title(self) -> str:
        """Its title on one line, for readers who cannot see it."""
        title = self.spec.get("title", self.name)
        text = title.get("text", self.name) if isinstance(title, dict) else title
        return text if isinstance(text, str) else " ".join(map(str, text))

    @property
    def source(self) -> str:
        """The SVG as the address of an image, in which no script runs."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode("ascii")

    @property
    def json(self) -> str:
        """The specification as JSON for a <script> element."""
        return embedded(self.spec)


def render(
    data: Data,
    report: Report,
    sections: Sequence[Chapter | str],
    pictures: Sequence[Picture],
    library: str,
    folder: Path,
) -> str:
    """The HTML of a report.

    Args:
        data: the sweep.
        report: its findings and warnings.
        sections: the chapters, and lines in the place of those that failed.
        pictures: the figures.
        library: the JavaScript that draws them, "" for stills alone.
        folder: the sweep's, for its configuration.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("analysis.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    config = folder / CONFIG_FILE
    chapters = [one for one in sections if isinstance(one, Chapter)]
    return environment.get_template("report.html.j2").render(
        sweep=data.sweep,
        report=report,
        sections=[_shortened(one) if isinstance(one, Chapter) else one for one in sections],
        pictures=pictures,
        library=library,
        strings=strings,
        open_rows=OPEN_ROWS,
        glossary=glossary(chapters, data.families),
        config=config.read_text(encoding="utf-8") if config.is_file() else "",
        versions=versions(),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _shortened(chapter: Chapter) -> Chapter:
    """The chapter with a view that the page has room for."""
    notes = [*chapter.notes, *selection_note(chapter.view, chapter.name)]
    return replace(chapter, view=selected(chapter.view), notes=notes)


def strings(table: pd.DataFrame) -> list[list[str]]:
    """The rows of a table as texts; no line breaks within an interval."""
    return [[_unbroken(str(value)) for value in row] for row in table.itertuples(index=False)]


def _unbroken(text: str) -> str:
    """The text with spaces inside brackets that no line is broken at."""
    return re.sub(r"\[[^\[\]]{1,40}\]", lambda found: found[0].replace(" ", "\u00a0"), text)


def glossary(
    chapters: Iterable[Chapter], families: Mapping[str, Mapping[str, Any]]
) -> list[tuple[str, dict[str, str]]]:
    """What the columns of the views mean, by the title of the chapter that shows them.

    A chapter's own words come first, then those of the families and of the store's columns (for a
    column of a table of the store, that table's). What an earlier
    chapter explains in the same words is left out.
    """
    described = {
        column["name"]: column["meaning"]
        for family in families.values()
        for column in family.get("columns", ())
        if column.get("meaning")
    }
    described = {**MEANINGS["manifest"], **MEANINGS["rows"], **described}
    given: set[tuple[str, str]] = set()
    found = []
    for chapter in chapters:
        words = {**described, **MEANINGS.get(chapter.name, {}), **chapter.meanings}
        new = {name: words[name] for name in chapter.view.columns if name in words}
        new = {name: text for name, text in new.items() if (name, text) not in given}
        given |= set(new.items())
        if new:
            found.append((chapter.title, new))
    return found
