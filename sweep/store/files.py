"""Local files and folders: complete or absent, and nothing left behind by a failure."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_atomically(path: Path, write: Callable[[Path], Any]) -> None:
    """Call `write(temporary path)`, flush the file to disk, and give it its name.

    The temporary name is unique and in the same folder, so an interrupted write leaves the old
    content (or nothing) and never blocks a later one.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        write(temporary)
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, so that a rename survives a crash of the machine."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> list[Path]:
    """Make a folder with its parents; the new ones, outermost first.

    Raises:
        OSError: it can't be made; what was made on the way is removed again.
    """
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    made: list[Path] = []
    try:
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            made.append(path)
    except OSError:
        unmake(made)
        raise
    return made


def unmake(made: list[Path]) -> None:
    """Remove new folders, innermost first, unless another sweep has put something there."""
    for path in reversed(made):
        with suppress(OSError):
            path.rmdir()


def write_file(path: Path, content: bytes | str) -> Path:
    """Write a file atomically (text as UTF-8), with its folder; returns `path`.

    Raises:
        OSError: it can't be written; the old content, if any, is still there.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda temporary: temporary.write_bytes(data))
    return path
