"""Answers from a results store: slopes, knees, bounds, figures and reports.

    import analysis

    df = analysis.load("latest", store="results")
    analysis.slopes(df)
    analysis.transitions(df)
    analysis.stopping(df)
    analysis.write_report("latest", store="results").html

Only the store is read: neither the sweep's machinery nor the algorithms are imported. `load` has
all rows in memory; a report has a cell of them at a time. A row goes from file to figure so:
`stored` divides the cells among the processes of a `crew`; `measuring` reads them there, `curves`
stacks the replicates of each, and `measures` (with the plain functions of `statistics`) make of
them a few numbers; a module of `chapters` puts these into a table and draws it with `drawing`;
`report` writes what the chapters give.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis import bounds, chapters, drawing
    from analysis.chapters.slopes import slopes
    from analysis.chapters.stopping import stopping
    from analysis.chapters.transitions import transitions
    from analysis.drawing import save
    from analysis.errors import AnalysisError
    from analysis.loading import load
    from analysis.report.record import Report
    from analysis.report.writing import write_report

__all__ = [
    "AnalysisError", "Report", "bounds", "chapters", "drawing", "load", "save", "slopes",
    "stopping", "transitions", "write_report",
]  # fmt: skip

_HOMES = {
    "AnalysisError": "analysis.errors",
    "Report": "analysis.report.record",
    "load": "analysis.loading",
    "save": "analysis.drawing",
    "slopes": "analysis.chapters.slopes",
    "stopping": "analysis.chapters.stopping",
    "transitions": "analysis.chapters.transitions",
    "write_report": "analysis.report.writing",
}
"""Where public names live. They are imported when first asked for: figures and fits are heavy."""


def __getattr__(name: str) -> Any:
    """A public function or module, imported at its first use."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in __all__:
        return importlib.import_module(f"analysis.{name}")
    raise AttributeError(f"module 'analysis' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted({*globals(), *__all__})
