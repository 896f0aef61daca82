"""What figures against ε share: the axis with ∞ at its end, a series per algorithm, baselines.

All take rows of one setting: a table with the columns epsilon, uses_epsilon, label, n, the measured
NAME, NAME_low, NAME_high, and those of a series (`analysis.curves.SERIES_KEYS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from analysis.curves import SERIES_KEYS, series_key
from analysis.drawing.axes import Axis, axis
from analysis.drawing.items import Envelope, Series, every
from analysis.drawing.styles import baseline_look, look
from analysis.selection import MAX_POINTS, selected
from analysis.words import estimate


def has_epsilon_axis(rows: pd.DataFrame) -> bool:
    """Whether there is something to draw against ε: two values of it, one of them finite."""
    used = rows.loc[rows["uses_epsilon"].astype(bool), "epsilon"]
    return bool(np.isfinite(used).any() and used.nunique() > 1)


def epsilon_axis(rows: pd.DataFrame) -> Axis:
    """The axis of ε; ε = ∞ stands beyond the largest finite value."""
    epsilon = rows["epsilon"].to_numpy(float)
    infinite = bool(np.isinf(epsilon).any())
    return axis("privacy budget ε (dimensionless)", epsilon, infinite=infinite)


def private_groups(rows: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of every series that uses ε, in order of ε."""
    used = rows[rows["uses_epsilon"].astype(bool)]
    groups = used.groupby(SERIES_KEYS, sort=False, dropna=False)
    return [series.sort_values("epsilon") for _, series in groups]


def thinned(rows: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows that are drawn, where a series has too many ε for a line, and the words for it.

    Of every series that uses ε at most MAX_POINTS are kept, evenly spread.
    """
    groups = private_groups(rows)
    most = max(map(len, groups), default=0)
    if most <= MAX_POINTS:
        return rows, ""
    plain = rows[~rows["uses_epsilon"].astype(bool)]
    kept = pd.concat([*(selected(group, MAX_POINTS) for group in groups), plain])
    return kept, f" Drawn are {MAX_POINTS} of up to {most:,} ε of a series, evenly spread."


def private_series(
    rows: pd.DataFrame,
    name: str,
    x: Axis,
    labels: Mapping[tuple[str, ...], str] | None = None,
) -> list[Series]:
    """A series of the column `name` for every algorithm that uses ε.

    Args:
        rows: the rows of one setting.
        name: the measured column; values that are not positive can't be drawn.
        x: the axis of ε.
        labels: texts for the legend by `series_key`; by default the column `label`.
    """
    found = []
    for i, series in enumerate(private_groups(rows)):
        first = next(series.itertuples(index=False))
        known = series[series[name] > 0]
        low = known[f"{name}_low"].where(known[f"{name}_low"] > 0, known[name])
        found.append(
            Series(
                str(first.label),
                (labels or {}).get(series_key(first), str(first.label)),
                known["epsilon"].replace(np.inf, x.infinity or np.inf).to_numpy(float),
                known[name].to_numpy(float),
                look(i),
                low.where(known[f"{name}_low"].notna()).to_numpy(float),
                known[f"{name}_high"].to_numpy(float),
                known["n"].to_numpy(float),
                marked=every(len(known), 10, i),
                apart=x.infinity or np.inf,
            )
        )
    return found


def baseline_series(rows: pd.DataFrame, name: str, x: Axis) -> list[Series]:
    """A level line with interval and n for every algorithm without ε."""
    plain = rows[~rows["uses_epsilon"].astype(bool) & (rows[name] > 0)]
    found = []
    for i, row in enumerate(plain.to_dict("records")):
        text = estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])
        label = f"{row['label']} (no privacy, n\u00a0=\u00a0{row['n']})\n{text}"
        along = np.geomspace(x.low, x.high, 25)
        ends = (row[f"{name}_low"], row[f"{name}_high"])
        found.append(
            Series(
                row["label"],
                label,
                along,
                np.full(25, row[name]),
                baseline_look(i),
                *ends,
                n=row["n"],
            )
        )
    return found


def heights(items: Iterable[Series | Envelope]) -> list[float]:
    """All values of series and the ends of all intervals, for an axis that holds them."""
    found: list[float] = []
    for item in items:
        for values in (item.y if isinstance(item, Series) else None, item.low, item.high):
            if values is not None:
                found += np.ravel(np.asarray(values, float)).tolist()
    return found
