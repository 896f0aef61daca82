"""What a sweep is expected to take, as it is said before the start."""

from __future__ import annotations

import sys

import pytest
from test_plan import planned

from sweep.__main__ import main
from sweep.engine import estimate as estimating
from sweep.engine.estimate import HERE_STARTS, KERNEL_SECONDS, RAY_STARTS, estimate, is_played_here
from sweep.grid.effort import More, fixed
from sweep.grid.units import Pending

GRID = ("+grid=quickstart", "grid.algorithm=[adap_ucb,dp_se]", "grid.epsilon=[0.1,1]")


@pytest.fixture
def pending(monkeypatch):
    """Ten seconds of work, on a machine of four cores."""
    monkeypatch.setattr(estimating, "cores", lambda: 4)
    plan, _ = planned(*GRID)
    found = Pending(plan)
    monkeypatch.setattr(found, "seconds", 10.0)
    return found


def test_a_sweep_is_played_where_it_is_done_first(pending):
    _, checked = planned(*GRID)
    assert not is_played_here(checked, pending, fixed)
    even = (RAY_STARTS - HERE_STARTS) * 4 / 3
    pending.seconds = even - 0.01
    assert is_played_here(checked, pending, fixed)
    pending.seconds = even + 0.01
    assert not is_played_here(checked, pending, fixed)
    pending.seconds = 0.1
    for options in (["runtime.actors=1"], ["runtime=cluster"], ["runtime.executor=ray"]):
        assert not is_played_here(planned(*GRID, *options)[1], pending, fixed)
    assert not is_played_here(checked, pending, lambda *unused: More())


def test_the_estimate_has_every_part(pending):
    _, checked = planned(*GRID)
    found = estimate(checked, pending, fixed, 5, 2.0)
    assert (found.start, found.compilation) == (RAY_STARTS, 2 * KERNEL_SECONDS)
    assert (found.simulation, found.report, found.actors) == (2.5, 2.0, 4)
    assert found.total == RAY_STARTS + 2 * KERNEL_SECONDS + 4.5
    assert str(found) == (
        "about 18 s: 4 s to start, 10 s to compile, 2.5 s to simulate with 4 actors,"
        " 2 s for the report"
    )
    cluster = estimate(planned(*GRID, "runtime=cluster")[1], pending, fixed, 0, 0.0)
    assert str(cluster) == "about 14 s: 4 s to start, 10 s to simulate on one core"
    here = estimate(planned(*GRID, "runtime=inline")[1], pending, fixed, 0, 0.0)
    assert str(here) == "about 10 s: 0.5 s to start, 10 s to simulate here"


def test_a_complete_store_needs_its_report_only(pending):
    pending.replicates = 0
    assert str(estimate(planned(*GRID)[1], pending, fixed, 0, 2.0)) == (
        "about 2 s: 2 s for the report"
    )
    assert str(estimate(planned(*GRID)[1], pending, fixed, 0, 0.0)) == "nothing is to be done"


def test_a_dry_run_says_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for more, has in (([], True), (["report=false"], False)):
        monkeypatch.setattr(sys, "argv", ["sweep", "+grid=quickstart", "dry_run=true", *more])
        with pytest.raises(SystemExit):
            main()
        line = capsys.readouterr().err.rstrip().split("\n")[-1]
        assert line.startswith("about ") and "to simulate here" in line
        assert ("for the report" in line) == has


def test_a_report_is_expected_to_take_longer_for_more():
    from analysis.report.cost import START, expected_seconds

    assert START < expected_seconds(28, 560) < expected_seconds(860, 344_000)
    assert expected_seconds(860, 344_000) < expected_seconds(100_000, 10_000_000) < 600
