"""What this machine has for a sweep."""

from __future__ import annotations

import os


def cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0))
