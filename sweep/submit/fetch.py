"""Bringing a submitted sweep's report and rows into a local store.

The job leaves files and an index of them in Ray's log folder (`sweep.submit.job`); they come
through the dashboard, each checked by its SHA-256. Nothing is unpacked or unpickled, and a name
that is not below the places a store has is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from algos.errors import InputError
from sweep.store.files import flush_folder
from sweep.submit.client import Dashboard, Lost
from sweep.submit.follow import Patience

SHARED = ("rows", "timings", "definitions")  # what sweeps of a store share
FOLDER, INDEX = "sweeps", "index.json"  # in Ray's log folder: sweeps/JOB/index.json
PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
MOST_BYTES_OF_INDEX = 64 * 1024**2


@dataclass(frozen=True)
class Fetched:
    """What arrived: the sweep's folder, how many files, and where the rows are if not here."""

    folder: Path
    files: int
    elsewhere: str | None


class Unusable(Exception):
    """What the job left can't be used."""


def fetch(
    dashboard: Dashboard, details: Mapping[str, Any], job: str, into: Path, patience: Patience
) -> Fetched | None:
    """Bring what a job left into the store `into`; None if it left nothing.

    A file has its name when it is complete; files that are there already are not fetched again.

    Raises:
        Lost: there was no answer for longer than `patience` allows.
        Unusable: the index or a file is not what it should be.
        InputError: `into` can't be written.
    """
    node = details.get("driver_node_id")
    raw = _read(dashboard, node, f"{FOLDER}/{job}/{INDEX}", patience) if node else None
    if node is None or raw is None:
        return None
    index = _index(raw)
    scratch = into / f".fetch-{job}"
    try:
        scratch.mkdir(parents=True, exist_ok=True)
        for entry in index["files"]:
            place = into / entry["place"]
            if place.is_file() and _digest(place) == entry["sha256"]:
                continue
            got = scratch / entry["sha256"]
            _download(dashboard, node, f"{FOLDER}/{job}/{entry['name']}", entry, got, patience)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(got, place)
            flush_folder(place.parent)
        for name in ("rows", "timings"):  # a store has them, if only for the next sweep
            (into / name).mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            "--into", str(into), f"a folder that can be written ({error.strerror or error})"
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return Fetched(into / "sweeps" / index["sweep"], len(index["files"]), index["elsewhere"])


def _index(raw: bytes) -> dict[str, Any]:
    """The index, checked.

    Raises:
        Unusable: it is no index, or names a place that a sweep's files have no business in.
    """
    try:
        index = json.loads(raw)
        sweep, files = index["sweep"], index["files"]
        elsewhere = index["elsewhere"]
        for entry in files:
            parts = str(entry["place"]).split("/")
            good = all(PLAIN_NAME.fullmatch(part) for part in parts) and (
                (parts[0] in SHARED and len(parts) == 2)
                or (parts[:2] == ["sweeps", sweep] and len(parts) > 2)
            )
            if not good or not re.fullmatch("[0-9a-f]{64}", entry["sha256"]):
                raise Unusable(f"the job names a place outside a store: {entry['place']!r}")
            if not PLAIN_NAME.fullmatch(entry["name"]) or not isinstance(entry["bytes"], int):
                raise Unusable(f"the job's index is damaged at {entry['place']!r}")
        if not isinstance(sweep, str) or not (elsewhere is None or isinstance(elsewhere, str)):
            raise Unusable("the job's index is damaged")
    except (ValueError, KeyError, TypeError):
        raise Unusable("the job's index is damaged") from None
    return dict(index)


def _read(dashboard: Dashboard, node: str, name: str, patience: Patience) -> bytes | None:
    """A small file as a whole; None where there is none."""
    while True:
        try:
            chunks = dashboard.file(node, name)
            if chunks is None:
                return None
            found = bytearray()
            for chunk in chunks:
                found += chunk
                if len(found) > MOST_BYTES_OF_INDEX:
                    raise Unusable("the job's index is too long")
            patience.restore()
            return bytes(found)
        except Lost as error:
            patience.failed(error)


def _download(
    dashboard: Dashboard,
    node: str,
    name: str,
    entry: Mapping[str, Any],
    path: Path,
    patience: Patience,
) -> None:
    """Fetch a file until it is whole."""
    while True:
        try:
            chunks = dashboard.file(node, name)
            if chunks is None:
                raise Unusable(f"{entry['place']} is gone from the cluster")
            digest, size = hashlib.sha256(), 0
            with open(path, "wb") as file:
                for chunk in chunks:
                    size += len(chunk)
                    if size > entry["bytes"]:
                        break
                    digest.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            if digest.hexdigest() == entry["sha256"]:
                patience.restore()
                return
            raise Lost(f"{entry['place']} arrived damaged")
        except Lost as error:
            patience.failed(error)


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
