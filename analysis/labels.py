"""Names of series and of settings, short but unambiguous within one table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analysis.curves import parameters_of
from analysis.words import number

SETTING_KEYS = ["instance", "instance_definition", "K", "N", "T", "seed"]
"""What is equal within one figure: everything but the algorithm and ε."""

MEANINGS = {
    "algorithm": "registry name, with the parameters that differ within this sweep",
    "instance": "the environment as the grid names it, with K, N, T or the seed where several "
    "occur",
    "T": "horizon in rounds",
    "ε": "privacy budget; - where the algorithm has none, ∞ where its noise is off",
    "n": "number of replicates",
}
"""Words of the columns with which the rows of most tables begin."""


def first_columns(row: Any) -> dict[str, str]:
    """The columns of MEANINGS for a labelled row of a table, as text; ε where the row has one."""
    epsilon = {"ε": number(row.epsilon)} if hasattr(row, "epsilon") else {}
    start = {"algorithm": row.label, "instance": row.setting, "T": number(row.T)}
    return start | epsilon | {"n": str(row.n)}


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with two more columns, `label` and `setting`; unchanged where it has them.

    `label` names the algorithm and those of its parameters (and versions) that differ within
    the frame; `setting` the instance, and K, N, T, seed where the frame holds several.
    """
    if {"label", "setting"} <= set(frame.columns):
        return frame
    return frame.assign(label=_labels(frame), setting=_settings(frame))


def largest_horizon(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows with the largest T among those that are equal but for T."""
    keys = [name for name in SETTING_KEYS if name != "T"]
    largest = frame.groupby(keys, dropna=False, sort=False)["T"].transform("max")
    return frame[frame["T"] == largest]


def settings(frame: pd.DataFrame) -> list[pd.DataFrame]:
    """The rows of each setting, in order of appearance."""
    return [rows for _, rows in frame.groupby(SETTING_KEYS, sort=False, dropna=False)]


def same_setting(frame: pd.DataFrame, row: pd.Series[Any]) -> pd.DataFrame:
    """The rows of `frame` whose setting is that of `row`."""
    keep = np.ones(len(frame), dtype=bool)
    for name in SETTING_KEYS:
        keep &= np.array([str(value) == str(row[name]) for value in frame[name]], dtype=bool)
    return frame[keep]


def differences(groups: Sequence[pd.DataFrame], names: Sequence[str]) -> list[str]:
    """What tells groups of rows apart, to end the names of their figures: ", T=1e7, seed=1".

    Args:
        groups: frames of one row or more.
        names: columns that are equal within each group; those that are equal in all are left out.
    """
    firsts = [rows.iloc[0] for rows in groups]
    shown = [name for name in names if len({str(first[name]) for first in firsts}) > 1]
    return ["".join(f", {name}={_value(first[name])}" for name in shown) for first in firsts]


def shape_of(generator: Mapping[str, Any], size: str) -> str:
    """What generated an instance, without one of its values: equal_gap(gap=0.25)."""
    rest = {key: value for key, value in generator.items() if key not in (size, "name")}
    given = ", ".join(f"{key}={_short(value)}" for key, value in rest.items())
    return f"{generator.get('name', 'instance')}({given})"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else number(value)


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
    text = value if isinstance(value, str) else text
    return text if len(text) <= 40 else text[:39] + "…"


def _labels(frame: pd.DataFrame) -> list[str]:
    parsed = {text: parameters_of(text) for text in frame["parameters"].unique()}
    labels = {}
    for name, group in frame.groupby("algorithm", sort=False):
        sets = [parsed[text] for text in group["parameters"].unique()]
        differing = _differing(sets)
        versions = group["version"].nunique() > 1
        for text, version in group[["parameters", "version"]].drop_duplicates().to_numpy():
            parts = [f"{k}={parsed[text][k]}" for k in differing if k in parsed[text]]
            parts += [f"v{version}"] if versions else []
            labels[name, text, version] = f"{name}({', '.join(parts)})" if parts else str(name)
    keys = zip(frame["algorithm"], frame["parameters"], frame["version"], strict=True)
    return [labels[key] for key in keys]


def _differing(sets: Iterable[dict[str, Any]]) -> list[str]:
    """The keys under which mappings hold different values."""
    given = list(sets)
    names = sorted(set().union(*given))
    return [name for name in names if len({str(one.get(name)) for one in given}) > 1]


def _settings(frame: pd.DataFrame) -> list[str]:
    shown = [k for k in ("K", "N", "T", "seed") if frame[k].nunique(dropna=False) > 1]
    instances = frame["instance"].tolist()
    if len(frame) and frame.groupby("instance")["instance_definition"].nunique().max() > 1:
        order = {d: i + 1 for i, d in enumerate(frame["instance_definition"].unique())}
        numbers = (order[d] for d in frame["instance_definition"])
        instances = [f"{i} (#{k})" for i, k in zip(instances, numbers, strict=True)]
    details = frame[shown].to_dict("records") if shown else [{}] * len(frame)
    return [
        ", ".join([instance, *(f"{k} = {number(v)}" for k, v in _unsaid(instance, detail))])
        for instance, detail in zip(instances, details, strict=True)
    ]


def _unsaid(instance: str, detail: dict[str, Any]) -> list[tuple[str, Any]]:
    """What has a value that the instance's own name does not say, as equal_gap(K=4) says K."""
    said = re.split(r"[(),]\s*", instance)
    return [(k, v) for k, v in detail.items() if v is not pd.NA and f"{k}={v}" not in said]
