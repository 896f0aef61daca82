"""A sweep's folder, where the store is a URL: a local mirror that is fetched and published.

Sweeps and reports of the same store share it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

import platformdirs
import pyarrow as pa
import pyarrow.fs as pafs

from sweep.store.files import write_file
from sweep.store.places import Place


def root(url: str) -> Path:
    """The folder that mirrors the store at `url`."""
    digest = hashlib.sha256(url.rstrip("/").encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("dp-bandit-sweep") / "stores" / digest


def fetch(place: Place, folder: str, mirror: Path, only: Collection[str] | None = None) -> None:
    """Bring the files of a remote folder: those missing here, and those newer there.

    A file that is newer here stays: a sweep that was killed has not published its latest. With
    `only`, the files of these names are brought and no others.

    Raises:
        OSError, pa.ArrowException: one can't be read or written.
    """
    for name, info in place.files(folder, recursive=True).items():
        path = mirror / name
        if (only is None or name in only) and _outdated(path, info):
            write_file(path, place.read(f"{folder}/{name}").to_pybytes())
            _stamp(path, info)


def publish(place: Place, folder: str, mirror: Path, only: Collection[str] | None = None) -> None:
    """Send the files of a mirror that the remote folder lacks or has otherwise.

    W&B's own files (`wandb/`) and unfinished ones stay here. With `only`, the files of these names
    are sent and no others.

    Raises:
        OSError, pa.ArrowException: one can't be read or written.
    """
    there = place.files(folder, recursive=True)
    sent = []
    for path in sorted(mirror.rglob("*")):
        name = path.relative_to(mirror).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden or name.startswith("wandb/") or not path.is_file():
            continue
        if only is not None and name not in only:
            continue
        if name not in there or not _same(path, there[name]):
            place.make_folder(f"{folder}/{name}".rpartition("/")[0])
            place.replace(f"{folder}/{name}", pa.py_buffer(path.read_bytes()))
            sent.append(name)
    if sent:
        there = place.files(folder, recursive=True)
        for name in sent:
            if name in there:
                _stamp(mirror / name, there[name])


def _same(path: Path, info: pafs.FileInfo) -> bool:
    """Whether a file has the size and time of its remote copy, as `_stamp` left it."""
    here = path.stat()
    return here.st_size == info.size and here.st_mtime_ns == info.mtime_ns


def _outdated(path: Path, info: pafs.FileInfo) -> bool:
    if not path.exists():
        return True
    if info.mtime_ns is None:  # a filesystem that keeps no times
        return path.stat().st_size != info.size
    return path.stat().st_mtime_ns < info.mtime_ns


def _stamp(path: Path, info: pafs.FileInfo) -> None:
    """Give a file the time of its remote copy, so that one newer than the other shows."""
    if info.mtime_ns is not None:
        os.utime(path, ns=(info.mtime_ns, info.mtime_ns))
