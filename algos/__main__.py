"""`python -m algos`: the registered algorithms.

Without arguments, all of them as a Markdown table; with the name of one, its page; with the name
of a file, the table is put between the file's two markers (`python -m algos README.md`).
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path
from typing import NoReturn

from algos.errors import InputError, Words, unknown_name
from algos.families import FAMILIES
from algos.registry import ALGORITHMS, Algorithm, Parameter, algorithms

BEGIN, END = "<!-- algorithms -->", "<!-- end of algorithms -->"
WORDS = ("no", "yes")


def table() -> str:
    """One row per algorithm, by family and name."""
    lines = [
        "| name | family | source | what it does | guarantee | regret | at ε = ∞ | anytime"
        " | skips ahead | parameters |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for entry in sorted(algorithms(), key=lambda entry: (entry.family, entry.name)):
        parameters = ", ".join(f"{p.name} = {_default(p)}" for p in entry.parameters)
        noiseless = "" if entry.noiseless is None else f"`{entry.noiseless}`"
        lines.append(
            f"| `{entry.name}` | {entry.family} | {entry.source} | {entry.summary} |"
            f" {entry.guarantee} | {entry.regret} | {noiseless} | {WORDS[entry.anytime]} |"
            f" {WORDS[entry.skips_ahead]} | {parameters} |"
        )
    return "\n".join(lines)


def page(entry: Algorithm) -> str:
    """What there is to know about one algorithm."""
    facts = {
        "family": f"{entry.family}: {FAMILIES[entry.family].summary}",
        "source": entry.source,
        "guarantee": entry.guarantee,
        "regret": entry.regret,
        "ε": entry.epsilon_range,
        "at ε = ∞": "" if entry.noiseless is None else f"the same as {entry.noiseless}",
        "rounds": ", ".join(
            (
                "anytime" if entry.anytime else "depends on T",
                "skips ahead" if entry.skips_ahead else "round by round",
            )
        ),
        "version": str(entry.version),
    }
    lines = [f"{entry.name}: {entry.summary}", ""]
    lines += [f"  {key:<10} {value}" for key, value in facts.items() if value]
    if entry.parameters:
        lines += ["", "Parameters", ""]
    for p in entry.parameters:
        lines.append(f"  {p.name} = {_default(p)}, {p.range}")
        lines += textwrap.wrap(p.meaning, 90, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def _default(parameter: Parameter) -> object:
    return parameter.derived if parameter.default is None else parameter.default


def update(path: Path) -> None:
    """Put the table between the file's two markers.

    Raises:
        InputError: it doesn't have them, or can't be read or written.
    """
    try:
        head, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        _, end, tail = rest.partition(END)
        if not begin or not end:
            raise InputError("file", str(path), f"a file with the lines {BEGIN} and {END}")
        path.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("file", str(path), f"a text file ({error})") from None


class _Parser(argparse.ArgumentParser):
    """Bad arguments are one line, as everywhere in this project."""

    def error(self, message: str) -> NoReturn:
        """Raise what `main` prints."""
        raise InputError("command line", Words(message), "an algorithm, files, or --help")


def main(arguments: list[str] | None = None) -> int:
    """Print the table or a page, or update files; the exit status."""
    parser = _Parser("python -m algos", description="The registered algorithms.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="an algorithm, to print its page; or a file, to bring its table up to date",
    )
    try:
        names = parser.parse_args(arguments).names
        for number, name in enumerate(names):
            if name in ALGORITHMS:
                print("\n" * (number > 0) + page(ALGORITHMS[name]))
            elif Path(name).is_file():
                update(Path(name))
            else:
                raise unknown_name("algorithm", name, ALGORITHMS)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    if not names:
        print(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
