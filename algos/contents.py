"""Contents of instances that are too large to travel with them, kept once in each process.

An instance's definition is the canonical JSON of its content or, above `LIMIT` bytes, the
content's address: "sha256:" and the digest of that JSON. Addresses stand in rows, in units of
work and in the keys of caches; the content stays in the process that resolved it, and a driver
hands it to the processes that play with it:

    provide(large_contents(instance.definition for instance in instances))
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from algos.canonical import pieces

# What a kind of instance resolves to: its name and parameters, as scalars, lists or NumPy arrays.
Content = Mapping[str, Any]

LIMIT = 4096  # bytes of a definition that travels with its instance
ADDRESS = "sha256:"
_IN_MEMORY = 2**24  # bytes of a text; a longer one waits in a temporary file
_READ = 2**20

_contents: dict[str, Content] = {}
_texts: dict[str, IO[bytes]] = {}
_lock = threading.Lock()


def is_address(definition: str) -> bool:
    """Whether a definition is the address of a large content."""
    return definition.startswith(ADDRESS)


def define(content: Content) -> str:
    """The definition of a content; a large one is kept, and its text until the process ends.

    Every stream of an instance hashes the text, and writing the numbers takes far longer than
    reading them.
    """
    text = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
    hashed, written = hashlib.sha256(), True
    for piece in pieces(content):
        data = piece.encode()
        hashed.update(data)
        try:
            if written:
                text.write(data)
        except OSError:  # a full disk: streams write the numbers anew
            written = False
    if written and text.tell() <= LIMIT:
        text.seek(0)
        return text.read().decode()
    address = ADDRESS + hashed.hexdigest()
    with _lock:
        if address not in _contents:
            _contents[address] = content
            if written:
                _texts[address] = text
    return address


def content_of(definition: str) -> Content:
    """The content that a definition stands for.

    Raises:
        RuntimeError: it is large, and this process was not provided with it.
    """
    if not is_address(definition):
        parsed: Content = json.loads(definition)
        return parsed
    if definition not in _contents:
        raise RuntimeError(
            f"this process doesn't have the content of the instance {definition}: hand it over "
            "with algos.contents.provide"
        )
    return _contents[definition]


def text_of(definition: str) -> Iterator[bytes]:
    """The canonical JSON that a definition stands for, in pieces.

    Raises:
        RuntimeError: as `content_of`.
    """
    if not is_address(definition):
        yield definition.encode()
    elif definition in _texts:
        text, at = _texts[definition], 0
        while True:
            with _lock:
                text.seek(at)
                data = text.read(_READ)
            if not data:
                return
            at += len(data)
            yield data
    else:
        for piece in pieces(content_of(definition)):
            yield piece.encode()


def large_contents(definitions: Iterable[str]) -> dict[str, Content]:
    """The large contents among these definitions of instances, by address.

    Raises:
        RuntimeError: as `content_of`.
    """
    addresses = {definition for definition in definitions if is_address(definition)}
    return {address: content_of(address) for address in sorted(addresses)}


def provide(contents: Mapping[str, Content]) -> None:
    """Make large contents, by address, known to this process."""
    _contents.update(contents)
