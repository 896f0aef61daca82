"""`python -m sweep.store compact|verify PATH`: look after a store.

Exit status: 0 all is well, 1 something is damaged, 2 bad input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from algos.errors import InputError
from sweep.store.compact import compact
from sweep.store.errors import UNREACHABLE, one_line
from sweep.store.segments import ROWS, TIMINGS
from sweep.store.store import Store
from sweep.store.verify import verify

DONE, DAMAGE, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line, like every other error here."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and exit with status 2."""
        self.exit(BAD_INPUT, f"error: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = _Parser(prog="python -m sweep.store", description="Look after a results store.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, does in (
        (
            "verify",
            "Check every segment and definition, and name what is damaged. Changes nothing.",
        ),
        ("compact", "Merge small segments and drop duplicated rows, while others read and write."),
    ):
        command = commands.add_parser(name, help=does, description=does)
        command.add_argument("path", metavar="PATH", help="the store: a folder or a URL")
    given = parser.parse_args(arguments)
    try:
        store = Store(given.path)
        if not store.exists():
            raise InputError("store", given.path, "a store, with a folder rows/ of results")
        return _verify(store) if given.command == "verify" else _compact(store)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
    except UNREACHABLE as error:
        allowed = f"a store that can be written ({one_line(error)}); nothing is lost"
        print(f"error: {InputError('store', given.path, allowed)}", file=sys.stderr)
    except KeyboardInterrupt:
        return INTERRUPTED
    return BAD_INPUT


def _verify(store: Store) -> int:
    found = verify(store)
    for damaged in found.damaged:
        print(f"{damaged.name}: {damaged.reason}")
    for line in found.differing:
        print(line)
    print(
        f"{found.segments:,} segments of rows, {found.timings:,} of timings and"
        f" {found.definitions:,} definitions are sound, {len(found.damaged):,} damaged;"
        f" {found.rows:,} rows, {found.duplicates:,} of them duplicates, {found.different:,} that"
        " differ"
    )
    return DONE if found.sound else DAMAGE


def _compact(store: Store) -> int:
    status = DONE
    for folder in (ROWS, TIMINGS):
        done = compact(store, folder)
        for damaged in done.damaged:
            print(f"{damaged.name}: {damaged.reason}; left alone")
            status = DAMAGE
        print(
            f"{folder}: {done.segments:,} segments with {done.rows:,} rows before,"
            f" {done.segments_after:,} with {done.rows_after:,} after"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
