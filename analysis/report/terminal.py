"""A report on a terminal: its progress, then the chapters' overviews and where its page is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd
from rich import box
from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table
from rich.text import Text

from analysis.chapter import Overview
from analysis.progress import Progress
from analysis.report.record import Report

MAX_TABLES = 12
"""Tables shown; the report has all."""

WIDTH = 80


PAUSE = 5.0
"""Seconds between the lines of a progress that is not shown on a terminal, and before the first."""


@contextmanager
def progress_on(console: Console) -> Iterator[Progress]:
    """Shows progress: a bar on a terminal, which goes when it ends; elsewhere a line now and then.

    Nothing is said elsewhere within the first PAUSE seconds.
    """
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = TextColumn("report: {task.description}"), BarColumn(), TaskProgressColumn()
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("looking for rows", total=None)
        last = ""

        def advance(doing: str, share: float) -> None:
            nonlocal last
            if doing != last:
                bar.reset(task, total=1.0, description=doing)
            last = doing
            bar.update(task, completed=share)

        yield advance


class _Lines:
    """Progress in lines."""

    def __init__(self, console: Console) -> None:
        self.console, self.said = console, time.monotonic()

    def __call__(self, doing: str, share: float) -> None:
        """Say it, unless something was said within the last PAUSE seconds."""
        if time.monotonic() - self.said >= PAUSE:
            self.said = time.monotonic()
            self.console.print(Text(f"report: {doing}, {share:.0%}"), soft_wrap=True)


def show(report: Report, console: Console) -> None:
    """Print a report's overviews, what went wrong, and the path of its page."""
    for overview in report.overviews[:MAX_TABLES]:
        _show(overview, console)
    hidden = len(report.overviews) - MAX_TABLES
    if hidden > 0:
        console.print(f"… and {hidden} more tables in the report")
    for line in report.warnings:
        console.print(Text(line), soft_wrap=True)
    # soft_wrap keeps the path on one line, so that it can be copied or piped.
    console.print(Text(str(report.html)), soft_wrap=True)
    if report.url:
        console.print(Text(f"{report.url}/report.html"), soft_wrap=True)


def _show(overview: Overview, console: Console) -> None:
    """Print one table with its title and notes."""
    console.print(Text(overview.title, style="bold"), soft_wrap=True)
    content = [
        list(map(str, overview.table.columns)),
        *(
            ["" if pd.isna(value) else str(value) for value in row]
            for row in overview.table.itertuples(index=False)
        ),
    ]
    if _width(content) > min(WIDTH, console.width):
        content = [[text.replace(" [", "\n[") for text in row] for row in content]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for i, name in enumerate(content[0]):
        numeric = all(_is_number(row[i]) for row in content[1:])
        table.add_column(Text(name), justify="right" if numeric else "left", no_wrap=True)
    for row in content[1:]:
        table.add_row(*map(Text, row))
    console.print(table)
    for line in overview.notes:
        console.print(Text(line), soft_wrap=True)
    console.print()


def _width(content: list[list[str]]) -> int:
    """The width of the table with this content, a list of rows."""
    columns = zip(*content, strict=True)
    widths = (max(len(line) for text in column for line in text.split("\n")) for column in columns)
    return sum(width + 2 for width in widths) + 1


def _is_number(text: str) -> bool:
    """Whether a text begins like a number, or is empty."""
    return not text or text[0].isdigit() or text[0] in "-∞"
