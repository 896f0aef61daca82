"""Whether another process, maybe on another machine, sees the same store.

Whoever has opened the store puts a landmark there: a hidden file with random content. A process
that finds it under the same root, with this content, has the same store, by rights of its own.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pyarrow as pa

from algos.errors import InputError
from sweep.store.errors import UNREACHABLE, one_line
from sweep.store.places import is_url
from sweep.store.segments import ROWS
from sweep.store.store import Store


@dataclass(frozen=True)
class Landmark:
    """A file to be found: the store's root, the file's path below it, and its content."""

    root: str
    path: str
    content: bytes


@contextmanager
def landmark(store: Store) -> Iterator[Landmark]:
    """Put a landmark into a store that is open for writing; take it away at the end.

    Raises:
        InputError: it can't be written.
    """
    root = store.root if is_url(store.root) else os.path.abspath(store.root)
    mark = Landmark(root, f"{ROWS}/.landmark-{uuid.uuid4().hex}", os.urandom(16))
    try:
        store.place.write(mark.path, pa.py_buffer(mark.content))
    except UNREACHABLE as error:
        allowed = f"a place that can be written ({one_line(error)})"
        raise InputError("store", store.root, allowed) from None
    try:
        yield mark
    finally:
        folder, _, name = mark.path.rpartition("/")
        with suppress(*UNREACHABLE):
            store.place.remove(folder, [name])


def find(mark: Landmark) -> Store | None:
    """The store, opened here; None where it can't be reached, or is another one."""
    try:
        store = Store(mark.root)
        seen = store.place.read(mark.path).to_pybytes()
    except (InputError, *UNREACHABLE):
        return None
    return store if seen == mark.content else None
