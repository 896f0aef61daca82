"""What is shown of much: a page, a figure and a terminal have room for so many rows."""

from __future__ import annotations

import pandas as pd

from analysis.words import spread

MAX_ROWS = 500
"""Rows of a table on the page; its CSV file has all."""

MAX_POINTS = 300
"""Points of a line in a figure."""


def selected(table: pd.DataFrame, most: int = MAX_ROWS) -> pd.DataFrame:
    """At most so many rows, evenly spread over the table, the first and the last included."""
    return table if len(table) <= most else table.iloc[spread(range(len(table)), most)]


def selection_note(table: pd.DataFrame, name: str, most: int = MAX_ROWS) -> list[str]:
    """What the page says where it shows a selection of the rows; nothing where it has all."""
    if len(table) <= most:
        return []
    return [f"{most:,} of {len(table):,} rows are shown, evenly spread; tables/{name}.csv has all."]
