"""`python -m sweep +grid=NAME [key=value …]`: run a sweep, stream it, analyse it.

Exit status: 0 done, 1 some units (or the report) failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hydra
import numpy as np
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from rich.console import Console

from algos.errors import InputError
from sweep.grid.config import settings
from sweep.grid.hydra_errors import CONFIGURATION_ERRORS, as_input_error
from sweep.grid.schema import register_schema
from sweep.run import Interrupted, Published, run

BAD_INPUT, INTERRUPTED = 2, 130


@dataclass(frozen=True)
class Analysis:
    """What the analysis does for a sweep; `chapters` are modules that add some to the report."""

    chapters: Sequence[str] = ()

    def check(self) -> None:
        """See that the chapters are there before anything runs.

        Raises:
            InputError: one can't be imported, or is no chapter.
        """
        if self.chapters:
            from analysis.chapters import find_chapters

            try:
                find_chapters(self.chapters)
            except InputError as error:
                raise InputError("chapters", error.got, error.allowed) from None

    def report(self, folder: Path, store: str, unchanged: bool) -> Published | None:
        """Write the report and print its findings; keep one that is up to date."""
        # Imported late: pictures and statistics are needed only once the rows are there.
        import analysis
        from analysis.report.terminal import progress_on, show

        try:
            with progress_on(Console(stderr=True, highlight=False)) as progress:
                report = analysis.write_report(
                    str(folder),
                    store,
                    reuse=unchanged,
                    plugins=self.chapters,
                    progress=progress,
                )
            show(report, Console(highlight=False))
        except analysis.AnalysisError as error:
            print(f"no report: {error}", file=sys.stderr)
            return None
        except Exception as error:  # the rows are safe; a picture that fails must not deny it
            note = folder / "report-error.txt"
            note.write_text(traceback.format_exc(), encoding="utf-8")
            print(f"no report: {type(error).__name__}: {error}; see {note}", file=sys.stderr)
            return None
        names = ("manifest.parquet", "config.yaml", "report.html")
        return Published(
            tables={name: folder / "tables" / f"{name}.csv" for name in report.tables},
            figures=[path for path in report.figures if path.suffix == ".png"],
            files={name: folder / name for name in names},
        )

    def report_seconds(self, cells: int, replicates: int) -> float:
        """What the report of so many cells and replicates is expected to take."""
        from analysis.report.cost import expected_seconds

        return expected_seconds(cells, replicates)

    def curves(self, folder: Path, store: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """(cell, checkpoints, regret) of every complete cell that has regret, as they are read."""
        from analysis.stored import cells_of

        for cell in cells_of(str(folder), store):
            if cell.n == cell.info["replicates"] and len(cell.checkpoints):
                yield cell.info["cell"], cell.checkpoints, cell.regret


@dataclass
class Ends:
    """How the jobs of one command ended: one job, or several with --multirun."""

    started: bool = False
    interrupted: bool = False
    problems: list[InputError] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    @property
    def status(self) -> int:
        """The exit status of the command."""
        if self.interrupted:
            return INTERRUPTED
        return BAD_INPUT if self.problems else max(self.statuses, default=0)


def main() -> None:
    """Compose the configuration with Hydra and run; every bad input is one line."""
    # Hydra then raises its errors instead of printing them over several lines.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    register_schema()
    ends = Ends()

    @hydra.main(version_base="1.3", config_path="pkg://conf", config_name="config")
    def job(config: Any) -> None:
        ends.started = True
        chosen = HydraConfig.get().runtime.choices.get("grid") or "grid"
        command = ["python", "-m", "sweep", *sys.argv[1:]]
        if HydraConfig.get().mode == RunMode.MULTIRUN:  # this job's own
            command[3:] = list(HydraConfig.get().overrides.task)
        try:
            checked = settings(config, chosen)
            answers = Analysis(checked.chapters)
            answers.check()
            ends.statuses.append(run(checked, command, Console(stderr=True), answers))
        except InputError as error:  # kept from Hydra, which would announce it in a line of its own
            ends.problems.append(error)
        except Interrupted:
            ends.interrupted = True

    try:
        with tempfile.TemporaryDirectory(prefix="sweep-multirun-") as scratch:
            os.environ["SWEEP_MULTIRUN_FOLDER"] = scratch
            job()
    except (*CONFIGURATION_ERRORS, ValueError) as error:
        # Hydra raises ValueError, too; one from within a job is a fault of ours.
        if ends.started and not isinstance(error, CONFIGURATION_ERRORS):
            raise
        ends.problems.append(as_input_error(error, sys.argv[1:]))
    except KeyboardInterrupt:
        ends.interrupted = True
    for problem in ends.problems:
        print(f"error: {problem}", file=sys.stderr)
    sys.exit(ends.status)


if __name__ == "__main__":
    main()
