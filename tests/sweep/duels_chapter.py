"""A chapter of its own for the report: how often pairs of arms change."""

from __future__ import annotations

import altair as alt

from analysis.chapter import Chapter, Data, Figure, Overview


def chapter(data: Data) -> Chapter | None:
    """Mean changes of the pair, a row for each algorithm, instance and ε."""
    if "changes" not in data.df:
        return None
    keys = ["algorithm", "instance", "epsilon"]
    rows = data.df.dropna(subset="changes")
    table = rows.groupby(keys, dropna=False, sort=False)["changes"].mean().reset_index()
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
