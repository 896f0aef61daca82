"""Verification of a store.

Every segment and every large definition is decoded in full, rows that should be equal are, and
the definitions that rows refer to are there. A definition's address is the digest of a JSON text
that would have to be made again, at a high price, so it is not compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa

from sweep.store import definitions, segments
from sweep.store.definitions import DEFINITIONS
from sweep.store.row_hashes import row_hashes
from sweep.store.segments import KEY, ROWS, TIMINGS, Damaged, DamageError, VanishedError
from sweep.store.store import Store

MAX_NAMED = 20  # rows named that are there twice and differ; the count has all


@dataclass
class Findings:
    """What verification found.

    Attributes:
        segments: sound ones of `rows/`.
        rows: the rows in these.
        timings: sound segments of `timings/`.
        definitions: sound large definitions.
        duplicates: rows that are there once more, equal.
        different: rows that are there twice with different content.
        damaged: segments and definitions, named with their folder; missing definitions, too.
        differing: a line for each of the first rows that differ.
    """

    segments: int = 0
    rows: int = 0
    timings: int = 0
    definitions: int = 0
    duplicates: int = 0
    different: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return not self.damaged and not self.different


def verify(store: Store) -> Findings:
    """Check every segment and definition; changes nothing. Takes 20 bytes of memory a row.

    Raises:
        InputError: the store or a segment can't be read.
    """
    findings = Findings()
    names: list[str] = []
    hashes: list[np.ndarray] = []
    addresses: set[str] = set()
    for folder in (ROWS, TIMINGS):
        for name in store.names(folder):
            try:
                parse = partial(_read, name=name, folder=folder)
                found, referred = segments.attempt(store.place, folder, name, parse)
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
            addresses |= referred
            findings.rows += len(found)
    findings.segments = len(names)
    _check_definitions(store, addresses, findings)
    _compare(store, names, hashes, findings)
    return findings


def _read(source: pa.NativeFile, name: str, folder: str) -> tuple[np.ndarray, set[str]]:
    """A segment's rows by hashes and the addresses they refer to, all pages checked.

    The hashes are of a row's key and of its content, shape (rows, 2).

    Raises:
        DamageError, or one of UNREADABLE.
    """
    segments.digest_is_right(source, name)
    parts = [np.empty((0, 2), np.uint64)]
    addresses: set[str] = set()
    with segments.parquet(source) as file:
        segments.check_columns(file.schema_arrow, folder)
        for table in segments.batches(file):
            if folder == TIMINGS:
                continue
            parts.append(np.column_stack([row_hashes(table, KEY), row_hashes(table)]))
            addresses.update(definitions.addresses_in(table["instance_definition"]))
    return np.concatenate(parts), addresses


def _check_definitions(store: Store, addresses: set[str], findings: Findings) -> None:
    """Read the definitions that are there; name the damaged, and those that rows lack."""
    there = {f"{DEFINITIONS}/{name}" for name in store.names(DEFINITIONS)}
    for path in sorted(there | {definitions.path_of(address) for address in addresses}):
        try:
            if path not in there:
                raise VanishedError(path)
            definitions.check(store.place, path)
        except VanishedError:
            findings.damaged.append(Damaged(path, "it is missing, and rows refer to it"))
        except DamageError as error:
            findings.damaged.append(Damaged(path, str(error)))
        else:
            findings.definitions += 1


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
        numbers = sorted(int(order[i]) for i in (at - 1, at))
        inside = [int(np.searchsorted(starts, number, side="right")) - 1 for number in numbers]
        row = numbers[0] - starts[inside[0]]
        try:
            table = segments.attempt(store.place, ROWS, names[inside[0]], segments.read_keys)
            cell, replicate = (table[name][row].as_py() for name in KEY)
        except (VanishedError, DamageError):
            continue
        where = " and ".join(dict.fromkeys(names[i] for i in inside))
        findings.differing.append(f"cell {cell}, replicate {replicate}: rows differ in {where}")
