"""Slopes of curves whose slope is known."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import analysis
from algos import families
from analysis.chapter import Data
from analysis.chapters.slopes import REGRETS, regret_meaning
from analysis.loaded import Loaded
from analysis.measures.slopes import choose_window
from analysis.statistics.bootstrap import interval

KL = 1.1457256


def frame(synthetic: SimpleNamespace, path: Path, *plans: object, **config: object) -> pd.DataFrame:
    synthetic.write_sweep(path, list(plans), config={"grid": config})
    return analysis.load(store=path)


def test_regret_is_described_as_its_family_says() -> None:
    assert {*REGRETS, "none"} == set(families.REGRETS)
    df = pd.DataFrame()
    df.attrs["families"] = {"a": {"regret": "gaps"}, "b": {"regret": "hindsight"}, "c": {}}
    df = df.assign(cell="", instance="", checkpoints=None, regret=None)
    data = Data(Loaded(df))
    assert "cumulative pseudo-regret at T in units" in regret_meaning(data, ["a"])
    assert "cumulative regret against the best fixed action in" in regret_meaning(data, ["b"])
    assert "pseudo-regret or regret against the best" in regret_meaning(data, ["a", "b"])
    for unknown in (["c"], ["a", "c"], ["of an old manifest"]):
        assert "cumulative regret at T in units" in regret_meaning(data, unknown)


def test_exact_logarithm(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    t = synthetic.grid(10**6)
    rates = np.array([9.0, 10.0, 11.0])
    plan = synthetic.Plan(5 + rates[:, None] * np.log(t), doubling=False)
    row = analysis.slopes(frame(synthetic, tmp_path, plan)).iloc[0]
    assert row["slope"] == pytest.approx(10)
    # Student's interval of 9, 10, 11 is 10 +- 4.303/sqrt(3) = 10 +- 2.48.
    assert 7 < row["slope_low"] < 8.5 and 11.5 < row["slope_high"] < 13
    assert row["n"] == 3 and not row["deterministic"] and row["note"] == ""
    assert (row["window_low"], row["window_high"]) == (1024, 10**6)
    assert row["regret_T"] == pytest.approx(5 + 10 * math.log(10**6))
    assert row["lower_bound"] == pytest.approx(4 * 0.7 / KL, rel=1e-6)
    assert row["ratio"] == pytest.approx(10 * KL / 2.8, rel=1e-6)
    # 5 + 10 ln t over ln t falls with t.
    assert row["envelope_high"] == pytest.approx(10 + 5 / math.log(1024))
    assert row["envelope_low"] == pytest.approx(10 + 5 / math.log(10**6))


def test_staircase_without_spread_is_deterministic(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    t = synthetic.grid(10**6)
    steps = 2.0 ** np.ceil(np.log2(30 * np.log(t + 1)))
    row = analysis.slopes(frame(synthetic, tmp_path, synthetic.Plan(np.tile(steps, (5, 1))))).iloc[
        0
    ]
    assert row["deterministic"]
    assert row["slope_low"] == row["slope"] == row["slope_high"]
    # Over [sqrt T, T] the staircase 2^ceil(log2 x) covers at most a factor 2 above 30 ln t.
    assert 30 <= row["envelope_low"] < row["envelope_high"] <= 60.1
    assert row["envelope_high"] > 1.7 * row["envelope_low"]


def test_windows(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    t = synthetic.grid(10**4)
    curve = np.where(t <= 100, 0.0, 7 * (np.log(t) - np.log(100)))
    df = frame(synthetic, tmp_path, synthetic.Plan(np.tile(curve, (2, 1)), T=10**4))
    assert analysis.slopes(df, window=(1, 64)).iloc[0]["slope"] == 0
    assert analysis.slopes(df, window=(200, 10**9)).iloc[0]["slope"] == pytest.approx(7)
    narrow = analysis.slopes(df, window=(9000, 10**9)).iloc[0]
    assert math.isnan(narrow["slope"]) and math.isnan(narrow["ratio"])
    assert "holds 2 checkpoints, 3 needed" in narrow["note"]
    assert "shorter than [T0, T0²]" in analysis.slopes(df, window=(200, 10**9)).iloc[0]["note"]


def test_the_sweeps_window_where_it_fits() -> None:
    assert choose_window(1e6, None, None) == (1e3, 1e6)
    assert choose_window(1e6, None, (100.0, 1e18)) == (100, 1e6)
    assert choose_window(1e6, None, (1e6, 1e12)) == (1e3, 1e6)
    assert choose_window(1e6, (10, 1e4), (100.0, 1e18)) == (10, 1e4)


def test_window_of_the_config(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    t = synthetic.grid(10**4)
    plan = synthetic.Plan(np.tile(np.log(t), (2, 1)), T=10**4)
    df = frame(synthetic, tmp_path, plan, window=[64, 1e8])
    row = analysis.slopes(df).iloc[0]
    assert (row["window_low"], row["window_high"]) == (64, 10**4)


def test_bounds_only_where_proved(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    curve = np.tile(np.log(synthetic.grid(10**4)), (2, 1))
    plans = [
        synthetic.Plan(curve, T=10**4, epsilon=None, algorithm="kl_ucb"),
        synthetic.Plan(curve, T=10**4, distribution="beta", algorithm="b"),
        synthetic.Plan(curve, T=10**4, family="adversarial", means=None, algorithm="c"),
        synthetic.Plan(curve, T=10**4, epsilon=math.inf, algorithm="d"),
        synthetic.Plan(curve, T=10**4, epsilon=0.1, algorithm="e"),
    ]
    bound = analysis.slopes(frame(synthetic, tmp_path, *plans)).set_index("algorithm")[
        "lower_bound"
    ]
    assert bound["kl_ucb"] == bound["d"] == pytest.approx(2.8 / KL, rel=1e-6)
    assert bound["e"] == pytest.approx(4 / 0.6)
    assert bound[["b", "c"]].isna().all()


def test_one_replicate_has_no_interval(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    plan = synthetic.Plan(np.log(synthetic.grid(10**4))[None], T=10**4)
    row = analysis.slopes(frame(synthetic, tmp_path, plan)).iloc[0]
    assert math.isnan(row["slope_low"]) and not row["deterministic"]
    assert "one replicate" in row["note"]


def test_interval_does_not_depend_on_other_cells(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    t = synthetic.grid(10**4)
    plans = [
        synthetic.Plan(rng.gamma(4, size=(6, 1)) * np.log(t), T=10**4, epsilon=e)
        for e in (0.1, 0.2)
    ]
    df = frame(synthetic, tmp_path, *plans)
    whole = analysis.slopes(df)
    alone = analysis.slopes(df[df["epsilon"] == 0.2])
    pd.testing.assert_series_equal(whole.iloc[1], alone.iloc[0], check_names=False)


def test_coverage_of_the_interval() -> None:
    """The 95 % interval of a mean of 20 exponential draws covers it about as often as it says.

    True coverage c of a percentile interval at n = 20 with exponential data lies between 0.90
    and 0.97 (skewness costs it about 3 %). Of 600 intervals, the number that cover is binomial;
    for c in that range it falls outside the accepted numbers with probability below 1e-4 each
    side, computed here.
    """
    rng = np.random.default_rng(7)
    trials = 600
    hits = 0
    for _ in range(trials):
        low, high = interval(rng.exponential(size=20), rng)
        hits += low <= 1 <= high
    assert stats.binom.ppf(1e-4, trials, 0.90) <= hits <= stats.binom.isf(1e-4, trials, 0.97)


def test_two_labels_of_one_cell_are_two_rows(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """A grid may name one environment twice: both names are shown, over the same runs."""
    plan = synthetic.Plan(np.arange(1, 4)[:, None] * np.log(synthetic.grid(10**4)), T=10**4)
    df = frame(synthetic, tmp_path, plan)
    both = pd.concat([df, df.assign(instance="a_second_name")], ignore_index=True)
    both.attrs = df.attrs
    table = analysis.slopes(both)
    assert table["instance"].tolist() == ["azize_fig3", "a_second_name"]
    assert table["n"].tolist() == [3, 3]
    assert table["slope_low"].nunique() == 1
