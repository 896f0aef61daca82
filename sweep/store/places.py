"""Where a store is: a local folder, or the URL of an object store, through Arrow's filesystems."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import pyarrow as pa
import pyarrow.fs as pafs

from algos.errors import InputError, Words
from sweep.store.errors import one_line
from sweep.store.files import flush_folder, write_atomically

# Words in the name of a query argument that holds a secret (access_key, sig, session_token, …).
SECRET = re.compile(r"(^|[^a-z])(key|secret|token|password|passwd|pwd|sig|signature)([^a-z]|$)")
SECRETS_IN_ONE_WORD = ("accesskey", "secretkey", "sessiontoken", "accountkey", "sastoken", "apikey")
OBJECT_STORES = ("s3", "gcs", "abfs")  # where an object appears whole or not at all
IN_MEMORY = 4 * 1024**2  # files up to this size are fetched in one read
# Where the user's environment says which S3 it is.
S3_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
RETRY_SECONDS = 30  # for Google's client, which would try for 15 minutes


def is_url(root: str | os.PathLike[str]) -> bool:
    """Whether `root` is a URL; anything else is the path of a local folder."""
    return "://" in os.fspath(root)


def check_root(root: str) -> None:
    """Refuse a store's URL that holds a key or password.

    Raises:
        InputError: it does; the message doesn't repeat it.
    """
    if not is_url(root):
        return
    scheme, _, rest = root.partition("://")
    user, at, _ = rest.partition("@")
    held = bool(at) and (":" in user or scheme in ("s3", "s3a", "s3n"))
    # A key may hold characters that end a URL's first part, so the text is looked at, too.
    names = re.findall(r"[?&#;]([^=?&#;]+)=", rest)
    names += [name for name, _ in parse_qsl(urlsplit(root).query, keep_blank_values=True)]
    for name in names:
        lower = name.lower()
        held = held or SECRET.search(lower) is not None
        held = held or any(word in lower for word in SECRETS_IN_ONE_WORD)
    if held:
        raise InputError(
            "store",
            Words(f"a {scheme}:// URL that holds a key or a password (not shown)"),
            "a URL without it; keys come from the environment (AWS_ACCESS_KEY_ID, …) or from the"
            " provider's own configuration",
        )


class Place:
    """The files of a store, by paths relative to its root (`rows/NAME`).

    Methods raise OSError (FileNotFoundError where something is gone) and, for what Arrow itself
    refuses, pa.ArrowException.
    """

    def __init__(self, root: str) -> None:
        """Take a path or a URL; nothing is opened yet.

        Raises:
            InputError: the URL holds a key or password.
        """
        check_root(root)
        self.root = root

    @cached_property
    def _opened(self) -> tuple[pafs.FileSystem, str]:
        return _open(self.root)

    @property
    def filesystem(self) -> pafs.FileSystem:
        """Arrow's filesystem.

        Raises:
            InputError: the URL's scheme is unknown, or it can't be used.
        """
        return self._opened[0]

    @property
    def local(self) -> Path | None:
        """The folder, where the store is a local one."""
        if not is_url(self.root):
            return Path(self.root)
        filesystem, path = self._opened
        return Path(path) if isinstance(filesystem, pafs.LocalFileSystem) else None

    def full(self, path: str) -> str:
        """A path as the filesystem knows it."""
        return f"{self._opened[1]}/{path}"

    def has_folder(self, path: str) -> bool:
        """Whether there is such a folder."""
        return self.filesystem.get_file_info(self.full(path)).type == pafs.FileType.Directory

    def has_file(self, path: str) -> bool:
        """Whether there is such a file."""
        return self.filesystem.get_file_info(self.full(path)).type == pafs.FileType.File

    def make_folder(self, path: str) -> None:
        """Make a folder and its parents."""
        self.filesystem.create_dir(self.full(path), recursive=True)

    def files(self, folder: str, recursive: bool = False) -> dict[str, pafs.FileInfo]:
        """The files below a folder by their path within it, without hidden (unfinished) ones."""
        start = self.full(folder)
        selector = pafs.FileSelector(start, allow_not_found=True, recursive=recursive)
        found = {}
        for info in self.filesystem.get_file_info(selector):
            name = info.path[info.path.index(start) + len(start) :].strip("/")
            if info.is_file and not any(part.startswith((".", "_")) for part in name.split("/")):
                found[name] = info
        return dict(sorted(found.items()))

    def marked_folders(self, folder: str, file: str) -> dict[str, int]:
        """The folders right in `folder` that hold `file`, with its time in nanoseconds."""
        start = self.full(folder)
        inside = self.filesystem.get_file_info(pafs.FileSelector(start, allow_not_found=True))
        names = sorted(info.base_name for info in inside if not info.is_file)
        marks = self.filesystem.get_file_info([f"{start}/{name}/{file}" for name in names])
        return {
            name: mark.mtime_ns or 0
            for name, mark in zip(names, marks, strict=True)
            if mark.is_file
        }

    def read(self, path: str) -> pa.Buffer:
        """The content of a file."""
        with self.filesystem.open_input_file(self.full(path)) as file:
            return file.read_buffer()

    @contextmanager
    def source(self, path: str) -> Iterator[pa.NativeFile]:
        """A file open for reading; a small one is fetched at once."""
        with self.filesystem.open_input_file(self.full(path)) as file:
            if file.size() <= IN_MEMORY:
                yield pa.BufferReader(file.read_buffer())
            else:
                yield file

    def write(self, path: str, content: pa.Buffer) -> None:
        """Write a file that appears whole or not at all, under a name not used before."""
        if self.local is not None:
            write_atomically(self.local / path, lambda temporary: _write(temporary, content))
        elif self.filesystem.type_name in OBJECT_STORES:
            self._send(path, content)
        else:
            folder, _, name = path.rpartition("/")
            temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
            self._send(temporary, content)
            self.filesystem.move(self.full(temporary), self.full(path))

    def replace(self, path: str, content: pa.Buffer) -> None:
        """Write a file that may be there already."""
        replaces = self.local is not None or self.filesystem.type_name in OBJECT_STORES
        if not replaces and self.has_file(path):
            self.filesystem.delete_file(self.full(path))
        self.write(path, content)

    def _send(self, path: str, content: pa.Buffer) -> None:
        with self.filesystem.open_output_stream(self.full(path)) as stream:
            stream.write(content)

    def move(self, path: str, to: str) -> None:
        """Give a file another path; FileNotFoundError if it is gone."""
        self.make_folder(to.rpartition("/")[0])
        try:
            self.filesystem.move(self.full(path), self.full(to))
        except OSError:
            if self.has_file(path):
                raise
            raise FileNotFoundError(path) from None

    def remove(self, folder: str, names: list[str]) -> None:
        """Delete files of a folder; those that are gone already are as good."""
        for name in names:
            with suppress(FileNotFoundError):
                self.filesystem.delete_file(self.full(f"{folder}/{name}"))
        if self.local is not None:
            flush_folder(self.local / folder)


def _write(path: Path, content: pa.Buffer) -> None:
    with open(path, "xb") as file:
        file.write(content)


def _open(root: str) -> tuple[pafs.FileSystem, str]:
    """The filesystem of a path or URL, and the path in it; no `/` at its end.

    Raises:
        InputError: in one line.
    """
    if not is_url(root):
        return pafs.LocalFileSystem(), str(Path(root).absolute())
    scheme = urlsplit(root).scheme
    try:
        if scheme in ("s3", "s3a", "s3n"):
            filesystem, path = _s3(root)
        elif scheme in ("gs", "gcs") and "retry_limit_seconds" not in root:
            limit = ("&" if "?" in root else "?") + f"retry_limit_seconds={RETRY_SECONDS}"
            filesystem, path = pafs.FileSystem.from_uri(root + limit)
        else:
            filesystem, path = pafs.FileSystem.from_uri(root)
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        if "Unrecognized filesystem type" not in str(error):
            raise InputError("store", root, f"a URL that works ({one_line(error)})") from None
        filesystem, path = _fsspec(root)
    path = path.rstrip("/")
    if not path:
        raise InputError("store", root, "a URL that names a folder, such as s3://bucket/store")
    return filesystem, path


def _s3(root: str) -> tuple[pafs.FileSystem, str]:
    """S3 with limits on waiting: Arrow's own way from a URL waits for minutes.

    Raises:
        ValueError, TypeError, OSError, pa.ArrowException: an argument is wrong, the region
            can't be found.
    """
    parts = urlsplit(root)
    options: dict[str, str | bool] = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    known = ("region", "scheme", "endpoint_override", "tls_ca_file_path")
    for name, value in options.items():
        if name in ("anonymous", "force_virtual_addressing", "allow_bucket_creation"):
            options[name] = value in ("true", "True", "1")
        elif name not in known:
            raise ValueError(f"{name} is no argument of an S3 URL; there are {', '.join(known)}")
    if not parts.netloc:
        raise ValueError("it names no bucket")
    if not options.keys() & {"region", "endpoint_override"} and not any(
        map(os.getenv, S3_VARIABLES)
    ):
        options["region"] = pafs.resolve_s3_region(parts.netloc)
    filesystem = pafs.S3FileSystem(
        connect_timeout=5.0,
        request_timeout=10.0,
        retry_strategy=pafs.AwsStandardS3RetryStrategy(max_attempts=3),
        **options,
    )
    return filesystem, parts.netloc + unquote(parts.path)


def _fsspec(root: str) -> tuple[pafs.FileSystem, str]:
    """A filesystem that fsspec knows.

    Raises:
        InputError: fsspec or the package it needs is not installed, or it doesn't know it.
    """
    allowed = "a folder, or a URL that begins with s3://, gs://, abfss:// or file://"
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        more = "fsspec, which knows more, is not installed"
        raise InputError("store", root, f"{allowed} ({more})") from None
    try:
        filesystem, path = url_to_fs(root)
    except Exception as error:  # whatever a filesystem's package raises
        raise InputError("store", root, f"{allowed} ({one_line(error)})") from None
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), path
