"""Files that are complete or absent."""

from __future__ import annotations

import os
import uuid
from pathlib import Path


def write_file(path: Path, content: bytes | str) -> Path:
    """Write `content` under a unique temporary name, then rename it to `path`; return `path`.

    Creates the folder. A reader sees the old file or the new one, never a part.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
