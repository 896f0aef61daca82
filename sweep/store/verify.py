"""Verification: every segment of a store decoded in full, and rows that should be equal are."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from sweep.store import Store, segments
from sweep.store.row_hashes import row_hashes
from sweep.store.segments import KEY, ROWS, TIMINGS, Damaged, DamageError, VanishedError

MAX_NAMED = 20
"""Rows named that are there twice and differ; the count has all."""


@dataclass
class Findings:
    """What verification found.

    segments, rows: sound ones of `rows/`; timings: sound segments of `timings/`. duplicates: rows
    that are there once more, equal. damaged: segments, named with their folder. differing: a line
    for each row that is there twice with different content, `different` their number.
    """

    segments: int = 0
    rows: int = 0
    timings: int = 0
    duplicates: int = 0
    different: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damaged and not self.different


def verify(store: Store) -> Findings:
    """Check every segment; changes nothing. Takes 20 bytes of memory a row.

    Raises:
        InputError: the store or a segment can't be read.
    """
    findings = Findings()
    names: list[str] = []
    hashes: list[np.ndarray] = []
    for folder in (ROWS, TIMINGS):
        for name in store.names(folder):
            try:
                parse = partial(_read, name=name, folder=folder)
                found = segments.attempt(store.place, folder, name, parse)
            except VanishedError:
                continue
            except DamageError as error:
                findings.damaged.append(Damaged(f"{folder}/{name}", str(error)))
                continue
            if folder == TIMINGS:
                findings.timings += 1
                continue
            names.append(name)
            hashes.append(found)
            findings.rows += len(found)
    findings.segments = len(names)
    _compare(store, names, hashes, findings)
    return findings


def _read(source: pa.NativeFile, name: str, folder: str) -> np.ndarray:
    """Per row of a segment its hash by key and by content, shape (rows, 2), all pages checked.

    Raises:
        DamageError, or one of UNREADABLE.
    """
    segments.digest_is_right(source, name)
    parts = [np.empty((0, 2), np.uint64)]
    with segments.parquet(source) as file:
        segments.check_columns(file.schema_arrow, folder)
        for table in segments.batches(file):
            if folder == TIMINGS:
                continue
            parts.append(np.column_stack([row_hashes(table, KEY), row_hashes(table)]))
    return np.concatenate(parts)


def _compare(store: Store, names: list[str], hashes: list[np.ndarray], findings: Findings) -> None:
    """Count the rows that are there twice, and name those that differ."""
    if not names:
        return
    sizes = [len(part) for part in hashes]
    keys, contents = np.concatenate(hashes).T
    hashes.clear()
    order = np.lexsort((contents, keys))  # equal rows next to each other
    again = np.flatnonzero(keys[order][1:] == keys[order][:-1]) + 1
    same = contents[order[again]] == contents[order[again - 1]]
    findings.duplicates = int(same.sum())
    findings.different = int((~same).sum())
    starts = np.cumsum([0, *sizes])
    for at in again[~same][:MAX_NAMED]:
        places = sorted(int(order[i]) for i in (at - 1, at))
        inside = [int(np.searchsorted(starts, place, side="right")) - 1 for place in places]
        row = places[0] - starts[inside[0]]
        try:
            table = segments.attempt(store.place, ROWS, names[inside[0]], segments.read_keys)
            cell, replicate = (table[name][row].as_py() for name in KEY)
        except (VanishedError, DamageError):
            continue
        where = " and ".join(dict.fromkeys(names[i] for i in inside))
        findings.differing.append(f"cell {cell}, replicate {replicate}: rows differ in {where}")
