"""Measures in one pass over the store, on several processes; what is shown of much; progress."""

from __future__ import annotations

import io
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest
from crew_tasks import dies_elsewhere, sleeps, twice
from rich.console import Console

import analysis
from analysis import measuring, stored
from analysis.chapter import Data
from analysis.chapters import find_chapters
from analysis.chapters.slopes.table import measure_of, slopes_of
from analysis.chapters.transitions.table import transitions_of
from analysis.crew import Crew
from analysis.curves import Curves
from analysis.measures.knees import MeasurePoint
from analysis.rendering import library
from analysis.report import terminal
from analysis.report.terminal import progress_on
from analysis.selection import MAX_POINTS, MAX_ROWS
from analysis.statistics import staircase
from sweep.store import find_sweep
from sweep.store.cells import CellRows, Portion
from sweep.store.segments import VanishedError

T = 1000


def series(synthetic: SimpleNamespace, count: int, n: int = 3, **info: Any) -> list[Any]:
    """Cells over four decades of ε, with a knee at 0.9."""
    rng = np.random.default_rng(count)
    shape = np.log(synthetic.grid(T)) / math.log(T)
    return [
        synthetic.Plan(
            100 * (1 + (0.9 / e) ** 4) ** 0.25 * (1 + 0.1 * rng.standard_normal((n, 1))) * shape,
            T=T,
            epsilon=float(e),
            doubling=False,
            **info,
        )
        for e in np.geomspace(0.01, 100, count)
    ]


@pytest.fixture
def store(synthetic: SimpleNamespace, tmp_path: Path) -> Path:
    """Two series with a knee, one algorithm that is told T, one cell under two labels."""
    made = series(synthetic, 107) + series(synthetic, 20, algorithm="dp_se", anytime=False)
    made.append(synthetic.Plan(made[0].regret, T=T, epsilon=0.01, label="again", replicates=2))
    synthetic.write_sweep(tmp_path / "store", made)
    return tmp_path / "store"


def data_of(store: Path, crew: Crew) -> Data:
    """The newest sweep of a store."""
    found = find_sweep("latest", store)
    return Data(stored.Stored(found, found.manifest(), crew))


@pytest.mark.parametrize("processes", [0, 2])
def test_tables_are_those_of_a_loaded_frame(store: Path, processes: int) -> None:
    df = analysis.load(store=store)
    with Crew(processes) as crew:
        data = data_of(store, crew)
        pd.testing.assert_frame_equal(slopes_of(data, measure_of(data)), analysis.slopes(df))
        fits = transitions_of(data, MeasurePoint())
    assert len(fits) == 2
    pd.testing.assert_frame_equal(fits, analysis.transitions(df))


def test_a_report_does_not_depend_on_the_number_of_processes(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "FEW", 0)
    made = []
    for processes in (1, 2):
        report = analysis.write_report(store=store, processes=processes)
        assert not report.warnings
        files = [*report.figures, *sorted((report.html.parent / "tables").iterdir())]
        made.append({path.name: path.read_bytes() for path in files if path.suffix != ".pdf"})
    assert made[0].keys() == made[1].keys() and len(made[0]) > 8
    assert [name for name in made[0] if made[0][name] != made[1][name]] == []


def count(cell: Curves) -> int:
    """Replicates."""
    return cell.n


def raises(cell: Curves) -> int:
    """Fails at one cell."""
    if cell.info["epsilon"] == 100.0:
        raise LookupError("no such thing")
    return 1


