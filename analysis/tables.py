"""Words and tables: labels of series, numbers as text, the summary and the headlines."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.curves import SERIES_KEYS, series_key

PLACE_KEYS = ["instance", "instance_definition", "K", "N", "T", "seed"]
"""What is equal within one figure: everything but the algorithm and ε."""

MEANING = {
    "algorithm": "registry name, with the parameters that differ within this sweep",
    "instance": "the environment, with K, N, T or the seed where several occur",
    "T": "horizon in rounds",
    "ε": "privacy budget; - where the algorithm has none, ∞ where its noise is off",
    "n": "number of replicates",
    "R(T)": "mean cumulative pseudo-regret at T in units of reward, 95 % bootstrap interval",
    "slope": "least-squares slope of the mean regret on ln t over the window, 95 % bootstrap "
    "interval over replicates; “deterministic” where all replicates agree",
    "R(t)/ln t": "envelope: smallest and largest mean regret / ln t in the window; the honest "
    "range where regret moves in steps",
    "window": "first and last checkpoint of the fit, in rounds",
    "lower bound": "proven lower bound on the slope (Azize and Basu 2022, Theorem 3, equation 4), "
    "Bernoulli rewards only",
    "ratio": "slope / lower bound",
    "ε*": "where the fitted plateau and slope part of regret against ε cross: above it privacy "
    "stops costing; 95 % interval over replicates and the phase of the staircase",
    "predicted ε*": "d_inf/(6·t_inf) of Theorem 3, smallest to largest over the arms, and pooled: "
    "where the bound's two sums are equal; Bernoulli rewards only",
    "p": "power of 1/ε on the slope part",
    "plateau": "fitted regret at T for large ε",
    "s": "sharpness of the knee, 0.5 (soft) to 16 (a corner)",
    "points": "points fitted, after averaging over a sliding octave of ε",
    "saturated": "points left out because regret exceeds half of T·max Δ",
    "minimax threshold": "(27/131)·√((K-1)/T), from Theorem 2, equation 3",
    "resolved": "whether the grid covers both the plateau and the slope part",
}


def number(value: Any, digits: int = 3) -> str:
    """Return a number as short text: - for none, ∞, 1,234, 0.652, 1e7."""
    if value is None or value is pd.NA or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value >= 1e4 and f"{value:.15g}".rstrip("0") == "1":
        return f"1e{round(math.log10(value))}"
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else text


def bracket(low: Any, high: Any) -> str:
    """Return "[low, high]", or "" without an interval."""
    return "" if number(low) == "-" else f"[{number(low)}, {number(high)}]"


def estimate(value: Any, low: Any, high: Any) -> str:
    """Return "value [low, high]"."""
    return f"{number(value)} {bracket(low, high)}".strip()


def slope_text(row: Any) -> str:
    """Return a cell's slope with its interval, or with the staircase range."""
    if row.deterministic:
        span = bracket(row.envelope_low, row.envelope_high)
        return f"{number(row.slope)} deterministic, R/ln t in {span}"
    return estimate(row.slope, row.slope_low, row.slope_high)


def range_text(low: Any, high: Any) -> str:
    """Return "low to high", or the one value where both read the same."""
    first, last = number(low), number(high)
    return first if first == last else f"{first} to {last}"


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with two more columns, `label` and `place`, short but unambiguous.

    `label` names the algorithm and those of its parameters (and versions) that differ within
    the frame; `place` the instance, and K, N, T, seed where the frame holds several.
    """
    out = frame.copy()
    parsed = {text: _parameters(text) for text in frame["parameters"].unique()}
    labels = {}
    for name, group in frame.groupby("algorithm", sort=False):
        sets = [parsed[text] for text in group["parameters"].unique()]
        differing = [
            k for k in sorted(set().union(*sets)) if len({str(s.get(k)) for s in sets}) > 1
        ]
        versions = group["version"].nunique() > 1
        for text, version in group[["parameters", "version"]].drop_duplicates().to_numpy():
            parts = [f"{k}={parsed[text][k]}" for k in differing if k in parsed[text]]
            parts += [f"v{version}"] if versions else []
            labels[name, text, version] = f"{name}({', '.join(parts)})" if parts else str(name)
    keys = zip(frame["algorithm"], frame["parameters"], frame["version"], strict=True)
    out["label"] = [labels[key] for key in keys]
    shown = [k for k in ("K", "N", "T", "seed") if frame[k].nunique(dropna=False) > 1]
    if frame.groupby("instance")["instance_definition"].nunique().max() > 1:
        order = {d: i + 1 for i, d in enumerate(frame["instance_definition"].unique())}
        instances = [f"{i} (#{order[d]})" for i, d in
                     zip(frame["instance"], frame["instance_definition"], strict=True)]  # fmt: skip
    else:
        instances = frame["instance"].tolist()
    details = frame[shown].to_dict("records") if shown else [{}] * len(frame)
    out["place"] = [
        ", ".join([instance, *(f"{k} = {number(v)}" for k, v in detail.items() if v is not pd.NA)])
        for instance, detail in zip(instances, details, strict=True)
    ]
    return out


def summary(slopes: pd.DataFrame, transitions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per series: what its regret, slopes and transition are, in numbers.

    Columns: label, place, those of PLACE_KEYS, n, cells, epsilon_low, epsilon_high, regret_low,
    regret_high (least and most over ε), regret_at_low, regret_at_high (at the ends of ε); slope
    texts, envelopes and lower bounds at the ends of ε; ε* with interval, predictions, resolved.
    """
    found = {series_key(row): row for row in transitions.itertuples(index=False)}
    rows = []
    for _, group in with_labels(slopes).groupby(SERIES_KEYS, sort=False, dropna=False):
        ordered = list(group.sort_values("epsilon").itertuples(index=False))
        first, last = ordered[0], ordered[-1]
        row: dict[str, Any] = {
            "label": first.label,
            "place": first.place,
            **{name: getattr(first, name) for name in PLACE_KEYS},
            "n": int(group["n"].min()),
            "cells": len(group),
            "epsilon_low": first.epsilon,
            "epsilon_high": last.epsilon,
            "regret_low": group["regret_T"].min(),
            "regret_high": group["regret_T"].max(),
            "regret_at_low": first.regret_T,
            "regret_at_high": last.regret_T,
            "slope_at_low": slope_text(first),
            "slope_at_high": slope_text(last),
            "envelope_at_low": bracket(first.envelope_low, first.envelope_high),
            "envelope_at_high": bracket(last.envelope_low, last.envelope_high),
            "bound_at_low": first.lower_bound,
            "bound_at_high": last.lower_bound,
        }
        fit = found.get(series_key(first))
        for name in ("epsilon_star", "epsilon_star_low", "epsilon_star_high", "predicted_low",
                     "predicted_high", "predicted_pooled"):  # fmt: skip
            row[name] = getattr(fit, name) if fit is not None else math.nan
        row["resolved"] = fit.resolved if fit is not None else ""
        rows.append(row)
    return pd.DataFrame(rows)


