"""What a sweep says while it compiles and plays: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import io
import itertools
import time

import pytest
from rich.console import Console
from test_plan import planned

from algos.errors import InputError
from sweep.engine import kernels
from sweep.engine.progress import PLAIN_EVERY, Compiling, Counts, Display
from sweep.grid.units import Pending


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=120)


def said(by: Console) -> str:
    assert isinstance(by.file, io.StringIO)
    return by.file.getvalue()


def test_compilation_says_which_kernel_and_how_many_are_left():
    live = console(True)
    with Compiling(live, 3) as display:
        display.update(["dp_se on bernoulli", "ucb1 on bernoulli"])
        display.bar.refresh()
    assert "dp_se on bernoulli, 2 left" in said(live)


def test_where_there_is_no_terminal_compilation_says_a_line_now_and_then(monkeypatch):
    now = 50.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    plain = console(False)
    with Compiling(plain, 2) as display:
        display.update(["dp_se on bernoulli", "ucb1 on bernoulli"])
        assert said(plain) == ""
        now += PLAIN_EVERY
        display.update(["ucb1 on bernoulli"])
        display.update(["ucb1 on bernoulli"])
    assert said(plain) == "compiling ucb1 on bernoulli, 1 left\n"


@pytest.mark.parametrize("cores", [1, 2])
def test_those_who_wait_for_kernels_are_told_what_is_left(cores, monkeypatch):
    """Kernels that are compiled already, asked for as if they were not."""
    plan, _ = planned("+grid=quickstart", "grid.T=[1000]", "grid.algorithm=[adap_ucb,dp_se]")
    needed = Pending(plan).kernels()
    monkeypatch.setattr(kernels, "uncompiled", lambda works, plugins: list(works))
    told: list[list[str]] = []
    kernels.check_kernels(needed, (), cores, lambda left: told.append(list(left)))
    assert told[0] == ["adap_ucb on bernoulli", "dp_se on bernoulli"]
    assert all(0 < len(later) <= len(left) for left, later in itertools.pairwise(told))


def test_a_kernel_that_fails_ends_the_words(monkeypatch):
    plan, _ = planned("+grid=quickstart", "grid.T=[1000]", "grid.algorithm=[adap_ucb,dp_se]")
    needed = Pending(plan).kernels()
    monkeypatch.setattr(kernels, "uncompiled", lambda works, plugins: list(works))
    problem = InputError("grid.algorithm", "adap_ucb", "one that compiles")
    monkeypatch.setattr(kernels, "_problem", lambda work: problem)
    told: list[list[str]] = []
    with pytest.raises(InputError, match="one that compiles"):
        kernels.check_kernels(needed, (), 1, lambda left: told.append(list(left)))
    assert told == [["adap_ucb on bernoulli", "dp_se on bernoulli"]]


def test_actors_that_are_not_ready_are_told():
    counts = Counts(cells=4, cells_done=1, replicates=8, replicates_done=2, seconds=3.0, warming=2)
    display = Display(console(False), counts)
    assert "actors 0 (2 loading kernels)" in display.detail()
    counts.actors, counts.warming = 2, 0
    assert display.detail().endswith("actors 2")
