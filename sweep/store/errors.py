"""Faults of a disk or a network, told in one line."""

from __future__ import annotations

import pyarrow as pa

# What Arrow's filesystems raise where a store can't be read or written.
UNREACHABLE = (OSError, pa.ArrowException)


def one_line(error: BaseException, limit: int = 300) -> str:
    """The first line of an error, or what the system calls it; at most `limit` characters."""
    text = getattr(error, "strerror", None) or str(error).strip().split("\n")[0]
    line = " ".join(str(text).split()) or type(error).__name__
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
