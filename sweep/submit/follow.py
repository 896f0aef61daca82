"""Following a job's log over connections that break: no line twice, no line lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import aiohttp

from sweep.submit.client import Dashboard, Lost, reason

SILENCE = 60.0  # seconds after which a connection that says nothing is made anew
FIRST_WAIT, LONGEST_WAIT = 0.5, 15.0  # seconds between attempts
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
BROKEN = (aiohttp.ClientError, RuntimeError, OSError, Lost)


class Patience:
    """Waits between attempts, longer each time, until a dashboard was silent for too long."""

    def __init__(self, seconds: float, say: Callable[[str], None]) -> None:
        self.seconds, self.say = seconds, say
        self.restore()

    def restore(self) -> None:
        """There was an answer."""
        self.since: float | None = None
        self.wait = FIRST_WAIT

    def failed(self, error: BaseException) -> None:
        """Sleep before the next attempt.

        Raises:
            Lost: there was no answer for too long.
        """
        why = str(error) if isinstance(error, Lost) else reason(error)
        now = time.monotonic()
        if self.since is None:
            self.since = now
            self.say(f"connection lost ({why}); trying again for {self.seconds:.0f} s")
        left = self.since + self.seconds - now
        if left <= 0:
            raise Lost(why)
        time.sleep(min(self.wait, left))
        self.wait = min(2 * self.wait, LONGEST_WAIT)


def follow(
    dashboard: Dashboard, job: str, show: Callable[[str], None], patience: Patience
) -> dict[str, Any] | None:
    """Show a job's log from its beginning as it grows; returns what is known of the ended job.

    Returns:
        The job's details, or None if the cluster no longer knows it.

    Raises:
        Lost: there was no answer for longer than `patience` allows.
        InputError: the cluster no longer takes the token.
    """
    shown = 0  # characters; every connection starts at the beginning of the log
    client: Any = None
    while True:
        try:
            client = client or dashboard.client()
            before = shown
            try:
                shown = asyncio.run(_tail(client, job, shown, show))
            except _Broken as broken:
                shown = broken.shown
                if shown > before:
                    patience.restore()
                raise broken.error from None
            details = dashboard.job(job)
        except BROKEN as error:
            try:
                if dashboard.job(job) is None:
                    return None
            except Lost as lost:
                patience.failed(lost)
                continue
            if isinstance(error, TimeoutError):  # nothing was said, but all is well
                patience.restore()
            else:
                patience.failed(error)
            continue
        patience.restore()
        if details is None or details["status"] in ENDED:
            return details
        time.sleep(FIRST_WAIT)


class _Broken(Exception):
    def __init__(self, shown: int, error: BaseException) -> None:
        self.shown, self.error = shown, error


async def _tail(client: Any, job: str, shown: int, show: Callable[[str], None]) -> int:
    """Show the log past its first `shown` characters; returns how many it had."""
    seen = 0
    lines = client.tail_job_logs(job)
    try:
        while True:
            try:
                text = await asyncio.wait_for(anext(lines), SILENCE)
            except StopAsyncIteration:
                return max(shown, seen)
            fresh = text[max(0, shown - seen) :]
            seen += len(text)
            if fresh:
                show(fresh)
    except BROKEN as error:
        raise _Broken(max(shown, seen), error) from None
    finally:
        await lines.aclose()
