"""How often rows are committed.

Whoever holds rows puts them away every two seconds at first. As a sweep goes on, the time between
grows with it, so that each commit puts away a larger segment and what a crash costs stays a small
share of what was done. Many actors take turns: they begin at different phases of that time, which
stay apart as it grows, so that a store gets a bounded number of segments a second.
"""

from __future__ import annotations

import time

LEAST = 2.0  # seconds
SHARE = 1 / 20  # of the time since the start
PER_SECOND = 20.0  # segments, of all actors together
BYTES = 32 * 1024**2  # encoded, that are put away at once
TURN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are spread evenly however many they are


class Pace:
    """Tells how long rows may wait; it starts when it is made."""

    def __init__(self) -> None:
        self.started = time.monotonic()

    def seconds(self, actors: int) -> float:
        """The time between two commits of one of so many actors."""
        return max(LEAST, SHARE * (time.monotonic() - self.started), actors / PER_SECOND)

    def first(self, number: int, actors: int) -> float:
        """Since when actor `number` counts as waiting at its start, so that each has its turn."""
        return time.monotonic() - self.seconds(actors) * (number * TURN % 1.0)

    def is_due(self, since: float, held: int, actors: int) -> bool:
        """Whether `held` bytes that were begun at the monotonic time `since` are put away now."""
        return held > BYTES or time.monotonic() - since > self.seconds(actors)