def test_all_measures_are_asked_in_one_pass(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of(store, Crew(0))
    passes = []
    measure = stored.Stored.measure
    monkeypatch.setattr(
        stored.Stored, "measure", lambda *given: passes.append(1) or measure(*given)
    )
    data.measure([count, MeasurePoint()])
    assert data.measured(count) == [3] * 127 + [2]
    assert data.sweep["found"] == 383 and data.measured(MeasurePoint())[0].n == 3
    assert data.measured(count) == data.manifest["replicates"].tolist() and passes == [1]


def test_a_measure_that_fails_takes_no_other_down(store: Path) -> None:
    data = data_of(store, Crew(0))
    data.measure([raises, count])
    assert sum(data.measured(count)) == 383
    with pytest.raises(LookupError, match="no such thing"):
        data.measured(raises)


def test_cells_that_a_compaction_takes_away_are_measured_later(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The segment goes when the third cell is read; another has its rows."""
    reading, read, calls = measuring.read, [], []

    def disturbed(portion: Portion) -> Iterator[CellRows]:
        calls.append(len(portion.cells))
        for one in reading(portion):
            if len(read) == 3:
                read.append(-1)
                [path] = (store / "rows").iterdir()
                path.rename(path.with_name("compacted.parquet"))
                raise VanishedError(path.name)
            read.append(one.cell)
            yield one

    monkeypatch.setattr(measuring, "read", disturbed)
    data = data_of(store, Crew(0))
    assert data.measured(count) == data.manifest["replicates"].tolist()
    assert calls == [127, 124] and sorted(read) == list(range(-1, 127))


def test_chosen_cells_are_read(store: Path) -> None:
    data = data_of(store, Crew(0))
    keys = list(data.manifest[["cell", "instance"]].itertuples(index=False, name=None))
    found = data.curves([keys[3], keys[-1], ("absent", "")])
    assert found.keys() == {keys[3], keys[-1]}
    assert found[keys[3]].n == 3 and found[keys[-1]].n == 2 and found[keys[-1]].key == keys[-1]


# The crew


def test_a_crew_answers_in_order_from_other_processes() -> None:
    with Crew(2) as crew:
        answers = list(crew.map(twice, [5, 1, 4]))
    assert [number for number, _ in answers] == [10, 2, 8]
    assert os.getpid() not in {pid for _, pid in answers}


def test_what_a_dead_process_was_asked_for_is_done_here() -> None:
    with Crew(2) as crew:
        answers = crew.map(dies_elsewhere, [(os.getpid(), i) for i in range(6)])
        assert [number for number, _ in answers] == [0, 2, 4, 6, 8, 10]
        members = [member._process for member in crew._members]
        limit = time.monotonic() + 30.0  # its pipes close before it has ended
        while all(member.poll() is None for member in members):
            assert time.monotonic() < limit
            time.sleep(0.01)


def test_errors_come_back_and_no_process_stays() -> None:
    with pytest.raises(LookupError, match="13"), Crew(2) as crew:
        pids = [member._process.pid for member in crew._members]
        list(crew.map(twice, [1, 13, 2]))
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_an_interruption_leaves_no_process() -> None:
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Crew(2) as crew:
        pids = [member._process.pid for member in crew._members]
        answers = crew.map(sleeps, [0.0, 60.0, 60.0, 60.0])
        next(answers)
        raise KeyboardInterrupt
    assert time.monotonic() - begin < 20
    assert not any(psutil.pid_exists(pid) for pid in pids)


# Much of it


def test_a_large_sweep_shows_a_selection(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """Nothing is refused; page, figures and terminal say what they leave out, the CSV has all."""
    made = series(synthetic, 1200, n=2)
    folder = synthetic.write_sweep(tmp_path, made)
    report = analysis.write_report(store=tmp_path)
    assert not report.warnings
    assert len(pd.read_csv(folder / "tables" / "slopes.csv")) == 1200
    page = report.html.read_text(encoding="utf-8").replace(library(), "")
    assert "500 of 1,200 rows are shown, evenly spread; tables/slopes.csv has all." in page
    assert page.count("<tr>") < MAX_ROWS + 50
    assert f"Drawn are {MAX_POINTS} of up to 1,200 ε of a series" in page
    fit = report.tables["transitions"].iloc[0]
    assert fit["resolved"] == "yes" and fit["epsilon_star"] == pytest.approx(0.9, rel=0.15)
    assert "neighbouring points averaged to one" in fit["note"] and fit["points"] < 32 * 13.3


def test_a_fit_is_given_a_bounded_number_of_points() -> None:
    assert staircase.neighbours(np.log(np.geomspace(0.01, 100, 107))) == 1
    assert staircase.neighbours(np.log(np.linspace(1, 100, 999))) == 1
    for many in (np.geomspace(0.01, 100, 12_500), np.linspace(1, 100, 12_500)):
        x = np.log(many)
        size = len(x) // staircase.neighbours(x)
        assert 200 < size < 2 * staircase.MOST


def test_shipped_chapters_say_what_they_measure(store: Path) -> None:
    """Each of their measures can be sent, and is found again by its value."""
    data = data_of(store, Crew(0))
    for module in find_chapters():
        if hasattr(module, "measures"):
            first, again = module.measures(data), module.measures(data)
            assert first == again and list(map(hash, first)) == list(map(hash, again))


# Progress


def test_progress_names_every_stage(store: Path) -> None:
    said: list[tuple[str, float]] = []
    analysis.write_report(store=store, progress=lambda doing, share: said.append((doing, share)))
    stages = list(dict.fromkeys(doing for doing, _ in said))
    assert stages == [
        "reading and measuring cells",
        "fitting knees",
        "drawing figures",
        "writing tables and page",
    ]
    assert all(0 <= share <= 1 for _, share in said)
    assert ("reading and measuring cells", 1.0) in said and ("fitting knees", 1.0) in said


def test_progress_is_a_bar_on_a_terminal_and_goes() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with progress_on(console) as progress:
        progress("fitting knees", 0.25)
        progress("fitting knees", 0.5)
    text = screen.getvalue()
    assert "report: fitting knees" in text and "50%" in text
    assert text.rstrip().endswith("\x1b[2K")  # the line is erased


@pytest.mark.parametrize(("pause", "lines"), [(100.0, 0), (0.0, 2)])
def test_progress_elsewhere_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, pause: float, lines: int
) -> None:
    monkeypatch.setattr(terminal, "PAUSE", pause)
    screen = io.StringIO()
    with progress_on(Console(file=screen, width=40)) as progress:
        progress("reading and measuring cells", 0.25)
        progress("fitting knees", 1.0)
    said = screen.getvalue().splitlines()
    assert len(said) == lines
    if lines:
        assert said == ["report: reading and measuring cells, 25%", "report: fitting knees, 100%"]
