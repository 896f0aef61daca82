"""What a chapter of the report is: the one interface that page, terminal, tables and W&B render.

A chapter is a module with a function `chapter(data: Data) -> Chapter | None`, and `ORDER`, a number
that says where it stands (100 by default). It returns None for a sweep that it has nothing to say
about. The shipped ones are the modules of `analysis.chapters`; others are named with `--plugin`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import pandas as pd

from analysis.curves import SERIES_KEYS, Curves, cells, series_key
from analysis.labels import with_labels

Result = TypeVar("Result")


class Data:
    """A loaded sweep, and what several chapters need of it, each thing computed once.

    Attributes:
        df: what `analysis.load` returns.
        failures: the units that were given up, one row each; empty where none were.
    """

    def __init__(self, df: pd.DataFrame, failures: pd.DataFrame | None = None) -> None:
        self.df = df
        self.failures = pd.DataFrame() if failures is None else failures
        self._made: dict[Callable[[Data], Any], Any] = {}

    def __repr__(self) -> str:
        return f"Data({self.sweep.get('id', 'a sweep')!r}, {len(self.df)} rows)"

    @property
    def sweep(self) -> Mapping[str, Any]:
        """The sweep's record: id, question, window, command, numbers of cells and rows."""
        return self.df.attrs.get("sweep") or {}

    @property
    def families(self) -> Mapping[str, Mapping[str, Any]]:
        """What the families of the sweep say of themselves, by name; {} for old manifests."""
        return self.df.attrs.get("families") or {}

    @cached_property
    def cells(self) -> list[Curves]:
        """The cells that have regret, in the grid's order."""
        return list(cells(self.df))

    @cached_property
    def by_key(self) -> dict[tuple[str, str], Curves]:
        """The same cells by cell and instance."""
        return {cell.key: cell for cell in self.cells}

    @cached_property
    def names(self) -> dict[tuple[str, ...], tuple[str, str]]:
        """Label and setting of every series of the sweep, so that it has one name everywhere."""
        series = with_labels(self.df[SERIES_KEYS].drop_duplicates(ignore_index=True))
        return {series_key(row): (row.label, row.setting) for row in series.itertuples(index=False)}

    def labelled(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table whose rows belong to series, with the columns `label` and `setting`."""
        found = [self.names[series_key(row)] for row in table.itertuples(index=False)]
        return table.assign(label=[pair[0] for pair in found], setting=[pair[1] for pair in found])

    def once(self, make: Callable[[Data], Result]) -> Result:
        """The result of `make(data)`, computed at the first call and shared by all chapters."""
        if make not in self._made:
            self._made[make] = make(self)
        return self._made[make]


@dataclass(frozen=True)
class Figure:
    """A figure with the name of its files, without their endings."""

    name: str
    chart: Any

    @property
    def stem(self) -> str:
        """The name as a file name: letters, digits, dots, underscores and dashes."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.name).strip("-.")[:100] or "figure"


@dataclass(frozen=True)
class Overview:
    """A table for the terminal: its title, at most 80 columns of text, lines below it.

    A cell of the table may hold several lines, and is never wrapped anywhere else.
    """

    title: str
    table: pd.DataFrame
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Chapter:
    """One kind of finding about a sweep.

    Attributes:
        name: of its table, also the name of the file: letters, digits and underscores.
        title: above it on the page.
        table: numbers, one row per thing measured: for CSV, W&B and notebooks.
        view: the same as text, for the page; empty for none.
        meanings: what the view's columns mean, those apart that the store or a family describes.
        headlines: findings, a sentence each.
        figures: the figures.
        overviews: small tables for the terminal.
        notes: paragraphs above the view.
    """

    name: str
    title: str
    table: pd.DataFrame
    view: pd.DataFrame = field(default_factory=pd.DataFrame)
    meanings: Mapping[str, str] = field(default_factory=dict)
    headlines: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    overviews: Sequence[Overview] = ()
    notes: Sequence[str] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.table)} rows, {len(self.figures)} figures"
        return f"Chapter({self.name!r}, {counts}, {len(self.headlines)} headlines)"
