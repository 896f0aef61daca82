"""Regret against a size: which cells make a figure, and what it says."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.chapter import Data
from analysis.chapters import growth
from analysis.loaded import Loaded

T = 1_000
SIZES = [4, 8, 16, 32, 64]


def equal(K: int, gap: float = 0.25) -> list[float]:
    """Means of an equal-gap instance."""
    return [0.5] + [0.5 - gap] * (K - 1)


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


def generated(df: pd.DataFrame, size: str = "K") -> pd.DataFrame:
    """The frame with what generated its instances, as the manifest of a sweep says it."""
    gaps = [float(means[0] - means[1]) for means in df["means"]]
    counts = [len(means) for means in df["means"]]
    return df.assign(
        sizes=[json.dumps({size: count}) for count in counts],
        instance_generator=[
            json.dumps({"name": "equal_gap", "gap": gap, size: count})
            for gap, count in zip(gaps, counts, strict=True)
        ],
    )


def data_of(synthetic: SimpleNamespace, path: Path, plans: list[Any], size: str = "K") -> Data:
    """A loaded sweep of these cells."""
    unique = {made.record()["cell"]: made for made in plans}
    synthetic.write_sweep(path, list(unique.values()))
    return Data(Loaded(generated(analysis.load(store=path), size)))


def records(chart: Any) -> list[dict[str, Any]]:
    """What a figure draws."""
    return json.loads(chart.to_dict()["data"]["values"])


def test_the_figure_says_how_regret_grows(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    plans = grown(synthetic, 0.1) + grown(synthetic, 1.0) + grown(synthetic, math.inf)[::3]
    chapter = growth.chapter(data_of(synthetic, tmp_path, plans))
    assert chapter is not None
    [figure] = chapter.figures
    assert figure.stem == "regret_vs_K-equal_gap-gap-0.25"
    spec = figure.chart.to_dict()
    # ln 64/ln 4 = 3, 16 times that with K
    assert " ".join(spec["title"]["text"]) == (
        "Regret against K, equal_gap(gap=0.25): at ε = 0.1 it grows 3-fold (a) to 48-fold (b) "
        "from K = 4 to 64"
    )
    note = " ".join(spec["title"]["subtitle"])
    assert "n = 5 replicates" in note and "95 % bootstrap interval" in note
    text = json.dumps(spec, ensure_ascii=False)
    assert "number of arms or actions K" in text and "units of reward" in text
    drawn = records(figure.chart)
    assert {row["panel"] for row in drawn} >= {"ε = 0.1", "ε = 1"}
    legend = spec["spec"]["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert legend == ["a", "b", "c", "grows as ln K", "grows as K ln K"]
    first = [row for row in drawn if row["panel"] == "ε = 0.1"]
    for name, ratio in (("grows as ln K", 3.0), ("grows as K ln K", 48.0)):
        line = sorted((r["x"], r["y"]) for r in first if r["series"] == name)
        assert line[-1][1] / line[0][1] == pytest.approx(ratio, rel=1e-4)
        # from the geometric mean of the private algorithms at K = 4
        assert line[0][1] == pytest.approx(10 * math.log(4) * 2, rel=1e-4)
    marks = sorted((r for r in first if r["series"] == "b"), key=lambda r: r["x"])
    assert [r["x"] for r in marks] == SIZES and all(r["bar"] for r in marks)
    assert [r["y"] for r in marks] == pytest.approx([10 * K * math.log(K) for K in SIZES], rel=1e-4)
    table = chapter.table.set_index(["label", "epsilon"])
    assert table.loc[("b", 0.1), "factor"] == pytest.approx(48)
    assert "48-fold" in chapter.view["grows"].tolist()


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
def test_cells_that_differ_in_more_than_the_size(
    synthetic: SimpleNamespace, tmp_path: Path, info: dict[str, Any]
) -> None:
    """Four sizes make a series, three and one that differs in something else do not."""
    same = [plan(synthetic, K, K, epsilon=1.0) for K in SIZES[:3]]
    other = plan(synthetic, 64.0, 64, **({"epsilon": 1.0} | info))
    assert growth.chapter(data_of(synthetic, tmp_path / "mixed", [*same, other])) is None
    alike = plan(synthetic, 64.0, 64, epsilon=1.0)
    chapter = growth.chapter(data_of(synthetic, tmp_path / "alike", [*same, alike]))
    assert chapter is not None and len(chapter.figures) == 1


def test_the_names_of_figures_say_what_tells_them_apart(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    plans = [plan(synthetic, K, K, epsilon=1.0, T=end) for K in SIZES for end in (T, 10 * T)]
    chapter = growth.chapter(data_of(synthetic, tmp_path, plans))
    assert chapter is not None
    stem = "regret_vs_K-equal_gap-gap-0.25-T"
    assert [figure.stem for figure in chapter.figures] == [f"{stem}-1-000", f"{stem}-1e4"]


def test_any_size_makes_a_figure(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """A size that no family here has is a size all the same; its bounds are not known."""
    plans = [plan(synthetic, float(K), K, epsilon=1.0) for K in SIZES]
    chapter = growth.chapter(data_of(synthetic, tmp_path, plans, size="depth"))
    assert chapter is not None
    [figure] = chapter.figures
    assert figure.stem.startswith("regret_vs_depth")
    text = json.dumps(figure.chart.to_dict(), ensure_ascii=False)
    assert "size depth" in text and "grows as" not in text


def test_without_epsilon_or_regret(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """One panel where nothing is private; a regret of zero has no place on a log axis."""
    plans = [plan(synthetic, float(K > 4) * K, K, epsilon=None, family="other") for K in SIZES]
    chapter = growth.chapter(data_of(synthetic, tmp_path, plans))
    assert chapter is not None
    spec = chapter.figures[0].chart.to_dict()
    assert "facet" not in spec
    assert spec["title"]["text"] == ["Regret against K, equal_gap(gap=0.25)"]
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"] == ["adap_ucb"]


def test_a_manifest_without_generators_has_no_figure(
    synthetic: SimpleNamespace, tmp_path: Path
) -> None:
    assert growth.chapter(data_of(synthetic, tmp_path, grown(synthetic, 0.5))) is not None
    df = analysis.load(store=tmp_path)
    old = df.drop(columns=["instance_generator", "sizes"])
    assert growth.chapter(Data(Loaded(old))) is None
    null = df.assign(instance_generator=None, sizes=None)
    assert growth.chapter(Data(Loaded(null))) is None


def test_no_bandit_bound_for_full_information(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    """The bounds of `analysis.bounds` are for bandit feedback."""
    for family in ("full_information", "bandit"):
        plans = [
            plan(synthetic, 1 + 1 / e, 4, epsilon=e, family=family)
            for e in np.geomspace(0.01, 10, 9)
        ]
        synthetic.write_sweep(tmp_path / family, plans)
        df = analysis.load(store=tmp_path / family)
        slopes, fits = analysis.slopes(df), analysis.transitions(df)
        knees = fits[
            ["bound_knee_low", "bound_knee_high", "bound_knee_pooled", "minimax_threshold"]
        ]
        assert len(slopes) == 9 and len(fits) == 1
        known = [slopes["lower_bound"].notna(), slopes["ratio"].notna(), knees.notna()]
        assert [frame.to_numpy().all() for frame in known] == [family == "bandit"] * 3
        assert [frame.to_numpy().any() for frame in known] == [family == "bandit"] * 3
