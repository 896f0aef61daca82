"""Answers from a results store: slopes, transitions, bounds, figures and reports.

    import analysis

    df = analysis.load("latest", store="results")
    analysis.slopes(df)
    analysis.transitions(df)
    analysis.stopping(df)
    analysis.write_report("latest", store="results").html

Only the store is read: neither the sweep's machinery nor the algorithms are imported.
"""

from analysis import bounds
from analysis.errors import AnalysisError
from analysis.loading import load
from analysis.report import Report, write_report
from analysis.slopes import slopes
from analysis.stopping import stopping
from analysis.transitions import transitions

__all__ = [
    "AnalysisError",
    "Report",
    "bounds",
    "load",
    "slopes",
    "stopping",
    "transitions",
    "write_report",
]
