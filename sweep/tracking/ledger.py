"""What a sweep has told W&B, so that no start of it tells it twice."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sweep.store.files import write_atomically

Mark = str | int
"""What was logged: hash of a point, name and hash of a file, or a step of the progress."""


class Ledger:
    """What was logged, over all starts of a sweep: FOLDER/tracking.json.

    Marks are saved before what they stand for is handed to W&B: a crash in between loses a
    point there (the store has it), and no point is ever logged twice.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.url = ""
        self._runs: dict[str, dict[str, Any]] = {}
        if path.exists():
            try:
                content = json.loads(path.read_text("utf-8"))
                self.url, self._runs = content["url"], content["runs"]
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{path} is damaged; without it everything is sent again"
                ) from error

    def run(self, key: str) -> dict[str, Any]:
        """Entry of a run: its next W&B step, its marks, the largest step of its progress."""
        return self._runs.setdefault(key, {"step": 0, "marks": [], "progress": -1})

    def has(self, key: str, mark: Mark) -> bool:
        """Whether the mark was set before."""
        entry = self.run(key)
        return mark <= entry["progress"] if isinstance(mark, int) else mark in entry["marks"]

    def add(self, key: str, marks: Iterable[Mark]) -> None:
        """Set marks."""
        entry = self.run(key)
        for mark in marks:
            if isinstance(mark, int):
                entry["progress"] = max(entry["progress"], mark)
            else:
                entry["marks"].append(mark)

    def remove(self, key: str, marks: Iterable[Mark]) -> None:
        """Take marks back; the progress stays, it is replaced by what comes later anyway."""
        gone = set(marks)
        entry = self.run(key)
        entry["marks"] = [mark for mark in entry["marks"] if mark not in gone]

    def save(self) -> None:
        """Replace the file: a reader sees the old one or the new one, never a part."""
        text = json.dumps({"url": self.url, "runs": self._runs})
        write_atomically(self._path, lambda path: path.write_text(text, encoding="utf-8"))


def logged_points(folder: Path, runs: Iterable[str]) -> int | None:
    """How many points a sweep has told W&B for these runs; None where its ledger can't be read."""
    try:
        known = json.loads((folder / "tracking.json").read_text("utf-8"))["runs"]
        return sum(len(known[run]["marks"]) for run in runs if run in known)
    except (OSError, ValueError, KeyError, TypeError):
        return None
