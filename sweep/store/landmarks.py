"""Whether another process, maybe on another machine, sees the same store.

Whoever has opened the store puts a landmark there: a hidden file with random content. A process
that finds it under the same root, with this content, has the same store, by rights of its own.
"""

from __future__ import annotations

import os
import threading
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

FIND_SECONDS = 10.0


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


def find(mark: Landmark, seconds: float = FIND_SECONDS) -> Store | None:
    """The store, opened here; None where it is not found in time, or is another one.

    An endpoint that is silent is not waited for longer than `seconds`: whoever looks for a store
    has something else to do without it.
    """
    found: list[Store] = []

    def look() -> None:
        with suppress(InputError, *UNREACHABLE):
            store = Store(mark.root)
            if store.place.read(mark.path).to_pybytes() == mark.content:
                found.append(store)

    # A daemon: a process may end while the endpoint is still silent.
    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(seconds)
    return found[0] if found else None
