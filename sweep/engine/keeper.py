"""Rows between their making and the store: gathered where they are made, put away as segments.

A keeper that can reach the store commits its segments itself; otherwise it encodes them, and the
driver writes the bytes. Rows are encoded as they come, so that what a keeper holds is compressed.
"""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field

import pyarrow as pa

from algos.errors import InputError
from sweep.store import Store
from sweep.store.errors import UNREACHABLE, one_line
from sweep.store.segments import ROW_GROUP, Segment, SegmentWriter


@dataclass(frozen=True)
class Kept:
    """What a keeper has put away.

    Attributes:
        keeper: which one; where an actor's has another name than before, its rows were lost.
        batches: numbers of the batches whose rows are in these segments and earlier ones.
        segments: those that have content are left to the driver.
        problem: why the keeper could not write them, in a line; "" where it could or never tried.
    """

    keeper: str
    batches: list[int]
    segments: list[Segment]
    problem: str = ""


@dataclass
class _Family:
    """The rows of one family: encoded ones, and those that are too few for a row group yet."""

    writer: SegmentWriter
    waiting: list[pa.Table] = field(default_factory=list)
    size: int = 0  # decoded bytes that wait

    def encode(self) -> None:
        """Encode what waits, as a row group or several."""
        if self.waiting:
            self.writer.add(pa.concat_tables(self.waiting))
            self.waiting, self.size = [], 0


class Keeper:
    """Gathers rows; `take` and `complete` may be called in one thread, `put_away` in another.

    Args:
        store: where the segments go; None where it can't be reached from here.
    """

    def __init__(self, store: Store | None) -> None:
        self.store = store
        self.name = uuid.uuid4().hex
        self._lock = threading.Lock()
        self._families: dict[str, _Family] = {}
        self._batches: list[int] = []

    def take(self, family: str, table: pa.Table) -> None:
        """Take rows of a family."""
        with self._lock:
            if family not in self._families:
                self._families[family] = _Family(SegmentWriter(table.schema))
            held = self._families[family]
            held.waiting.append(table)
            held.size += table.nbytes
            if held.size >= ROW_GROUP:
                held.encode()

    def complete(self, batch: int) -> int:
        """Note that all rows of a batch were taken; returns the encoded bytes that are held."""
        with self._lock:
            self._batches.append(batch)
            return sum(held.writer.size for held in self._families.values())

    def put_away(self) -> Kept:
        """Close the segments, one a family, and commit them where the store can be reached.

        A store that can't be written is not tried again: its segments go to the driver.
        """
        with self._lock:
            families, batches = self._families, self._batches
            self._families, self._batches = {}, []
        segments = []
        for held in families.values():
            held.encode()
            segments.append(held.writer.close())
        problem = ""
        for i, segment in enumerate(segments):
            if self.store is None:
                break
            try:
                self.store.keep_segment(segment)
            except (InputError, *UNREACHABLE) as error:
                problem, self.store = one_line(error), None
            else:
                segments[i] = Segment(segment.name, None)
        return Kept(self.name, batches, segments, problem)
