"""Registries, and the shipped families that fill them.

Every package of `algos` is imported with all its modules before the first question to any
registry: family packages register their family, kinds of instances and algorithms while they
are imported. So it does not matter which module a program imports first, and a program that
asks no registry compiles and imports no kernel.
"""

from __future__ import annotations

import importlib
import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

Entry = TypeVar("Entry")

_lock = threading.RLock()
_begun = _done = False


def load() -> None:
    """Import the packages of `algos` and their modules, once."""
    global _begun, _done
    if _done:
        return
    with _lock:
        if _begun:  # by this thread: a module asks while it is imported
            return
        _begun = True
        try:
            package = importlib.import_module("algos")
            for entry in pkgutil.walk_packages(package.__path__, "algos."):
                if entry.ispkg or entry.name.count(".") > 1:
                    importlib.import_module(entry.name)
            _done = True
        finally:
            _begun = _done


class Registry(Mapping[str, Entry]):
    """Entries by name, in alphabetical order.

    Args:
        what: what an entry is, in words.
        origin: where an entry comes from. A module that is loaded again registers the same
            again; an entry of another origin may not take a name that is taken.
    """

    def __init__(self, what: str, origin: Callable[[Entry], object]) -> None:
        self._what, self._origin = what, origin
        self._entries: dict[str, Entry] = {}

    def add(self, name: str, entry: Entry) -> Entry:
        """Register an entry.

        Raises:
            ValueError: the name is taken.
        """
        known = self._entries.get(name)
        if known is not None and self._origin(known) != self._origin(entry):
            raise ValueError(f"{self._what} {name!r} is already registered")
        self._entries[name] = entry
        return entry

    def registered(self) -> tuple[Entry, ...]:
        """The entries there are now, also while modules are being loaded."""
        return tuple(self._entries.values())

    def __getitem__(self, name: str) -> Entry:
        load()
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        load()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        load()
        return len(self._entries)


def origin(function: Callable[..., object]) -> tuple[str, str]:
    """Where a function or a class is defined."""
    return function.__module__, function.__qualname__
