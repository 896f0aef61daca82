"""What processes of a crew are asked for in tests; light, since each imports this file."""

from __future__ import annotations

import os
import time


def twice(number: int) -> tuple[int, int]:
    """The double, and who says so; fails at 13."""
    if number == 13:
        raise LookupError("13")
    return 2 * number, os.getpid()


def dies_elsewhere(item: tuple[int, int]) -> tuple[int, int]:
    """The double of the second; asked for 3, a process other than the first dies."""
    home, number = item
    if number == 3 and os.getpid() != home:
        os._exit(9)
    return 2 * number, os.getpid()


def sleeps(seconds: float) -> float:
    """Takes long."""
    time.sleep(seconds)
    return seconds
