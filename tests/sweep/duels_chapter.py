"""A chapter of its own for the report: how often pairs of arms change."""

from __future__ import annotations

import altair as alt

from analysis.chapter import Chapter, Data, Figure, Overview
from analysis.curves import Curves
from analysis.measuring import Measure


def changes(cell: Curves) -> float | None:
    """Mean changes of the pair over the replicates of a cell."""
    counts = cell.outcomes.get("changes")
    return None if counts is None else float(counts.mean())


def measures(data: Data) -> list[Measure]:
    """What is measured of every cell."""
    return [changes]


def chapter(data: Data) -> Chapter | None:
    """Mean changes of the pair, a row for each algorithm, instance and ε."""
    cells = data.manifest.assign(changes=data.measured(changes))
    table = cells.dropna(subset="changes")[["algorithm", "instance", "epsilon", "changes"]]
    if table.empty:
        return None
    view = table.assign(changes=table["changes"].map("{:.1f}".format))
    most = table.loc[table["changes"].idxmax()]
    chart = alt.Chart(table).mark_point().encode(x="algorithm:N", y="changes:Q")
    return Chapter(
        name="changes",
        title="Changes of the pair",
        table=table,
        view=view,
        meanings={"changes": data.families["duels"]["columns"][0]["meaning"]},
        headlines=[f"{most['algorithm']} changes its pair most often: {most['changes']:.1f} times"],
        figures=[Figure("changes", chart)],
        overviews=[Overview("Changes of the pair", view)],
    )