def largest_horizon(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the largest T among those that are equal but for T."""
    keys = [name for name in PLACE_KEYS if name != "T"]
    largest = frame.groupby(keys, dropna=False, sort=False)["T"].transform("max")
    return frame[frame["T"] == largest]


def headlines(table: pd.DataFrame, limit: int = 12) -> list[str]:
    """Return the findings of a summary as sentences, at most `limit`.

    Transitions come first; only the largest horizon of each instance speaks.
    """
    lines = []
    table = largest_horizon(table)
    for row in table.itertuples(index=False):
        where = f"{row.label} on {row.place}"
        if row.resolved == "yes":
            star = estimate(row.epsilon_star, row.epsilon_star_low, row.epsilon_star_high)
            line = f"{where}: privacy stops costing at ε ≈ {star}"
            if number(row.predicted_pooled) != "-":
                line += f"; predicted {number(row.predicted_pooled)}"
            lines.append(line)
        elif row.resolved:
            lines.append(f"{where}: transition {row.resolved}")
    if not lines:
        for row in table.itertuples(index=False):
            at = "" if number(row.epsilon_high) == "-" else f" at ε = {number(row.epsilon_high)}"
            line = f"{row.label} on {row.place}{at}: slope of regret on ln t {row.slope_at_high}"
            if number(row.bound_at_high) != "-":
                line += f"; lower bound {number(row.bound_at_high)}"
            lines.append(line)
    more = len(lines) - limit
    return lines[:limit] + ([f"… and {more} more in the tables"] if more > 0 else [])


def slopes_view(slopes: pd.DataFrame) -> pd.DataFrame:
    """Return the slope table as text, one row per cell, in the words of MEANING."""
    rows = [
        {
            "algorithm": row.label,
            "instance": row.place,
            "T": number(row.T),
            "ε": number(row.epsilon),
            "n": str(row.n),
            "R(T)": estimate(row.regret_T, row.regret_T_low, row.regret_T_high),
            "slope": estimate(row.slope, row.slope_low, row.slope_high)
            if not row.deterministic
            else f"{number(row.slope)} deterministic",
            "R(t)/ln t": bracket(row.envelope_low, row.envelope_high),
            "window": range_text(row.window_low, row.window_high),
            "lower bound": number(row.lower_bound),
            "ratio": number(row.ratio),
            "note": row.note,
        }
        for row in with_labels(slopes).itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def transitions_view(transitions: pd.DataFrame) -> pd.DataFrame:
    """Return the transition table as text, one row per series, in the words of MEANING."""
    if transitions.empty:
        return pd.DataFrame()
    rows = [
        {
            "algorithm": row.label,
            "instance": row.place,
            "T": number(row.T),
            "n": str(row.n),
            "ε*": estimate(row.epsilon_star, row.epsilon_star_low, row.epsilon_star_high),
            "predicted ε*": _predicted(row),
            "p": estimate(row.p, row.p_low, row.p_high),
            "plateau": estimate(row.plateau, row.plateau_low, row.plateau_high),
            "s": number(row.s, 2),
            "points": str(row.points),
            "saturated": str(row.saturated),
            "minimax threshold": number(row.minimax_threshold),
            "resolved": row.resolved,
            "note": row.note,
        }
        for row in with_labels(transitions).itertuples(index=False)
    ]
    return pd.DataFrame(rows)


def _predicted(row: Any) -> str:
    """Return the predicted ε*: the arms' range, and the pooled value where they differ."""
    span = range_text(row.predicted_low, row.predicted_high)
    return f"{span} (pooled {number(row.predicted_pooled)})" if " to " in span else span


def _parameters(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def spread(values: list[Any], count: int) -> list[Any]:
    """Return at most `count` values spread evenly over a list, both ends included."""
    if len(values) <= count:
        return values
    picks = np.unique(np.linspace(0, len(values) - 1, count).round().astype(int))
    return [values[i] for i in picks]
