"""`python -m analysis report [SWEEP] [--store PATH]`: the findings here, the rest in a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from rich.console import Console

from analysis.errors import AnalysisError
from analysis.report.terminal import progress_on, show
from analysis.report.writing import write_report


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like every other error here."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with status 2."""
        self.exit(2, f"error: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0 when done, 2 for bad input, 130 when interrupted."""
    parser = _Parser(
        prog="python -m analysis",
        description="Analyse a sweep from its results store.",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    report = commands.add_parser(
        "report",
        help="fit slopes and knees, draw figures, write report.html",
        description="Fit slopes and knees of regret, draw the figures, write report.html, figures/ "
        "and tables/ into the sweep's folder, and print the findings.",
    )
    report.add_argument(
        "sweep",
        nargs="?",
        default="latest",
        metavar="SWEEP",
        help="an ID, a unique prefix of one, the sweep's folder, or latest (default)",
    )
    report.add_argument(
        "--store",
        default="results",
        metavar="PATH",
        help="the results store, a folder or a URL (default: results)",
    )
    report.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="MODULE",
        help="a module with a chapter of its own, to import and run (repeatable)",
    )
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return 2
    try:
        with progress_on(Console(stderr=True, highlight=False)) as progress:
            written = write_report(
                given.sweep, given.store, plugins=given.plugin, progress=progress
            )
    except AnalysisError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    show(written, Console(highlight=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
