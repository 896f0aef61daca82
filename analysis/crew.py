"""Processes that measure cells and fit series, on the cores that this process may use.

A process of a crew runs this file as a script: it starts with nothing loaded, whatever the program
that made it, reads a pickled (function, argument) at a time from its input and writes what came of
it to its output. It ends when its input does, so none outlives the program. What a process that
died was asked for is done here instead, in the thread that asked.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

AHEAD = 2  # calls for each process that wait for it


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Crew:
    """Some processes; a context manager. With size 0 everything is done in this process."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._members = [_Member() for _ in range(size)]
        self._free = deque(self._members)
        self._threads = ThreadPoolExecutor(max(1, size))
        self._closing = False

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing = True
        for member in self._members:
            member.end()
        self._threads.shutdown(cancel_futures=True)

    def prepare(self, function: Callable[[], None]) -> None:
        """Have every process load what the module of `function` needs."""
        for _ in self._members:
            self._threads.submit(self._run, _call, function)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """`function` of each item, in order; it and the items can be pickled.

        Items are taken from `items` as processes become free.
        """
        if not self.size:
            yield from map(function, items)
            return
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(self._threads.submit(self._run, function, item))
            if len(waiting) >= AHEAD * self.size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _run(self, function: Callable[[Item], Result], item: Item) -> Result:
        """The result from a process, or made here where it died."""
        member = self._free.popleft()  # there are as many threads as processes
        try:
            return member.ask(function, item)
        except _Died:
            if self._closing:
                raise
            return function(item)
        finally:
            self._free.append(member)


SETTINGS = {
    # One thread each: the processes are as many as the cores.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # Memory is kept from cell to cell: giving it back to the system took a third of the time.
    "MALLOC_MMAP_THRESHOLD_": str(2**28),
    "MALLOC_TRIM_THRESHOLD_": str(2**28),
    "MALLOC_TOP_PAD_": str(2**25),
}
"""Of a process's environment: for its libraries, read where they are loaded."""


class _Died(Exception):
    """The process is not there any more."""


class _Member:
    """A process of a crew."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | SETTINGS,
        )
        self._begun = False
        self._lock = threading.Lock()

    def ask(self, function: Callable[[Item], Result], item: Item) -> Result:
        """What the process makes of it; raises what the function does, _Died if it is gone."""
        assert self._process.stdin is not None and self._process.stdout is not None
        call = pickle.dumps((function, item), protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock:
            try:
                if not self._begun:
                    pickle.dump(sys.path, self._process.stdin)
                    self._begun = True
                self._process.stdin.write(call)
                self._process.stdin.flush()
                good, answer = pickle.load(self._process.stdout)
            except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
                raise _Died from error
        if not good:
            raise answer
        return answer

    def end(self) -> None:
        """End the process, whatever it does."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()


def _call(function: Callable[[], None]) -> None:
    function()


def main(calls: BinaryIO, answers: BinaryIO) -> None:
    """Answer calls until they end."""
    sys.path[:] = pickle.load(calls)
    while True:
        try:
            call = pickle.load(calls)
        except EOFError:
            return
        answers.write(_answer(call))
        answers.flush()


def _answer(call: tuple[Callable[[Any], Any], Any]) -> bytes:
    """(True, result) or (False, error), pickled."""
    function, item = call
    try:
        return pickle.dumps((True, function(item)), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        try:
            text = pickle.dumps((False, error))
            pickle.loads(text)
        except Exception:
            text = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        return text


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that asks decides
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not stand among answers
    main(sys.stdin.buffer, output)
