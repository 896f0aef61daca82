"""The table of stopping rules: means, exact intervals, misses against β."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.chapters.stopping import by_series, headlines, stopping, view
from analysis.chapters.stopping.figures import draw
from analysis.labels import with_labels
from analysis.statistics.proportions import clopper_pearson


def frame(times, estimates, halted, *, alpha=0.1, beta=0.05, mu=0.5, epsilon=1.0) -> pd.DataFrame:
    """One cell as `analysis.load` gives it."""
    n = len(times)
    info = {
        "cell": f"cell{epsilon}", "family": "stopping_rule", "algorithm": "dp_exp_nas",
        "version": 1, "parameters": json.dumps({"alpha": alpha, "beta": beta}),
        "instance": "two_point(mu=0.5, R=1)", "instance_definition": '{"mu":0.5}', "K": pd.NA,
        "N": pd.NA, "T": 1000, "seed": 0, "epsilon": epsilon, "uses_epsilon": True,
    }  # fmt: skip
    df = pd.DataFrame([info] * n).astype({"K": "Int64", "N": "Int64"})
    df["means"] = [np.array([mu])] * n
    return df.assign(replicate=range(n), stop_time=times, estimate=estimates, halted=halted)


def test_counts_and_means():
    df = frame(
        [10, 20, 30, 1000], [0.5, 0.5499, 0.5501, math.nan], [True, True, True, False]
    )  # fmt: skip
    [row] = stopping(df).to_dict("records")
    assert row["n"] == 4 and row["stop_time"] == 265 and row["halted"] == 0.75
    assert (row["estimates"], row["misses"], row["miss"]) == (3, 1, 1 / 3)
    assert row["stop_time_low"] < 265 < row["stop_time_high"]
    assert row["halted_low"] == pytest.approx(stats.binomtest(3, 4).proportion_ci().low)
    assert row["miss_high"] == pytest.approx(stats.binomtest(1, 3).proportion_ci().high)
    assert "not all halted" in row["note"]


def test_a_negative_mean_has_the_same_tolerance():
    df = frame([8, 8, 8], [-0.45, -0.56, 0.5], [True] * 3, mu=-0.5)
    assert stopping(df)["misses"].tolist() == [2]


def test_a_rule_that_never_halts_has_no_misses():
    table = stopping(frame([1000] * 3, [math.nan] * 3, [False] * 3))
    [row] = table.to_dict("records")
    assert row["halted"] == 0 and row["estimates"] == 0 and math.isnan(row["miss"])
    assert "halted down to 0" in headlines(with_labels(table))[0]


def test_broken_promises_come_first():
    wrong = frame([8] * 50, [0.1] * 50, [True] * 50, epsilon=2.0)
    right = frame([64] * 50, [0.5] * 50, [True] * 50, epsilon=0.5)
    table = stopping(pd.concat([right, wrong], ignore_index=True))
    assert table["note"].tolist() == ["", "misses more often than β"]
    assert "more than β" in headlines(with_labels(table))[0]
    [row] = by_series(with_labels(table)).to_dict("records")
    assert (row["at_low"], row["at_high"]) == ("64 [64, 64]", "8 [8, 8]")
    assert row["misses"].startswith("0.5 [")
    assert view(with_labels(table))["samples"].tolist() == ["64 [64, 64]", "8 [8, 8]"]


def test_the_names_of_figures_against_mu_say_the_stream():
    cells = [
        (R, mu, frame([round(9 * R / mu)] * 3, [mu] * 3, [True] * 3, mu=mu))
        for R in (1, 2)
        for mu in (0.25, 0.5)
    ]
    table = pd.concat(
        stopping(df.assign(instance=f"two_point(mu={mu}, R={R})")) for R, mu, df in cells
    )
    texts = [json.dumps({"name": "two_point", "mu": mu, "R": R}) for R, mu, _ in cells]
    start = "samples_vs_mu-epsilon-1-T-1,000"
    names = [name for name, _ in draw(with_labels(table), texts)]
    assert names == [f"{start}, stream=two_point(R={R})" for R in (1, 2)]
    assert [name for name, _ in draw(with_labels(table[:2]), texts[:2])] == [start]


def test_a_sweep_of_other_families_has_no_rows():
    assert stopping(pd.DataFrame({"cell": ["a"], "regret": [np.zeros(3)]})).empty


@pytest.mark.parametrize("p", [0.01, 0.05, 0.5])
@pytest.mark.parametrize("n", [20, 200])
def test_clopper_pearson_covers(p, n):
    """Exact coverage, by enumeration: never below 95 %."""
    counts = np.arange(n + 1)
    inside = [low <= p <= high for low, high in (clopper_pearson(int(k), n) for k in counts)]
    assert stats.binom.pmf(counts, n, p)[inside].sum() >= 0.95
    assert clopper_pearson(0, n)[0] == 0.0 and clopper_pearson(n, n)[1] == 1.0


def test_two_labels_of_one_cell_are_two_rows():
    df = frame([10, 20], [0.5, 0.5], [True, True])
    both = pd.concat([df, df.assign(instance="a_second_name")], ignore_index=True)
    assert stopping(both)["n"].tolist() == [2, 2]
