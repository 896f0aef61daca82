"""Regret against K: which cells make a figure, and what it says."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from analysis.tables import with_labels
from matplotlib.figure import Figure

import analysis
from analysis import growth

T = 1_000
SIZES = [4, 8, 16, 32, 64]


def equal(K: int, gap: float = 0.25) -> list[float]:
    """Means of an equal-gap instance."""
    return [0.5] + [0.5 - gap] * (K - 1)


@pytest.mark.parametrize(
    ("means", "found"),
    [
        (equal(6), ["gaps of 0.25 below 0.5"]),
        ([0.4, 0.5, 0.4, 0.4], ["gaps of 0.1 below 0.5"]),
        ([0.9, 0.8, 0.7, 0.5, 0.1], ["gaps doubling from 0.1 below 0.9"]),
        ([0.9, 0.7, 0.5, 0.3], ["means in equal steps from 0.9 to 0.3"]),
        (
            [0.9, 0.8, 0.7],
            ["gaps doubling from 0.1 below 0.9", "means in equal steps from 0.9 to 0.7"],
        ),
        (
            [0.9, 0.8],
            [
                "gaps of 0.1 below 0.9",
                "gaps doubling from 0.1 below 0.9",
                "means in equal steps from 0.9 to 0.8",
            ],
        ),
        ([0.75, 0.625, 0.5, 0.4, 0.25], []),
        ([0.5, 0.5, 0.4], []),
        ([0.5], []),
        (None, []),
    ],
)
def test_shapes(means: list[float] | None, found: list[str]) -> None:
    assert growth.shapes(means) == found


def plan(synthetic: SimpleNamespace, regret: float, K: int, **info: Any) -> Any:
    """A cell whose replicates end near `regret`."""
    rows = regret * np.array([0.9, 0.95, 1.0, 1.05, 1.1])
    curves = rows[:, None] * np.linspace(0, 1, len(synthetic.grid(info.get("T", T))))
    given = {"T": T, "family": "full_information", "means": equal(K)} | info
    return synthetic.Plan(curves, **given)


def grown(synthetic: SimpleNamespace, epsilon: float, **info: Any) -> list[Any]:
    """ln K/ε for one algorithm, K ln K/ε for another, 3 ln K without ε."""
    return [
        made
        for K in SIZES
        for made in (
            plan(synthetic, math.log(K) / epsilon, K, algorithm="a", epsilon=epsilon, **info),
            plan(synthetic, K * math.log(K) / epsilon, K, algorithm="b", epsilon=epsilon, **info),
            plan(synthetic, 3 * math.log(K), K, algorithm="c", epsilon=None, **info),
        )
    ]


def drawn(
    synthetic: SimpleNamespace, path: Path, plans: list[Any]
) -> list[tuple[str, str, Figure]]:
    """The figures of a sweep of these cells."""
    unique = {made.record()["cell"]: made for made in plans}
    synthetic.write_sweep(path, list(unique.values()))
    df = analysis.load(store=path)
    by_cell = {cell.info["cell"]: cell for cell in analysis.curves.cells(df)}
    return list(growth.draw(with_labels(analysis.slopes(df)), by_cell))


def test_the_figure_says_how_regret_grows(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    plans = grown(synthetic, 0.1) + grown(synthetic, 1.0) + grown(synthetic, math.inf)[::3]
    [(kind, place, figure)] = drawn(synthetic, tmp_path, plans)
    assert kind == "regret_vs_K" and place == "gaps of 0.25 below 0.5"
    # ln 64/ln 4 = 3, 16 times that with K
    assert figure.get_suptitle().replace("\n ", "") == (
        "Regret against K, gaps of 0.25 below 0.5: at ε = 0.1 it grows 3-fold (a) to 48-fold (b) "
        "from K = 4 to 64"
    )
    texts = " ".join(text.get_text() for text in figure.texts)
    assert "n = 5 replicates" in texts and "95 % bootstrap interval" in texts
    assert "number of arms K" in texts and "units of reward" in texts
    titles = [ax.get_title() for ax in figure.axes if ax.get_visible()]
    assert titles[:2] == ["ε = 0.1", "ε = 1"]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["a", "b", "c", "∝ ln K", "∝ K ln K"]
    first = figure.axes[0]
    lines = {line.get_label(): line for line in first.lines if line.get_label()[0] == "∝"}
    for name, ratio in (("∝ ln K", 3.0), ("∝ K ln K", 48.0)):
        height = np.asarray(lines[name].get_ydata(), float)
        assert height[-1] / height[0] == pytest.approx(ratio)
        # from the geometric mean of the private algorithms at K = 4
        assert height[0] == pytest.approx(10 * math.log(4) * 2, rel=1e-6)
    marks = [container for container in first.containers if container.get_label() == "b"]
    assert marks[0].lines[0].get_xdata().tolist() == SIZES
    assert marks[0].lines[0].get_ydata() == pytest.approx([10 * K * math.log(K) for K in SIZES])
    assert marks[0].has_yerr


@pytest.mark.parametrize(
    "info",
    [
        {"T": 2 * T},
        {"distribution": "beta"},
        {"family": "bandit"},
        {"means": equal(64, 0.125)},
        {"seed": 1},
        {"epsilon": 2.0},
    ],
    ids=lambda info: next(iter(info)),
)
def test_cells_that_differ_in_more_than_K(
    synthetic: SimpleNamespace, tmp_path: Path, info: dict[str, Any]
) -> None:
    """Four K make a series, three and one that differs in something else do not."""
    sizes = SIZES[:3]
    same = [plan(synthetic, K, K, epsilon=1.0) for K in sizes]
    other = plan(synthetic, 64.0, 64, **({"epsilon": 1.0} | info))
    assert drawn(synthetic, tmp_path / "mixed", [*same, other]) == []
    alike = plan(synthetic, 64.0, 64, epsilon=1.0)
    assert len(drawn(synthetic, tmp_path / "alike", [*same, alike])) == 1


def test_without_epsilon_or_regret(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """One panel where nothing is private; a regret of zero has no place on a log axis."""
    plans = [plan(synthetic, float(K > 4) * K, K, epsilon=None, family="other") for K in SIZES]
    [(_, _, figure)] = drawn(synthetic, tmp_path, plans)
    assert len([ax for ax in figure.axes if ax.get_visible()]) == 1
    assert figure.get_suptitle() == "Regret against K, gaps of 0.25 below 0.5"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["adap_ucb"]


def test_a_report_has_the_figure(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    folder = synthetic.write_sweep(tmp_path, grown(synthetic, 0.5))
    report = analysis.write_report(str(folder), tmp_path)
    assert {path.name for path in report.figures} >= {
        "regret_vs_K-gaps-of-0.25-below-0.5.png",
        "regret_vs_K-gaps-of-0.25-below-0.5.svg",
    }
    assert "Regret against K" in report.html.read_text(encoding="utf-8")


def test_no_bandit_bound_for_full_information(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """The bounds of `analysis.bounds` are for bandit feedback."""
    for family in ("full_information", "bandit"):
        plans = [plan(synthetic, 1 + 1 / e, 4, epsilon=e, family=family)
                 for e in np.geomspace(0.01, 10, 9)]  # fmt: skip
        synthetic.write_sweep(tmp_path / family, plans)
        df = analysis.load(store=tmp_path / family)
        slopes, fits = analysis.slopes(df), analysis.transitions(df)
        predicted = fits[["predicted_low", "predicted_high", "predicted_pooled",
                          "minimax_threshold"]]  # fmt: skip
        assert len(slopes) == 9 and len(fits) == 1
        known = [slopes["lower_bound"].notna(), slopes["ratio"].notna(), predicted.notna()]
        assert [frame.to_numpy().all() for frame in known] == [family == "bandit"] * 3
        assert [frame.to_numpy().any() for frame in known] == [family == "bandit"] * 3
