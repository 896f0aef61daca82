"""`python -m algos`: the registered algorithms as a Markdown table.

`python -m algos README.md` replaces the table between the file's two markers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from algos.registry import algorithms

BEGIN, END = "<!-- algorithms -->", "<!-- end of algorithms -->"


def table() -> str:
    """One row per algorithm: name, family, source, guarantee, regret, anytime, skips ahead."""
    lines = [
        "| name | family | source | guarantee | regret | anytime | skips ahead | parameters |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in sorted(algorithms(), key=lambda entry: (entry.family, entry.name)):
        parameters = ", ".join(
            f"{p.name} = {p.derived if p.default is None else p.default}" for p in entry.parameters
        )
        words = ("no", "yes")
        lines.append(
            f"| `{entry.name}` | {entry.family} | {entry.source} | {entry.guarantee} |"
            f" {entry.regret} | {words[entry.anytime]} | {words[entry.skips_ahead]} |"
            f" {parameters} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table, or put it into the files named on the command line."""
    if not sys.argv[1:]:
        print(table())
    for name in sys.argv[1:]:
        path = Path(name)
        head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        _, _, tail = rest.partition(END)
        path.write_text(f"{head}{BEGIN}\n{table()}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
