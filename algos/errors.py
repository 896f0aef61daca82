"""The one kind of error that a user of this project can cause: a bad input, said in one line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class Words(str):
    """What was got, said in our words: shown without the quotes of a user's text."""


class InputError(ValueError):
    """A value that can't be used: which key, what it got, what is allowed, the nearest name.

    `str(error)` is a single line. The command line prints it and exits with status 2.
    """

    def __init__(self, key: str, got: object, allowed: str, closest: str | None = None) -> None:
        self.key, self.got, self.allowed, self.closest = key, got, allowed, closest
        line = f"{key}: got {shown(got)}; allowed: {allowed}"
        if closest is not None:
            line += f"; closest: {closest}"
        super().__init__(" ".join(line.split()))

    def __reduce__(self) -> tuple[type[InputError], tuple[object, ...]]:
        return type(self), (self.key, self.got, self.allowed, self.closest)

    def under(self, prefix: str) -> InputError:
        """The same error with its key inside the section `prefix` of a configuration."""
        return InputError(f"{prefix}.{self.key}", self.got, self.allowed, self.closest)


def shown(value: object, width: int = 80) -> str:
    """`value` as a user would recognise it, cut to `width` characters."""
    quoted = isinstance(value, str) and not isinstance(value, Words)
    text = f"'{value}'" if quoted else str(value)
    return text if len(text) <= width else text[: width - 1] + "…"


def unknown_name(key: str, got: object, known: Iterable[str]) -> InputError:
    """The error for a name that is not one of `known`, with the closest of them."""
    names = sorted(known)
    near = difflib.get_close_matches(str(got), names, n=1, cutoff=0.4)
    return InputError(key, got, ", ".join(names) or "none here", near[0] if near else None)
