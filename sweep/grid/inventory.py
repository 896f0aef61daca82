"""What a store has of a plan, in a few bytes for each stretch of replicates.

A million cells with their replicates must fit beside the plan, so a cell is known here by its
number, and replicates by the stretches they form.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from sweep.grid.plan import Plan

WORD = 16  # hexadecimal digits of a cell's identity that are compared: 64 of its bits
SHIFT = 32  # bits: replicates are numbered below 2^32


class Inventory:
    """Which replicates of a plan's cells a store has.

    Show it the store's rows with `add`, then ask.

    Args:
        plan: the cells.
        since: the number of the first cell that matters, a section's first.
    """

    def __init__(self, plan: Plan, since: int = 0) -> None:
        self.plan, self.since = plan, since
        self._names: np.ndarray | None = None  # uint64, ascending: identities of the cells
        self._numbers = np.empty(0, np.int64)  # their numbers in the plan
        self._first = np.empty(0, np.int64)  # stretches as (number << SHIFT) + replicate
        self._last = np.empty(0, np.int64)
        self._new: list[tuple[np.ndarray, np.ndarray]] = []

    def relevant(self, cells: pa.ChunkedArray) -> bool:
        """Whether any of these identities is of the plan."""
        return bool((self._find(cells.unique().to_pylist()) >= 0).any())

    def add(self, rows: pa.Table) -> None:
        """Take rows of the store, by their columns `cell` and `replicate`."""
        names = rows["cell"].combine_chunks().dictionary_encode()
        if isinstance(names, pa.ChunkedArray):
            names = names.combine_chunks()
        number = self._find(names.dictionary.to_pylist())[np.asarray(names.indices)]
        ours = number >= 0
        if not ours.any():
            return
        key = np.unique((number[ours] << SHIFT) + rows["replicate"].to_numpy()[ours])
        edges = np.flatnonzero(np.diff(key) != 1)
        first = key[np.concatenate([[0], edges + 1])]
        last = key[np.concatenate([edges, [len(key) - 1]])]
        self._new.append((first, last))

    def have(self, targets: np.ndarray) -> np.ndarray:
        """int64 (cells,): how many of the replicates below each cell's target are there."""
        first, last = self._stretches()
        cell = first >> SHIFT
        wanted = targets[cell]
        mask = (1 << SHIFT) - 1
        count = np.minimum((last & mask) + 1, wanted) - np.minimum(first & mask, wanted)
        return np.bincount(cell, count, minlength=len(self.plan)).astype(np.int64)

    def stretches(self, number: int) -> list[tuple[int, int]]:
        """The replicates of a cell as (start, stop), ascending and apart."""
        first, last = self._stretches()
        low, high = np.searchsorted(first, [number << SHIFT, (number + 1) << SHIFT])
        mask = (1 << SHIFT) - 1
        return [
            (int(a) & mask, (int(b) & mask) + 1)
            for a, b in zip(first[low:high], last[low:high], strict=True)
        ]

    def _find(self, names: Iterable[str]) -> np.ndarray:
        """Numbers of the cells with these identities, -1 for those of other plans."""
        if self._names is None:
            words = (int(cell.id[:WORD], 16) for cell in self.plan.since(self.since))
            unsorted = np.fromiter(words, np.uint64)
            order = np.argsort(unsorted, kind="stable")
            self._names, self._numbers = unsorted[order], order + self.since
        wanted = np.fromiter(map(_word, names), np.uint64)
        place = np.minimum(np.searchsorted(self._names, wanted), len(self._names) - 1)
        return np.where(self._names[place] == wanted, self._numbers[place], -1)

    def _stretches(self) -> tuple[np.ndarray, np.ndarray]:
        """All stretches, ascending, joined where they touch or overlap."""
        if self._new:
            first = np.concatenate([self._first, *(new[0] for new in self._new)])
            last = np.concatenate([self._last, *(new[1] for new in self._new)])
            order = np.argsort(first, kind="stable")
            first, reached = first[order], np.maximum.accumulate(last[order])
            # Numbers of cells are far apart, so a stretch never reaches into the next cell's.
            starts = np.concatenate([[True], first[1:] > reached[:-1] + 1])
            ends = np.concatenate([starts[1:], [True]])
            self._first, self._last, self._new = first[starts], reached[ends], []
        return self._first, self._last


def _word(name: str) -> int:
    try:
        return int(name[:WORD], 16)
    except ValueError:  # not one of ours
        return 0
