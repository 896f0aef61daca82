"""`python -m sweep`, with the seconds of its parts written to a file.

    python3 tests/bench/timed_sweep.py FILE +grid=quickstart tracking=none …

Run by `whole_command.py`. The parts are those that the command's own thread spends: Ray starts and
ends beside others, and counts as far as it is waited for. The file is JSON: seconds by part, and
under `playing` moments (time.time()), the first when the driver began to carry out units, the last
when it had done so.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

BEGAN = psutil.Process().create_time()
PLAYING = "simulate and commit"
FIGURES = ("drawing figures", "writing tables and page")  # of what a report says it does


class Parts:
    """Seconds by part; a part within another one counts once, as itself."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.open: list[str] = []
        self.last = BEGAN
        self.playing: list[float] = []

    def switch(self, begin: str | None = None) -> None:
        """Book the time since the last switch; then begin a part, or go back to the one around."""
        now = time.time()
        name = self.open[-1] if self.open else "imports, configuration, plan"
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.last
        self.last = now
        if PLAYING in (begin, name):
            self.playing.append(now)
        if begin is None:
            self.open.pop()
        else:
            self.open.append(begin)

    def timed(self, owner: Any, name: str, part: str) -> None:
        """Have a function's calls count as a part."""
        function: Callable[..., Any] = getattr(owner, name)

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            self.switch(part)
            try:
                return function(*given, **named)
            finally:
                self.switch()

        setattr(owner, name, call)


def main() -> None:
    """Run the sweep and write the file."""
    file = Path(sys.argv.pop(1))
    from analysis.report import terminal
    from sweep import run
    from sweep.__main__ import Analysis
    from sweep.__main__ import main as sweep
    from sweep.engine import driver

    parts = Parts()
    parts.timed(run.Invocation, "carry_out", "record, and the rest")
    parts.timed(run, "check_kernels", "compile")
    parts.timed(driver.Driver, "carry_out", PLAYING)
    parts.timed(Analysis, "report", "statistics")
    choose, shown = run.choose, terminal.progress_on

    def chosen(*given: Any) -> Any:
        executor = choose(*given)
        parts.timed(type(executor), "ready", "Ray")
        return executor

    @contextmanager
    def progress_on(console: Any) -> Iterator[Callable[[str, float], None]]:
        with shown(console) as tell:
            drawing = False

            def told(doing: str, share: float) -> None:
                nonlocal drawing
                if doing in FIGURES and not drawing:
                    drawing = True
                    parts.switch("figures and page")
                tell(doing, share)

            yield told
            if drawing:
                parts.switch()

    run.choose, terminal.progress_on = chosen, progress_on
    try:
        sweep()
    finally:
        found = {"seconds": parts.seconds, "playing": parts.playing}
        file.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
