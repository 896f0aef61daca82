"""Fixtures for tests that run whole sweeps."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import end, start


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Hydra, run within a test, leaves handlers that write to the test's closed streams."""
    handlers, level = list(logging.root.handlers), logging.root.level
    yield
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start` in the test's folder; whatever still runs at the end is ended."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        running.append(start(arguments, tmp_path))
        return running[-1]

    yield begin
    for process in running:
        end(process)
