"""Where a store is: a local folder, or the URL of an object store, through Arrow's filesystems."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import platformdirs
import pyarrow as pa
import pyarrow.fs as pafs

from analysis.errors import AnalysisError, one_line
from analysis.files import write_file

RECORD = ("manifest.parquet", "config.yaml", "command.txt", "failures.parquet")
"""What the analysis reads of a sweep's folder."""

SECRET = re.compile(r"(^|[^a-z])(key|secret|token|password|passwd|pwd|sig|signature)([^a-z]|$)")
S3_PLACES = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")

UNREADABLE = (OSError, pa.ArrowException)


def is_url(store: str | Path) -> bool:
    """Whether `store` is a URL; anything else is a local folder."""
    return "://" in str(store)


@dataclass(frozen=True)
class Place:
    """A store's root as given, Arrow's filesystem, and the path in it."""

    root: str
    filesystem: pafs.FileSystem
    path: str

    @property
    def local(self) -> Path | None:
        """The folder of a local store."""
        return Path(self.path) if isinstance(self.filesystem, pafs.LocalFileSystem) else None

    def segments(self) -> list[str]:
        """The complete segments of rows, as paths of the filesystem.

        Compaction may take a segment away and put another in its place while the folder is being
        listed, so that a listing holds neither: two listings in a row have to agree.
        """
        found = self._listed()
        for _ in range(10):
            again = self._listed()
            if again == found:
                break
            found = again
        return found

    def _listed(self) -> list[str]:
        selector = pafs.FileSelector(f"{self.path}/rows", allow_not_found=True)
        return sorted(
            info.path
            for info in self.filesystem.get_file_info(selector)
            if info.is_file and info.extension == "parquet" and info.base_name[0] not in "._"
        )

    def sweeps(self) -> dict[str, int]:
        """The sweeps by ID, with the time of their manifests (nanoseconds).

        Raises AnalysisError when the store cannot be read.
        """
        try:
            selector = pafs.FileSelector(f"{self.path}/sweeps", allow_not_found=True)
            names = [info.base_name for info in self.filesystem.get_file_info(selector)]
            paths = [f"{self.path}/sweeps/{name}/manifest.parquet" for name in names]
            found = zip(names, self.filesystem.get_file_info(paths), strict=True)
            return {name: info.mtime_ns or 0 for name, info in found if info.is_file}
        except UNREADABLE as error:
            raise AnalysisError(
                f"store: {self.root!r} cannot be read ({one_line(error)})"
            ) from None

    def fetch(self, sweep: str) -> Path:
        """Copy the record of a sweep to a folder among the user's caches; return it."""
        digest = hashlib.sha256(self.root.encode()).hexdigest()[:16]
        cache = platformdirs.user_cache_path("dp-bandit-sweep") / "reports" / digest
        folder = cache / "sweeps" / sweep
        for name in RECORD:
            try:
                content = self.read(f"{self.path}/sweeps/{sweep}/{name}")
            except FileNotFoundError:
                (folder / name).unlink(missing_ok=True)
                continue
            except UNREADABLE as error:
                raise AnalysisError(
                    f"store: {name} of {sweep!r} in {self.root!r} cannot be read"
                    f" ({one_line(error)})"
                ) from None
            write_file(folder / name, content)
        return folder

    def send(self, folder: Path, files: Iterable[Path]) -> str:
        """Copy files of a sweep's local folder to the store; return the folder's URL."""
        there = f"{self.path}/sweeps/{folder.name}"
        try:
            for path in files:
                target = f"{there}/{path.relative_to(folder).as_posix()}"
                self.filesystem.create_dir(target.rpartition("/")[0], recursive=True)
                with self.filesystem.open_output_stream(target) as stream:
                    stream.write(path.read_bytes())
        except UNREADABLE as error:
            raise AnalysisError(
                f"report: {self.root!r} cannot be written ({one_line(error)}); the report is in"
                f" {str(folder)!r}"
            ) from None
        return f"{self.root.partition('?')[0].rstrip('/')}/sweeps/{folder.name}"

    def read(self, path: str) -> bytes:
        """The content of a file."""
        with self.filesystem.open_input_file(path) as file:
            return bytes(file.read())


def open_place(store: str | Path) -> Place:
    """Return the place of a store; AnalysisError for a URL that cannot be used."""
    root = str(store)
    if not is_url(root):
        return Place(root, pafs.LocalFileSystem(), root)
    _refuse_keys(root)
    try:
        filesystem, path = _from_url(root)
    except (*UNREADABLE, ValueError, TypeError) as error:
        raise AnalysisError(f"store: {root!r} cannot be used ({one_line(error)})") from None
    return Place(root, filesystem, path.rstrip("/"))


def _refuse_keys(root: str) -> None:
    """Raise AnalysisError for a URL with a key or password, without repeating it."""
    scheme, _, rest = root.partition("://")
    user, at, _ = rest.partition("@")
    query = [name for name, _ in parse_qsl(urlsplit(root).query, keep_blank_values=True)]
    names = [name.lower() for name in [*re.findall(r"[?&#;]([^=?&#;]+)=", rest), *query]]
    held = any(SECRET.search(name) or re.search("(access|secret)key", name) for name in names)
    if held or (at and (":" in user or scheme.startswith("s3"))):
        raise AnalysisError(
            f"store: the {scheme}:// URL holds a key or a password (not shown); keys come from"
            " the environment or from the provider's own configuration"
        )


def _from_url(root: str) -> tuple[pafs.FileSystem, str]:
    """Return the filesystem of a URL and the path in it, waiting for seconds, not minutes."""
    parts = urlsplit(root)
    if parts.scheme == "s3":
        options = dict(parse_qsl(parts.query))
        switches = {"anonymous", "force_virtual_addressing", "allow_bucket_creation"}
        if unknown := options.keys() - switches - {"region", "scheme", "endpoint_override",
                                                   "tls_ca_file_path"}:  # fmt: skip
            raise ValueError(f"{unknown.pop()} is no argument of an S3 URL")
        given = {k: v in ("true", "True", "1") if k in switches else v for k, v in options.items()}
        if not given.keys() & {"region", "endpoint_override"} and not any(
            map(os.getenv, S3_PLACES)
        ):
            given["region"] = pafs.resolve_s3_region(parts.netloc)
        retries = pafs.AwsStandardS3RetryStrategy(max_attempts=3)
        filesystem = pafs.S3FileSystem(
            connect_timeout=5.0, request_timeout=10.0, retry_strategy=retries, **given
        )
        return filesystem, parts.netloc + unquote(parts.path)
    if parts.scheme in ("gs", "gcs") and "retry_limit_seconds" not in root:
        return pafs.FileSystem.from_uri(root + "?&"["?" in root] + "retry_limit_seconds=30")
    try:
        return pafs.FileSystem.from_uri(root)
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem" not in str(error):
            raise
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise error from None
        filesystem, path = url_to_fs(root)
        return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), path
