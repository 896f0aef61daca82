"""What a chapter of the report is: the one interface that page, terminal, tables and W&B render.

A chapter is a module with a function `chapter(data: Data) -> Chapter | None`, and `ORDER`, a number
that says where it stands (100 by default). It returns None for a sweep that it has nothing to say
about. The shipped ones are the modules of `analysis.chapters`; others are named with `--plugin`.

A sweep's rows may be too many for memory: a chapter says what is to be measured of every cell, by
`measures(data) -> Iterable[Measure]`, all chapters' measures are asked in one pass over the
store, and `data.measured(measure)` has the results:

    def changes(cell: Curves) -> float | None:
        rows = cell.outcomes.get("changes")
        return None if rows is None else float(rows.mean())

    def measures(data: Data) -> list[Measure]:
        return [changes]

    def chapter(data: Data) -> Chapter | None:
        table = data.manifest.assign(changes=data.measured(changes))
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from analysis.curves import SERIES_KEYS, Curves, Key, series_key
from analysis.labels import with_labels
from analysis.measuring import Failed, Measure
from analysis.progress import Progress, silent

Result = TypeVar("Result")
Item = TypeVar("Item")

MAX_OVERVIEWS = 50
"""Tables that a chapter has for the terminal."""


class Source(Protocol):
    """Where cells come from: `analysis.stored.Stored` or `analysis.loaded.Loaded`."""

    manifest: pd.DataFrame
    sweep: dict[str, Any]
    families: dict[str, dict[str, Any]]

    def measure(
        self, measures: Sequence[Callable[[Curves], Any]], progress: Progress = silent
    ) -> list[list[Any]]:
        """For each measure its results, one for each row of the manifest."""

    def curves(self, keys: Collection[Key]) -> dict[Key, Curves]:
        """The cells of these keys."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """`function` of each item, in order."""


class Data:
    """A sweep, and what several chapters need of it, each thing computed once.

    Attributes:
        manifest: the cells that have rows, in the grid's order: the manifest's columns, a row for
            each cell and label.
        failures: the units that were given up, one row each; empty where none were.
    """

    def __init__(
        self, source: Source, failures: pd.DataFrame | None = None, progress: Progress = silent
    ) -> None:
        self.manifest = source.manifest
        self.failures = pd.DataFrame() if failures is None else failures
        self._source, self._progress = source, progress
        self._made: dict[Callable[[Data], Any], Any] = {}
        self._results: dict[Measure, list[Any]] = {}

    def __repr__(self) -> str:
        return f"Data({self.sweep.get('id', 'a sweep')!r}, {len(self.manifest)} cells)"

    @property
    def sweep(self) -> Mapping[str, Any]:
        """The sweep's record: id, question, window, command, numbers of cells and rows."""
        return self._source.sweep

    @property
    def families(self) -> Mapping[str, Mapping[str, Any]]:
        """What the families of the sweep say of themselves, by name; {} for old manifests."""
        return self._source.families

    def measure(self, measures: Iterable[Measure]) -> None:
        """Ask several measures in one pass; `measured` has the results.

        Raises:
            InputError: rows can't be read.
        """
        new = [one for one in dict.fromkeys(measures) if one not in self._results]
        found = self._source.measure(new, self._progress)
        self._results.update(zip(new, found, strict=True))

    def measured(self, measure: Measure) -> list[Any]:
        """A measure's results, one for each row of the manifest; None for cells without any.

        A measure that was not asked before takes a pass over the store of its own. Raises what the
        measure raised.
        """
        if measure not in self._results:
            self.measure([measure])
        for result in self._results[measure]:
            if isinstance(result, Failed):
                raise result.error
        return self._results[measure]

    def forget(self, measure: Measure) -> None:
        """Drop a measure's results, for a chapter that has made a table of them."""
        self._results.pop(measure, None)

    def curves(self, keys: Collection[Key]) -> dict[Key, Curves]:
        """Some cells by `Curves.key`, read from the store; those without rows are left out."""
        return self._source.curves(keys) if keys else {}

    def map(
        self, function: Callable[[Item], Result], items: Sequence[Item], doing: str = "fitting"
    ) -> list[Result]:
        """`function` of each item, in order, on all cores; `doing` names it for the progress.

        The function is one of a module, it and the items can be pickled.
        """
        found = []
        for result in self._source.map(function, items):
            found.append(result)
            self._progress(doing, len(found) / len(items))
        return found

    @cached_property
    def names(self) -> dict[tuple[str, ...], tuple[str, str]]:
        """Label and setting of every series of the sweep, so that it has one name everywhere."""
        series = with_labels(self.manifest[SERIES_KEYS].drop_duplicates(ignore_index=True))
        return {series_key(row): (row.label, row.setting) for row in series.itertuples(index=False)}

    def labelled(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table whose rows belong to series, with the columns `label` and `setting`."""
        number = table.groupby(SERIES_KEYS, sort=False, dropna=False).ngroup().to_numpy()
        _, first = np.unique(number, return_index=True)
        series = table.iloc[first].itertuples(index=False)
        names = np.array([self.names[series_key(row)] for row in series], dtype=object)
        names = names.reshape(-1, 2)[number]
        return table.assign(label=names[:, 0], setting=names[:, 1])

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


def first_overviews(made: Iterable[Overview], count: int) -> list[Overview]:
    """The first MAX_OVERVIEWS of `count`; the last says how many more there are."""
    first = list(itertools.islice(made, MAX_OVERVIEWS))
    if count > len(first) and first:
        last = first[-1]
        more = f"… and {count - len(first):,} more in the report's tables"
        first[-1] = Overview(last.title, last.table, [*last.notes, more])
    return first


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
