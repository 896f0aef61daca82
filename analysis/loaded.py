"""A sweep whose rows are all in memory, as `analysis.load` returns them, as a source of cells."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pandas as pd

from analysis.curves import CELL_KEYS, Curves, Key, cells
from analysis.measuring import ask
from analysis.progress import Progress, silent
from sweep.store.columns import ROW_COLUMNS


class Loaded:
    """The cells of a frame.

    Attributes:
        manifest: what is known of the cells, a row for each of CELL_KEYS that has rows.
        sweep: the sweep's record, {} for a frame that has none.
        families: what the families say of themselves.
    """

    def __init__(self, df: pd.DataFrame) -> None:
        self._cells = {cell.key: cell for cell in cells(df)}
        measured = {"replicate", "checkpoints", "regret"} & set(ROW_COLUMNS)
        kept = [name for name in df.columns if name not in measured]
        self.manifest = df[kept].drop_duplicates(CELL_KEYS).reset_index(drop=True)
        self.sweep: dict[str, Any] = df.attrs.get("sweep") or {}
        self.families: dict[str, dict[str, Any]] = df.attrs.get("families") or {}

    def measure(
        self, measures: Sequence[Callable[[Curves], Any]], progress: Progress = silent
    ) -> list[list[Any]]:
        """For each measure its results, one for each row of the manifest."""
        return [[ask(measure, cell) for cell in self._cells.values()] for measure in measures]

    def curves(self, keys: Collection[Key]) -> dict[Key, Curves]:
        """The cells of these keys."""
        return {key: self._cells[key] for key in keys if key in self._cells}

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        """`function` of each item."""
        return map(function, items)
