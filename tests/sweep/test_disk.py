"""A disk that refuses: one line, nothing committed is lost, the same command goes on."""

from __future__ import annotations

import errno
import sys

import pytest
from test_plan import planned

from sweep import run as running
from sweep.__main__ import main
from sweep.engine import driver as driving
from sweep.store import Store
from sweep.store.segments import Segment


def test_a_full_disk_is_one_line(tmp_path, monkeypatch, capsys):
    """The commit of rows fails as it does on a full disk; what was there before stays."""

    def full(self: Store, segment: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    def fails(self: driving.Driver, *unused: object) -> None:
        self.job.store.keep_segment(Segment("x.parquet", None))
        raise AssertionError("the commit must fail")

    monkeypatch.setattr(Store, "keep_segment", full)
    monkeypatch.setattr(driving.Driver, "carry_out", fails)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sweep", "+grid=quickstart", "tracking=none"])
    with pytest.raises(SystemExit) as stopped:
        main()
    err = capsys.readouterr().err
    assert stopped.value.code == 2 and "Traceback" not in err
    assert "No space left on device" in err and "the same command goes on" in err


def test_other_faults_are_not_taken_for_the_disk(monkeypatch):
    assert errno.ECONNREFUSED not in running.UNWRITABLE and errno.ENOSPC in running.UNWRITABLE


def test_a_report_that_fails_loses_nothing(tmp_path, capsys, monkeypatch):
    import analysis
    from sweep.__main__ import Analysis

    def broken(*unused: object, **options: object) -> None:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(analysis, "write_report", broken)
    assert Analysis().report(tmp_path, str(tmp_path), False) is None
    err = capsys.readouterr().err
    assert "no report: ZeroDivisionError: no such luck" in err and err.count("\n") == 1
    assert "Traceback" in (tmp_path / "report-error.txt").read_text()


def test_runs_are_told_apart_past_the_digits_of_their_names():
    from sweep.engine.points import Points

    plan, _ = planned(
        "grid.algorithm=[ucb1]", "grid.T=[100001,100002]",
        "grid.instance=[{name:bernoulli,means:[[0.5,0.4],[0.5,0.4000001]]}]",
    )  # fmt: skip
    for limit in (4, 16):
        points = Points(plan, limit)
        assert len(points.runs) == len(set(points._run_of.values())) == 4
