"""The units of work that were given up after every attempt."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.chapter import Chapter, Data

ORDER = 90

MAX_ROWS = 50
"""Rows on the page; the table has all."""

LONGEST = 400
"""Characters of one entry on the page."""


def chapter(data: Data) -> Chapter | None:
    """The chapter, for a sweep in which something failed."""
    table = data.failures
    if table.empty:
        return None
    count = f"{len(table)} {'unit' if len(table) == 1 else 'units'} failed"
    note = f"{count}, and their replicates are missing; the next run of the command tries again."
    if len(table) > MAX_ROWS:
        note += f" The first {MAX_ROWS} are shown, all are in tables/failures.csv."
    return Chapter(
        name="failures",
        title="Failures",
        table=table,
        view=table.head(MAX_ROWS).apply(lambda column: column.map(_text)),
        headlines=[f"{count}; see the table of failures"],
        notes=[note],
    )


def _text(value: Any) -> str:
    """An entry as text, a long one cut."""
    if isinstance(value, list | tuple) or hasattr(value, "tolist"):
        text = ", ".join(map(str, value))
    else:
        text = "" if value is None or value is pd.NA or value != value else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
