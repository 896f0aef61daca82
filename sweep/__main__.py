"""`python -m sweep +grid=NAME [key=value …]`: run a sweep, stream it, analyse it.

Exit status: 0 done, 1 some units (or the report) failed, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hydra
import numpy as np
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from rich.console import Console

from algos.errors import InputError
from sweep.grid.config import CONFIGURATION_ERRORS, as_input_error, register_schema, settings
from sweep.run import Interrupted, Published, run

BAD_INPUT, INTERRUPTED = 2, 130


def analyse(folder: Path, store: str, unchanged: bool) -> Published | None:
    """Write the report of a sweep and print its findings; keep one that is up to date."""
    # Imported late: pictures and statistics are needed only once the rows are there.
    import analysis
    from analysis.terminal import show

    try:
        report = analysis.write_report(str(folder), store, reuse=unchanged)
    except analysis.AnalysisError as error:
        print(f"no report: {error}", file=sys.stderr)
        return None
    except Exception as error:  # the rows are safe; a picture that fails must not say otherwise
        note = folder / "report-error.txt"
        note.write_text(traceback.format_exc(), encoding="utf-8")
        print(f"no report: {type(error).__name__}: {error}; see {note}", file=sys.stderr)
        return None
    show(report, Console(highlight=False))
    tables = {name: folder / "tables" / f"{name}.csv" for name in report.tables}
    return Published(
        tables=tables,
        figures=[path for path in report.figures if path.suffix == ".png"],
        files={
            "manifest.parquet": folder / "manifest.parquet",
            "config.yaml": folder / "config.yaml",
            "report.html": report.html,
        },
    )


def curves(folder: Path, store: str) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(cell, checkpoints, regret) of every complete cell of a sweep."""
    import analysis

    frame = analysis.load(str(folder), store)
    for cell, rows in frame.groupby("cell", sort=False):
        if len(rows) == rows["replicates"].iloc[0]:
            rows = rows.sort_values("replicate")
            yield str(cell), rows["checkpoints"].iloc[0], np.stack(list(rows["regret"]))


def main() -> None:
    """Compose the configuration with Hydra and run; every bad input is one line."""
    # Hydra then raises its errors instead of printing them over several lines.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    register_schema()
    statuses: list[int] = []
    problems: list[InputError] = []
    interrupted: list[bool] = []
    started: list[bool] = []

    @hydra.main(version_base="1.3", config_path="pkg://conf", config_name="config")
    def task(config: Any) -> None:
        chosen = HydraConfig.get().runtime.choices.get("grid") or "grid"
        started.append(True)
        command = ["python", "-m", "sweep", *sys.argv[1:]]
        if HydraConfig.get().mode == RunMode.MULTIRUN:  # this job's own
            command[3:] = list(HydraConfig.get().overrides.task)
        try:
            checked = settings(config, chosen)
            statuses.append(run(checked, command, Console(stderr=True), analyse, curves))
        except InputError as error:  # kept from Hydra, which would announce it in a line of its own
            problems.append(error)
        except Interrupted:
            interrupted.append(True)

    try:
        with tempfile.TemporaryDirectory(prefix="sweep-multirun-") as scratch:
            os.environ["SWEEP_MULTIRUN_FOLDER"] = scratch
            task()
    except CONFIGURATION_ERRORS as error:
        print(f"error: {as_input_error(error)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except ValueError as error:  # Hydra's, where a group is given something that is no name
        if started:
            raise
        print(f"error: {as_input_error(error)}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        interrupted.append(True)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if interrupted:
        sys.exit(INTERRUPTED)
    sys.exit(BAD_INPUT if problems else max(statuses, default=0))


if __name__ == "__main__":
    main()
