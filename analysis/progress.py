"""What a long report says of its progress."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told what is being done, a few times a second at most."""

    def __call__(self, doing: str, share: float, /) -> None:
        """`share` of `doing` is done, from 0 to 1."""


def silent(doing: str, share: float) -> None:
    """Says nothing."""
