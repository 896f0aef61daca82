"""Transitions of synthetic series whose knee is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

import analysis
from analysis.statistics import hinge, staircase

GRID = np.geomspace(0.01, 100, 107)
T = 10**6


def true_hinge(epsilon: Any, star: float, plateau: float = 500.0, s: float = 4.0) -> Any:
    return plateau * (1 + (star / epsilon) ** s) ** (1 / s)


def series(
    synthetic: SimpleNamespace,
    regret: Callable[[float], float],
    *,
    grid: np.ndarray = GRID,
    spread: float = 0.05,
    n: int = 10,
    seed: int = 0,
    **info: Any,
) -> list[Any]:
    """Cells along ε whose regret at T has the given mean and relative spread."""
    rng = np.random.default_rng(seed)
    t = synthetic.grid(T)
    shape = np.log(t) / math.log(T)
    noise = 1 + spread * rng.standard_normal((len(grid), n, 1))
    return [
        synthetic.Plan(regret(e) * noise[i] * shape, epsilon=float(e), **info)
        for i, e in enumerate(grid)
    ]


def frame(synthetic: SimpleNamespace, path: Path, plans: list[Any]) -> pd.DataFrame:
    synthetic.write_sweep(path, plans)
    return analysis.load(store=path)


def test_recovers_a_smooth_hinge(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    plans = series(synthetic, lambda e: true_hinge(e, 0.9), doubling=False)
    row = analysis.transitions(frame(synthetic, tmp_path, plans), draws=100).iloc[0]
    # Ten replicates of relative spread 0.05 on about 50 points each side: the knee is known to
    # about 0.05/sqrt(10 * 50) * sqrt(2) = 0.3 %; the tolerance is ten times that.
    assert row["epsilon_star"] == pytest.approx(0.9, rel=0.03)
    assert row["epsilon_star_low"] < row["epsilon_star"] < row["epsilon_star_high"]
    assert row["epsilon_star_high"] < 1.1 * row["epsilon_star_low"]
    assert row["p"] == pytest.approx(1, abs=0.02)
    assert row["plateau"] == pytest.approx(500, rel=0.02)
    # With s = 4, regret at the knee is 2^(1/4) = 1.19 times the plateau; averaging over an octave
    # softens the knee by some percent.
    assert row["knee_ratio"] == pytest.approx(2**0.25, rel=0.05)
    assert row["resolved"] == "yes" and row["note"] == ""
    assert row["points"] == 99  # 107 less four at each end
    assert row["bound_knee_low"] == pytest.approx(0.272792, rel=1e-5)
    assert row["minimax_threshold"] == pytest.approx(27 / 131 * math.sqrt(4 / T))


@pytest.mark.parametrize("phase", np.arange(8) / 8)
def test_staircase_of_one_octave(synthetic: SimpleNamespace, tmp_path: Path, phase: float) -> None:
    """Regret 2^ceil(log2 hinge) has steps of one octave; wherever they fall, ε* is inside.

    The plateau is rounded up by a factor from 1 to 2 and the averaged slope part by √2, so the
    fitted ε* is off by up to √2 and the interval must say so: it spans at least 1.4.
    """
    plateau = 512 * 2.0**phase * 1.02
    plans = series(
        synthetic,
        lambda e: 2.0 ** np.ceil(np.log2(true_hinge(e, 0.9, plateau=plateau))),
        spread=0.0,
        n=3,
    )
    row = analysis.transitions(frame(synthetic, tmp_path, plans), draws=200).iloc[0]
    assert row["epsilon_star_low"] < 0.9 < row["epsilon_star_high"]
    assert 1.4 * row["epsilon_star_low"] < row["epsilon_star_high"] < 2.5 * row["epsilon_star_low"]
    assert row["resolved"] == "yes"
    assert row["p"] == pytest.approx(1, abs=0.05)
    assert row["note"].startswith("steps of a factor 2")


def test_smooth_series_of_a_doubling_algorithm_has_no_steps(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    """The height of the steps is measured: an algorithm that may double need not."""
    plans = series(synthetic, lambda e: true_hinge(e, 0.9), doubling=True)
    row = analysis.transitions(frame(synthetic, tmp_path, plans), draws=100).iloc[0]
    assert row["epsilon_star_high"] < 1.15 * row["epsilon_star_low"]


def test_coverage(synthetic: SimpleNamespace) -> None:
    """The interval contains the true ε* at a rate that fits 95 %.

    100 series of 49 points over six octaves, with ε* and noise drawn anew. If the coverage is
    at least 0.90, fewer than `least` = 78 hits have probability below 1e-4; a coverage of at
    most 0.6 passes with probability below 3e-4.
    """
    trials = 100
    least = int(stats.binom.ppf(1e-4, trials, 0.90))
    assert stats.binom.sf(least - 1, trials, 0.6) < 3e-4
    rng = np.random.default_rng(3)
    grid = 2.0 ** (np.arange(49) / 8 - 3)
    hits = 0
    for trial in range(trials):
        star = float(2.0 ** rng.uniform(-0.5, 0.5))
        rows = []
        for e in grid:
            values = true_hinge(e, star) * rng.gamma(100, 1 / 100, size=12)
            info = _info(e)
            one = info | {"cell": f"{trial}-{e}", "checkpoints": np.array([T])}
            rows += [one | {"replicate": r, "regret": np.array([v])} for r, v in enumerate(values)]
        row = analysis.transitions(pd.DataFrame(rows), draws=50).iloc[0]
        hits += row["epsilon_star_low"] <= star <= row["epsilon_star_high"]
    assert hits >= least, (hits, least)


def _info(epsilon: float) -> dict[str, Any]:
    return {
        "family": "bandit", "algorithm": "a", "version": 1, "parameters": "{}", "instance": "i",
        "instance_definition": "{}", "K": 5, "N": pd.NA, "T": T, "seed": 0, "epsilon": epsilon,
        "uses_epsilon": True, "doubling": False, "distribution": "bernoulli",
        "means": np.array([0.8, 0.1]),
    }  # fmt: skip


def test_saturated_and_infinite_points_are_left_out(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    most = T * 0.7 / 2
    plans = series(synthetic, lambda e: min(true_hinge(e, 50.0, 500), 1.5 * most), doubling=False)
    plans += series(synthetic, lambda e: 1.0, grid=np.array([math.inf]), doubling=False)
    row = analysis.transitions(frame(synthetic, tmp_path, plans), draws=50).iloc[0]
    expected = int((true_hinge(GRID, 50.0) > most).sum())
    assert abs(row["saturated"] - expected) <= 2 and expected > 5
    assert row["epsilon_star"] == pytest.approx(50, rel=0.05)
    assert row["resolved"].startswith("not resolved: the plateau above")


def test_no_slope_part(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    plans = series(synthetic, lambda e: true_hinge(e, 0.002), doubling=False)
    row = analysis.transitions(frame(synthetic, tmp_path, plans), draws=50).iloc[0]
    assert row["resolved"].startswith("not resolved")


@pytest.mark.parametrize(
    ("grid", "why"),
    [
        (np.geomspace(0.01, 100, 40), "points per octave, 8 needed"),
        (np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]), "no common log"),
    ],
)
def test_sparse_grids_are_fitted_raw_and_say_so(
    synthetic: SimpleNamespace, tmp_path: Path, grid: np.ndarray, why: str
) -> None:
    plans = series(synthetic, lambda e: true_hinge(e, 0.9), grid=grid, doubling=False)
    row = analysis.transitions(frame(synthetic, tmp_path, plans), draws=50).iloc[0]
    assert "staircase not averaged" in row["note"] and why in row["note"]
    assert row["points"] == len(grid)
    assert row["epsilon_star"] == pytest.approx(0.9, rel=0.08)


def test_which_series_have_a_row(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    few = np.geomspace(0.1, 10, 7)
    plans = series(synthetic, lambda e: 10 / e, grid=few, algorithm="few")
    plans += series(synthetic, lambda e: true_hinge(e, 1), algorithm="one")
    plans += series(synthetic, lambda e: true_hinge(e, 2), algorithm="two")
    plans.append(synthetic.Plan(plans[0].regret, epsilon=None, algorithm="kl_ucb"))
    df = frame(synthetic, tmp_path, plans)
    assert list(analysis.transitions(df, draws=10)["algorithm"]) == ["one", "two"]
    nothing = analysis.transitions(df[df["algorithm"] == "few"])
    assert nothing.empty and "epsilon_star" in nothing


def test_octave_weights_span_exactly_one_octave() -> None:
    even = staircase.octave_weights(20, 8.0)
    assert even.shape == (12, 20)
    assert list(even[0][:9]) == [0.5, 1, 1, 1, 1, 1, 1, 1, 0.5]
    odd = staircase.octave_weights(20, 9.0)
    assert list(odd[0][:10]) == [1] * 9 + [0]
    for per_octave in (7.977, 8.0, 9.0, 12.3):
        sums = staircase.octave_weights(40, per_octave).sum(axis=1)
        assert sums == pytest.approx(per_octave)


def test_smoothing_leaves_powers_and_removes_the_staircase() -> None:
    x = np.arange(40) * math.log(2) / 8
    weights = staircase.octave_weights(40, 8.0)
    xs, ys = staircase.smooth(x, 3.0 - 1.7 * x, weights)
    assert ys == pytest.approx(3.0 - 1.7 * xs)
    steps = np.log(2.0) * np.ceil((3.3 - x) / np.log(2))
    xs, ys = staircase.smooth(x, steps, weights)
    assert np.ptp(ys + xs) < 1e-9


def test_jacobian() -> None:
    x = np.linspace(-3, 3, 7)
    for theta in ([1.0, 0.3, -0.2, 0.5], [5.0, -2.0, 0.7, -1.5]):
        point = np.array(theta)
        numeric = approx_fprime(point, lambda t: hinge.log_hinge(t, x), 1e-7).T
        assert hinge.jacobian(point, x) == pytest.approx(numeric, abs=1e-5)
