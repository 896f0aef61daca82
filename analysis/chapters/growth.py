"""Regret against a size of the instance: K, N or m, where a sweep has one shape in several sizes.

What generated an instance is in the manifest; without the size that varies it is the instance's
shape. Cells that agree in all but that size (and the algorithm) make a figure, a panel for each ε.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis import drawing
from analysis.chapter import Chapter, Data, Figure
from analysis.chapters.slopes import table_of as slopes_of_sweep
from analysis.curves import CELL_KEYS, parameters_of
from analysis.labels import MEANINGS, differences, shape_of
from analysis.selection import selected, selection_note
from analysis.words import further, number, replicates, spread

__all__ = ["ORDER", "chapter", "regret_against_size"]

ORDER = 40

MIN_SIZES = 4
"""Different sizes that a series needs before it is drawn."""

MAX_PANELS = 4
MAX_TICKS = 9
MAX_FIGURES = 12

GUIDES: dict[tuple[str, str], tuple[tuple[str, Callable[[Any], Any]], ...]] = {
    ("bandit", "K"): (("K", lambda K: K),),
    ("full_information", "K"): (("ln K", np.log), ("K ln K", lambda K: K * np.log(K))),
}
"""How the bounds of a family grow with a size: hu2024 Theorems 3 and 9 and section 5."""

SIZES = {"K": "number of arms or actions K", "N": "number of experts N", "m": "base arms m"}
SERIES = ["label", "algorithm", "version", "parameters", "uses_epsilon"]
GENERATED = ("instance_generator", "sizes")
FIGURE_KEYS = ["family", "distribution", "shape", "size_name", "T", "seed"]

WORDS = {
    "shape": "what generated the instances, without the size that varies",
    "size": "the smallest and the largest size",
    "R(T)": "mean regret at T for the smallest and for the largest size",
    "grows": "how many times regret is larger at the largest size than at the smallest",
}


def chapter(data: Data) -> Chapter | None:
    """The chapter, for a sweep with a shape that some series has in MIN_SIZES sizes or more."""
    groups = list(shapes(data))
    if not groups:
        return None
    ends = differences(groups, ["T", "seed", "family", "distribution"])
    table = pd.concat([growth(rows) for rows in groups], ignore_index=True)
    return Chapter(
        name="growth",
        title="Growth with the size of the instance",
        table=table,
        view=view(selected(table)),
        meanings=MEANINGS | WORDS,
        figures=[
            Figure(
                f"regret_vs_{rows['size_name'].iloc[0]}-{rows['shape'].iloc[0]}{end}",
                regret_against_size(rows),
            )
            for rows, end in list(zip(groups, ends, strict=True))[:MAX_FIGURES]
        ],
        notes=[*further(len(groups) - MAX_FIGURES), *selection_note(table, "growth")],
    )


def shapes(data: Data) -> Iterator[pd.DataFrame]:
    """The rows of each figure: those of the table of slopes with shape, size_name and size."""
    known = [name for name in GENERATED if name in data.manifest]
    instances = data.manifest[known].drop_duplicates(ignore_index=True)
    shaped = [
        row | {"shape": shape, "size_name": name, "size": size}
        for row in instances.to_dict("records")
        for shape, name, size in sized(row)
    ]
    if not shaped:
        return
    table = data.once(slopes_of_sweep).merge(data.manifest[[*CELL_KEYS, *known]], on=CELL_KEYS)
    table = table.merge(pd.DataFrame(shaped), on=known).drop(columns=known)
    for _, rows in table.groupby(FIGURE_KEYS, sort=False, dropna=False):
        sizes = rows.groupby([*SERIES, "epsilon"], sort=False, dropna=False)["size"]
        rows = rows[sizes.transform("nunique") >= MIN_SIZES]
        if len(rows):
            yield rows


def sized(info: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """The (shape, name of a size, size) of an instance, for every size its generator was given."""
    generator, sizes = (parameters_of(info.get(key)) for key in GENERATED)
    for name, size in sizes.items():
        if name in generator:
            yield shape_of(generator, name), name, int(size)


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per series and ε of a figure: its ends, and how many times regret grows."""
    found = []
    for _, group in rows.groupby([*SERIES, "epsilon"], sort=False, dropna=False):
        ordered = group.sort_values("size")
        first, last = ordered.iloc[0], ordered.iloc[-1]
        row = {name: first[name] for name in [*SERIES, "epsilon", *FIGURE_KEYS]}
        low, high = float(first["regret_T"]), float(last["regret_T"])
        found.append(
            row
            | {
                "n": int(group["n"].min()),
                "sizes": group["size"].nunique(),
                "size_low": first["size"],
                "size_high": last["size"],
                "regret_low": low,
                "regret_high": high,
                "factor": high / low if low > 0 else np.nan,
            }
        )
    return pd.DataFrame(found)


