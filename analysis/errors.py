"""The one error a user of the analysis can cause, and how it is worded."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class AnalysisError(Exception):
    """Input the analysis cannot use; the message is one line that says what to change."""


def closest(given: str, valid: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the valid name nearest to `given`, or ""."""
    match = difflib.get_close_matches(given, list(valid), n=1, cutoff=0.4)
    return f"; did you mean {match[0]!r}?" if match else ""


def one_line(error: BaseException, limit: int = 160) -> str:
    """Return an exception's text on one line of at most `limit` characters."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= limit else text[: limit - 1] + "…"
