"""What `sweep.submit` runs on the cluster: the sweep, and then the packing of what it left.

    python -m sweep.submit.job JOB SWEEP STORE OVERRIDE …

A relative STORE is below ~/dp-bandit-sweep on the machine that runs the job, the head node, so
the same command goes on where it was. Report and rows are left in Ray's log folder, from which
the dashboard hands them out; they go with Ray's session.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sweep.grid.compose import quoted
from sweep.store import Store
from sweep.store.definitions import addresses_in, path_of
from sweep.submit.fetch import FOLDER, INDEX, PLAIN_NAME

HOME = "dp-bandit-sweep"
SEGMENT = 32 * 1024**2  # bytes of rows in memory for one file
BATCH = 4096  # rows read at once
OWN = ("wandb", "tracking.json", "tracking.log")  # of a sweep's folder, for the cluster only


def store_place(store: str) -> str:
    """Where STORE is on this machine: a URL or an absolute path as it is."""
    if "://" in store:
        return store
    return str(Path.home() / HOME / Path(store).expanduser())


def main(job: str, sweep: str, store: str, overrides: Sequence[str]) -> int:
    """Run the sweep, leave its results for the client; returns the sweep's exit status."""
    place = store_place(store)
    print(f"store {place}", flush=True)
    command = [sys.executable, "-m", "sweep", *overrides, quoted("store", place)]
    # A stop reaches every process of the job; the sweep commits and ends, then this goes on.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    status = subprocess.call(command, preexec_fn=_default_signals)
    try:
        folder = log_folder()
        if folder is not None:
            pack(place, sweep, folder / FOLDER / job)
    except (OSError, pa.ArrowException) as error:
        print(f"the results stay in {place}: {error}", flush=True)
    return status if status >= 0 else 128 - status


def _default_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def log_folder() -> Path | None:
    """The log folder of the Ray session that this process belongs to; None if it has ended."""
    from algos.errors import InputError
    from sweep.engine.ray_session import QUIET, ray, session

    try:
        with session("auto", 1):
            context: Any = ray.init(ignore_reinit_error=True, **QUIET)  # the same session's
            return Path(context.address_info["session_dir"]) / "logs"
    except InputError as error:
        print(f"the results stay on the cluster: {error}", flush=True)
        return None


def pack(store: str, sweep: str, target: Path) -> None:
    """Write a sweep's report and rows, and the index of them, into the new folder `target`.

    The rows of a store at a URL stay there. Nothing is written for a sweep that left no folder.
    """
    place = Store(store).place
    folder = f"sweeps/{sweep}"
    left = place.files(folder, recursive=True)
    if not left:
        return
    target.parent.mkdir(mode=0o700, exist_ok=True)
    _remove_older(target.parent, sweep)
    target.mkdir(mode=0o700)
    files: list[dict[str, Any]] = []
    for name in left:
        parts = name.split("/")
        if parts[0] in OWN or not all(PLAIN_NAME.fullmatch(part) for part in parts):
            continue
        with place.source(f"{folder}/{name}") as source, _new(target) as file:
            shutil.copyfileobj(source, file)
        files.append(_entry(Path(file.name), "/".join(["sweeps", sweep, *parts])))
    if place.local is not None:
        columns = ["cell", "stream", "instance_definition"]
        manifest = pq.read_table(place.local / folder / "manifest.parquet", columns=columns)
        for path in map(path_of, addresses_in(manifest["instance_definition"])):
            try:
                with place.source(path) as source, _new(target) as file:
                    shutil.copyfileobj(source, file)
            except FileNotFoundError as error:
                print(f"left out {path}: {error}", flush=True)
            else:
                files.append(_entry(Path(file.name), path))
        for kind, column in (("rows", "cell"), ("timings", "stream")):
            wanted = manifest[column].combine_chunks().unique()
            for table in _matching(place.local / kind, column, wanted):
                with _new(target) as file:
                    pq.write_table(
                        table, file, compression="zstd", compression_level=1,
                        write_page_checksum=True,
                    )  # fmt: skip
                entry = _entry(Path(file.name), "")
                # Named by content, as segments are: what is fetched twice is there once.
                name = f"{entry['sha256'][:32]}-{entry['sha256'][:16]}.parquet"
                files.append(entry | {"place": f"{kind}/{name}"})
    # In this order definitions come before the rows that refer to them, and the report last.
    files.sort(key=lambda entry: entry["place"])
    index = {
        "sweep": sweep,
        "elsewhere": None if place.local is not None else store,
        "files": files,
    }
    with _new(target) as file:
        file.write(json.dumps(index).encode())
    os.replace(file.name, target / INDEX)


def _matching(folder: Path, column: str, wanted: pa.Array) -> Iterator[pa.Table]:
    """The rows of a folder's segments whose `column` is among `wanted`, in tables of one schema."""
    batches: list[pa.RecordBatch] = []
    size = 0
    for path in sorted(folder.glob("[!.]*.parquet")):
        try:
            with pq.ParquetFile(path) as segment:
                for batch in segment.iter_batches(BATCH):
                    found = batch.filter(pc.is_in(batch[column], value_set=wanted))
                    if not found.num_rows:
                        continue
                    if batches and (size > SEGMENT or batches[0].schema != found.schema):
                        yield pa.Table.from_batches(batches)
                        batches, size = [], 0
                    batches.append(found)
                    size += found.nbytes
        except (pa.ArrowException, OSError, KeyError) as error:
            print(f"left out {path}: {error}", flush=True)
    if batches:
        yield pa.Table.from_batches(batches)


def _new(target: Path) -> BinaryIO:
    """A new file that nobody else can read."""
    path = target / f"{uuid.uuid4().hex}.part"
    path.touch(mode=0o600, exist_ok=False)
    return open(path, "wb")


def _entry(path: Path, place: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": path.name, "place": place, "bytes": path.stat().st_size, "sha256": digest}


def _remove_older(folder: Path, sweep: str) -> None:
    """Remove what earlier jobs of the same sweep left: this one's contains it."""
    for index in folder.glob(f"*/{INDEX}"):
        try:
            same = json.loads(index.read_bytes())["sweep"] == sweep
        except (OSError, ValueError, KeyError):
            continue
        if same:
            shutil.rmtree(index.parent, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