def view(table: pd.DataFrame) -> pd.DataFrame:
    """The table as text, in the words of WORDS."""
    rows = [
        {
            "algorithm": row.label,
            "shape": row.shape,
            "T": number(row.T),
            "ε": number(row.epsilon),
            "n": str(row.n),
            "size": f"{row.size_name} = {row.size_low} to {row.size_high}",
            "R(T)": f"{number(row.regret_low)} to {number(row.regret_high)}",
            "grows": f"{number(row.factor)}-fold",
        }
        for row in table.itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def regret_against_size(rows: pd.DataFrame) -> Any:
    """Mean regret at T against a size, a line per algorithm, a panel per ε (at most MAX_PANELS).

    Args:
        rows: those of one figure, as `shapes` yields them.

    Returns:
        An Altair chart.
    """
    used = rows["uses_epsilon"].astype(bool)
    plain = rows[~used]
    budgets = spread(sorted(rows.loc[used, "epsilon"].unique()), MAX_PANELS)
    looks = {label: drawing.look(i) for i, label in enumerate(rows["label"].unique())}
    panels = {f"ε = {number(e)}": rows[used & (rows["epsilon"] == e)] for e in budgets}
    positive = rows.loc[rows["regret_T"] > 0, "regret_T"]
    # The guides do not stretch the axis, and end where they leave it.
    ends = [positive.min() / 2, positive.max() * 2] if len(positive) else []
    items: list[drawing.Series] = []
    for panel, shown in (panels or {"": rows}).items():
        drawn = pd.concat([shown, plain]) if panels else shown
        for label, series in drawn.groupby("label", sort=False):
            items.append(_line(series.sort_values("size"), looks[label], panel))
        items += _guides(drawn, panel, max(ends, default=np.inf))
    order = [*looks, *(item.label for item in items if item.label not in looks)]
    items.sort(key=lambda item: order.index(item.label))
    name, T = rows["size_name"].iloc[0], rows["T"].iloc[0]
    sizes = spread(sorted(rows["size"].unique()), MAX_TICKS)
    x = drawing.axis(SIZES.get(name, f"size {name}"), rows["size"], ticks=sizes)
    y = drawing.axis(f"mean regret at T = {number(T)} (units of reward)", ends)
    note = f"Means over {replicates(rows['n'])} replicates; bars: 95 % bootstrap interval; "
    note += "dotted: how the bounds grow, from one point."
    return drawing.chart(items, x, y, _title(rows), note, list(panels))


def _line(series: pd.DataFrame, style: drawing.Look, panel: str) -> drawing.Series:
    """One algorithm's mean regrets with their intervals."""
    known = series[series["regret_T"] > 0]
    mean = known["regret_T"].to_numpy(float)
    low, high = (known[f"regret_T_{end}"].to_numpy(float) for end in ("low", "high"))
    # An interval that reaches 0 ends below the axis.
    low = np.where(low > 1e-3 * mean, low, np.where(np.isnan(low), low, 1e-3 * mean))
    label = str(series["label"].iloc[0])
    return drawing.Series(
        label,
        label,
        known["size"].to_numpy(float),
        mean,
        style,
        low,
        high,
        known["n"].to_numpy(float),
        panel,
        bars=True,
        marked=np.full(len(known), True),
    )


def _guides(shown: pd.DataFrame, panel: str, top: float) -> list[drawing.Series]:
    """The growth of the family's bounds from the private series' mean at the smallest size."""
    private = shown[shown["uses_epsilon"].astype(bool)]
    base = private if len(private) else shown
    base = base[base["regret_T"] > 0]
    if base.empty:
        return []
    least = base["size"].min()
    start = float(np.exp(np.log(base.loc[base["size"] == least, "regret_T"].astype(float)).mean()))
    size = np.geomspace(float(least), float(shown["size"].max()), 60)
    key = (shown["family"].iloc[0], shown["size_name"].iloc[0])
    found = []
    for i, (name, growth) in enumerate(GUIDES.get(key, ())):
        height = start * growth(size) / growth(size)[0]
        height = np.where(height <= top, height, np.nan)
        style = drawing.GUIDES[i % len(drawing.GUIDES)]
        found.append(
            drawing.Series(f"as {name}", f"grows as {name}", size, height, style, panel=panel)
        )
    return found


def _title(rows: pd.DataFrame) -> str:
    """How many times regret grows from the smallest to the largest size, as a sentence."""
    name = rows["size_name"].iloc[0]
    start = f"Regret against {name}, {rows['shape'].iloc[0]}"
    table = growth(rows).dropna(subset="factor")
    at = ""
    if table["uses_epsilon"].astype(bool).any():
        least = table["epsilon"].min()
        table, at = table[table["epsilon"] == least], f" at ε = {number(least)}"
    if table.empty:
        return start
    table = table.sort_values("factor", kind="stable")
    ends = [f"{number(row.factor)}-fold ({row.label})" for row in table.itertuples(index=False)]
    words = ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"
    sizes = f"{name} = {number(table['size_low'].min())} to {number(table['size_high'].max())}"
    return f"{start}:{at} it grows {words} from {sizes}"
