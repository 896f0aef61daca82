"""What a running sweep says: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_EVERY = 5.0  # seconds between plain lines


@dataclass
class Counts:
    """How far a sweep is; rounds are simulated rounds, seconds expected ones."""

    cells: int
    cells_done: int
    replicates: int
    replicates_done: int
    seconds: float
    seconds_done: float = 0.0
    rounds_done: float = 0.0
    failures: int = 0
    actors: int = 0
    warming: int = 0


class Compiling:
    """Shows which kernels are being compiled, and how many are left; a context manager."""

    def __init__(self, console: Console, kernels: int) -> None:
        self.console, self.kernels = console, kernels
        self.live = console.is_terminal and kernels > 0
        self.last = time.monotonic()
        self.bar = Progress(
            TextColumn("compiling"),
            BarColumn(bar_width=None),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("", total=kernels)

    def __enter__(self) -> Compiling:
        self.bar.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.bar.stop()

    def update(self, left: Sequence[str]) -> None:
        """Show the names of the kernels that are left, the first ones in work."""
        detail = f"{left[0]}, {len(left)} left" if left else ""
        if self.live:
            self.bar.update(self.task, completed=self.kernels - len(left), description=detail)
        elif time.monotonic() - self.last >= PLAIN_EVERY:
            self.last = time.monotonic()
            self.console.print(f"compiling {detail}", highlight=False)


class Display:
    """Shows `Counts`; use as a context manager."""

    def __init__(self, console: Console, counts: Counts) -> None:
        self.console, self.counts = console, counts
        self.started = time.monotonic()
        self.last = self.started - PLAIN_EVERY
        self.live = console.is_terminal
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[detail]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not self.live,
        )
        self.task = self.bar.add_task("simulating", total=counts.seconds, detail=self.detail())

    def __enter__(self) -> Display:
        self.bar.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.bar.stop()

    def rate(self) -> float:
        """Rounds simulated per second since the start."""
        return self.counts.rounds_done / max(1e-9, time.monotonic() - self.started)

    def detail(self) -> str:
        """Cells, replicates, rate and failures in a few words."""
        counts = self.counts
        words = (
            f"cells {counts.cells_done}/{counts.cells}  "
            f"replicates {counts.replicates_done}/{counts.replicates}  {self.rate():.1e} rounds/s  "
            f"actors {counts.actors}"
        )
        words += f" ({counts.warming} loading kernels)" if counts.warming else ""
        return words + (f"  failed units {counts.failures}" if counts.failures else "")

    def update(self) -> None:
        """Show the counts as they are now."""
        if self.live:
            self.bar.update(self.task, completed=self.counts.seconds_done, detail=self.detail())
        elif time.monotonic() - self.last >= PLAIN_EVERY:
            self.last = time.monotonic()
            elapsed = time.monotonic() - self.started
            done = self.counts.seconds_done
            left = elapsed * (self.counts.seconds - done) / done if done else float("nan")
            remaining = f", about {left:.0f} s left" if done else ""
            self.console.print(f"{self.detail()}  {elapsed:.0f} s{remaining}", highlight=False)
