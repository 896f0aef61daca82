"""Whether the kernels of a sweep compile, asked before anything starts.

A kernel that was compiled from today's sources on this machine leaves a mark in the folder of the
compiled kernels, which is named after these sources. The others are compiled here, several at a
time; actors on this machine then load them from the disk.

Why a kernel doesn't compile is read from the text of Numba's error: its first line that is not
"Failed in nopython mode", below the seams that led there, the signature after ">>>", and the places
it names as File "…", line N.
Where a text has none of these, the line is its first one and the kernel's own place.
"""

from __future__ import annotations

import linecache
import os
import re
import signal
import traceback
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from types import CodeType
from typing import Any

from numba.core import config as numba_config
from numba.core.errors import NumbaError

from algos import kernel_cache
from algos.blocks import is_compiled
from algos.contents import is_address
from algos.errors import InputError, Words, shown
from algos.registry import load_plugins
from algos.work import Work

TELL_SECONDS = 0.5  # between words on how compilation goes, at most
WIDTH = 120  # letters of Numba's reason, and of the line of code
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
FAILED, SEAM = (
    "Failed in nopython mode pipeline",
    "No implementation of function Function(<function",
)
WITHIN = "raised a specific error:"
SPOT = re.compile(r'^File "([^"]+)", line (\d+)', re.MULTILINE)
config: Any = numba_config
OURS = str(Path(kernel_cache.__file__).parent)


def check_kernels(
    needed: Sequence[Work],
    plugins: Sequence[str],
    cores: int,
    tell: Callable[[Sequence[str]], None] = lambda left: None,
) -> None:
    """Compile what was not compiled before.

    Args:
        needed: one piece of work for each kernel.
        plugins: the modules that register algorithms.
        cores: how many kernels may be compiled at a time.
        tell: is told the names of the kernels that are left, about every other moment.

    Raises:
        InputError: a kernel doesn't compile; the line has Numba's cause and the user's code.
    """
    if config.DISABLE_JIT:
        return
    missing = uncompiled(needed, plugins)
    # What is large stays in this process.
    apart = [work for work in missing if not is_address(work.instance.definition)]
    if cores > 1 and len(apart) > 1:
        workers = min(cores, len(apart))
        # A process that dies leaves its kernel to this one.
        with suppress(BrokenProcessPool), _pool(workers, plugins) as pool:
            left = {pool.submit(_problem, work): name_of(work) for work in apart}
            while left:
                tell(list(left.values()))
                done, _ = wait(left, TELL_SECONDS, FIRST_COMPLETED)
                for one in done:
                    left.pop(one)
                    if (found := one.result()) is not None:
                        pool.shutdown(cancel_futures=True)
                        raise found
    for i, work in enumerate(missing):  # those of above from the disk
        if len(apart) <= 1 or cores <= 1:
            tell([name_of(one) for one in missing[i:]])
        if (found := _problem(work)) is not None:
            raise found
        if is_compiled(work.algorithm.form):  # it may have failed before that
            with suppress(OSError):
                _mark(work, plugins).touch()


def uncompiled(needed: Iterable[Work], plugins: Sequence[str]) -> list[Work]:
    """Those of these kernels that have not been compiled on this machine."""
    if config.DISABLE_JIT:
        return []
    return [work for work in needed if not _mark(work, plugins).exists()]


def name_of(work: Work) -> str:
    """What a kernel is called: that of an algorithm for a kind of instances."""
    return f"{work.algorithm.name} on {work.instance.kind}"


def _pool(workers: int, plugins: Sequence[str]) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, get_context("spawn"), _prepare, (tuple(plugins),))


def _prepare(plugins: Sequence[str]) -> None:
    """Make a process ready to compile; Ctrl-C is for the process that waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    load_plugins(plugins)


def _mark(work: Work, plugins: Sequence[str]) -> Path:
    sources = kernel_cache.code(plugins).split()[0]
    name = f"{work.algorithm.name}-{work.instance.kind}-{sources}.compiled"
    return kernel_cache.directory() / name


def _problem(work: Work) -> InputError | None:
    """Why a kernel doesn't compile; None where it does, whatever it raises when it runs."""
    try:
        work.warm()
    except Exception as error:
        if not isinstance(error, NumbaError) and not _raised_by_numba(error):
            return None
        got = Words(f"{work.algorithm.name} on {work.instance.label}")
        why = cause(error, work.algorithm.kernel)
        return InputError("grid.algorithm", got, f"an algorithm whose kernel compiles ({why})")
    return None


def _raised_by_numba(error: BaseException) -> bool:
    """Whether the compiler itself raised an error, rather than code that it compiled."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(str(frame.f_globals.get("__name__")).startswith("numba.") for frame in frames)


def cause(error: BaseException, kernel: Any) -> str:
    """Numba's own reason, and the line of the user's code that it is about."""
    lines = [line.strip() for line in ESCAPES.sub("", str(error)).split("\n")]
    told = [line for line in lines if line and FAILED not in line]
    # A kernel is compiled for a seam (algos.dispatch): its own error stands below the seam's.
    while told and told[0].startswith(SEAM) and any(line.endswith(WITHIN) for line in told):
        told = told[[line.endswith(WITHIN) for line in told].index(True) + 1 :]
    reason = told[0] if told else type(error).__name__
    signature = next((line for line in told if line.startswith(">>>")), "")
    if reason.endswith("signature:"):
        reason = f"{reason} {signature.removeprefix('>>>').strip()}"
    spots = [(os.path.abspath(file), int(line)) for file, line in SPOT.findall("\n".join(lines))]
    if not spots:
        spot, code = getattr(error, "loc", None), kernel.__code__
        spots = [(spot.filename, spot.line) if spot else _first_line(code)]
    # The innermost line comes first; one of the kernel's author says more than one of ours.
    file, line = next((spot for spot in spots if not spot[0].startswith(OURS)), spots[0])
    text = linecache.getline(file, line).strip()
    return f"{shown(Words(reason), WIDTH)}; {os.path.basename(file)}:{line}: {text[:WIDTH]}"


def _first_line(code: CodeType) -> tuple[str, int]:
    """Where a function begins, below its decorators."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return code.co_filename, line
