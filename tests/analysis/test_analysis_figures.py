"""Figures: what they say, in every format, in a notebook, with texts that want to break out."""

from __future__ import annotations

import json
import math
import os
import re
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import altair as alt
import numpy as np
import pandas as pd
import pytest

import analysis
from analysis import drawing, rendering
from analysis.chapters.slopes import regret_against_t, slope_against_epsilon
from analysis.chapters.stopping import samples_against_epsilon, samples_against_mu
from analysis.chapters.transitions import regret_against_epsilon
from analysis.curves import cells
from analysis.drawing.axes import log_ticks, number_expression
from analysis.measures.mean_curves import mean_curve
from analysis.rendering import Studio, embedded, library, still
from analysis.words import number

T = 10**4
EVIL = "</script><!--\u2028<b>'\"];datum['x']"


@pytest.fixture(scope="module")
def df(synthetic: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Nine ε and ∞ for one algorithm with a knee near 0.9, three ε for another, a baseline."""
    rng = np.random.default_rng(5)
    shape = np.log(synthetic.grid(T)) / math.log(T)

    def plan(e: float, **info: Any) -> Any:
        regret = 100 * (1 + (0.9 / e) ** 4) ** 0.25 * (1 + 0.1 * rng.standard_normal((5, 1)))
        return synthetic.Plan(regret * shape, T=T, epsilon=e, doubling=False, **info)

    plans = [plan(float(e)) for e in [*np.geomspace(0.05, 20, 71), math.inf]]
    plans += [plan(e, algorithm="dp_se") for e in (0.1, 1.0, 10.0)]
    plans.append(synthetic.Plan(plans[-1].regret * 0.3, T=T, epsilon=None, algorithm="kl_ucb"))
    store = tmp_path_factory.mktemp("figures")
    synthetic.write_sweep(store, plans)
    return analysis.load(store=store)


@pytest.fixture(scope="module")
def figures(df: pd.DataFrame) -> dict[str, Any]:
    """The figures from exactly what the public functions return."""
    slopes, fits = analysis.slopes(df), analysis.transitions(df)
    return {
        "regret": regret_against_epsilon(slopes, fits),
        "slope": slope_against_epsilon(slopes),
        "t": regret_against_t(slopes, {cell.key: mean_curve(cell) for cell in cells(df)}),
    }


def records(chart: Any) -> list[dict[str, Any]]:
    return json.loads(chart.to_dict()["data"]["values"])


def layers(chart: Any) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    return spec.get("spec", spec)["layer"]


def test_they_say_n_and_the_finding(figures: dict[str, Any]) -> None:
    for chart in figures.values():
        spec = chart.to_dict()
        note = " ".join(spec["title"]["subtitle"])
        assert "n = 5 replicates" in note and "95 % bootstrap interval" in note
        assert "units of reward" in json.dumps(spec)
    title = " ".join(figures["regret"].to_dict()["title"]["text"])
    assert re.match(r"adap_ucb on azize_fig3: knee at ε = \S+ \[\S+, \S+\], where regret is", title)
    axes = json.dumps(figures["regret"].to_dict(), ensure_ascii=False)
    assert "privacy budget ε (dimensionless)" in axes
    legend = "\n".join(layers(figures["regret"])[0]["encoding"]["color"]["scale"]["domain"])
    legend = legend.replace("\u00a0", " ")
    assert "kl_ucb (no privacy, n = 5)" in legend and "lower bound · ln T (Theorem 3)" in legend
    assert "knee of the lower bound 0.273" in legend and "adap_ucb\nknee 0.9" in legend


def test_series_differ_without_colour(figures: dict[str, Any]) -> None:
    for chart in figures.values():
        encoding = layers(chart)[0]["encoding"]
        dashes, shapes = (encoding[name]["scale"]["range"] for name in ("strokeDash", "shape"))
        looks = list(zip(map(str, dashes), shapes, strict=True))
        assert len(set(looks)) == len(looks)


def test_intervals_points_and_infinity_are_drawn(figures: dict[str, Any]) -> None:
    drawn = records(figures["regret"])
    own = [r for r in drawn if r.get("name") == "adap_ucb" and r["part"] == "line"]
    assert len(own) == 71 and all(r["low"] < r["y"] < r["high"] and r["n"] == 5 for r in own)
    # ε = ∞ stands beyond the largest ε, apart, with a bar and a marker.
    [apart] = [r for r in drawn if r["part"] == "apart"]
    assert apart["x"] == pytest.approx(50) and apart["bar"] and apart["marker"]
    scale = layers(figures["regret"])[6]["encoding"]["x"]
    assert scale["axis"]["values"][-1] == 50 and "'∞'" in scale["axis"]["labelExpr"]
    [knee] = [r for r in drawn if r["part"] == "knee"]
    assert knee["low"] <= knee["x"] <= knee["high"] and knee["x"] == pytest.approx(0.9, rel=0.1)
    assert {r["part"] for r in records(figures["slope"])} >= {"envelope", "line"}
    assert {r["part"] for r in records(figures["t"])} >= {"window", "line"}
    assert {r["panel"] for r in records(figures["t"])} == {"adap_ucb", "dp_se"}


def test_tooltips_and_legends_that_toggle(figures: dict[str, Any]) -> None:
    for chart in figures.values():
        spec = chart.to_dict()
        [param] = spec.get("params") or spec["spec"]["params"]
        assert param["bind"] == "legend" and param["select"]["toggle"] == "true"
        domain = layers(chart)[0]["encoding"]["color"]["scale"]["domain"]
        assert [entry["series"] for entry in param["value"]] == domain
        [hover] = [layer for layer in layers(chart) if layer.get("name") == "hover"]
        titles = [entry["title"] for entry in hover["encoding"]["tooltip"]]
        assert titles[0] == "series" and titles[3:] == ["95 % interval", "n"]
        for layer in layers(chart)[2:]:
            assert {"filter": {"param": "shown"}} in layer["transform"]


def test_every_format(figures: dict[str, Any], tmp_path: Path) -> None:
    for name, chart in figures.items():
        for form in ("png", "svg", "pdf", "json", "html"):
            path = analysis.save(chart, tmp_path / f"{name}.{form}")
            assert path.stat().st_size > 5_000
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "t.pdf").read_bytes().startswith(b"%PDF")
    svg = ElementTree.parse(tmp_path / "regret.svg")
    text = "".join(svg.getroot().itertext())
    for word in ("adap_ucb", "knee of the lower bound 0.273", "∞", "0.1", "privacy budget ε"):
        assert word in text
    alt.Chart.from_json((tmp_path / "regret.json").read_text(encoding="utf-8"))
    page = (tmp_path / "slope.html").read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=", page.replace(library(), ""))
    with pytest.raises(ValueError, match=r"'figure.gif' has no known ending; allowed: .png"):
        analysis.save(figures["t"], tmp_path / "figure.gif")


def test_stopping_figures_take_the_public_table() -> None:
    info = {
        "cell": "c", "family": "stopping_rule", "algorithm": "nas", "version": 1,
        "parameters": "{}", "instance": "i", "instance_definition": "{}", "K": pd.NA, "N": pd.NA,
        "T": 1000, "seed": 0, "uses_epsilon": True, "n": 9, "halted": 1.0,
    }  # fmt: skip
    rows = [
        info | {"epsilon": e, "mu": mu, "stop_time": t, "stop_time_low": t / 2, "stop_time_high": t}
        for e, mu, t in ((0.1, 0.5, 900.0), (1.0, 0.5, 100.0))
    ]
    title = samples_against_epsilon(pd.DataFrame(rows)).to_dict()["title"]["text"]
    assert title == ["i: ε = 0.1 takes 9 times the samples of ε = 1"]
    rows = [row | {"mu": mu, "epsilon": 1.0} for row, mu in zip(rows, (0.1, 0.3), strict=True)]
    title = samples_against_mu(pd.DataFrame(rows)).to_dict()["title"]["text"]
    assert title == ["Samples at ε = 1 against |μ|: powers from -2.00 to -2.00"]


# Texts from a store


def test_texts_from_a_store_are_data(df: pd.DataFrame) -> None:
    """A label that looks like code stands in data and domains, never in an expression."""
    evil = df.assign(instance=EVIL, algorithm=df["algorithm"] + EVIL)
    chart = regret_against_epsilon(analysis.slopes(evil), analysis.transitions(evil))

    def expressions(node: Any) -> list[str]:
        if isinstance(node, list):
            return [text for one in node for text in expressions(one)]
        if not isinstance(node, dict):
            return []
        own = [node[key] for key in ("filter", "calculate", "labelExpr", "expr") if key in node]
        found = [text for text in own if isinstance(text, str)]
        return found + [text for one in node.values() for text in expressions(one)]

    found = expressions(chart.to_dict())
    assert len(found) > 20 and not [text for text in found if "<" in text.replace("< 1e", "")]
    text = embedded(chart.to_dict())
    assert "<" not in text and ">" not in text and "\u2028" not in text
    assert json.loads(text) == chart.to_dict()
    assert still(chart.to_dict(), ["svg"])["svg"].count(b"<b>") == 0


def test_the_library_cannot_end_its_element() -> None:
    script = library()
    assert "</script" not in script and "<!--" not in script and "vegaEmbed" in script


def test_a_library_that_others_can_write_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would run in the browser of whoever opens a report."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    made = library.__wrapped__()
    [kept] = tmp_path.rglob("*.js")
    assert kept.read_text(encoding="utf-8") == made
    kept.write_text("mine")
    assert library.__wrapped__() == "mine"
    kept.chmod(0o666)
    assert library.__wrapped__() == made
    kept.chmod(0o600)
    kept.parent.chmod(0o777)
    kept.write_text("theirs")
    assert library.__wrapped__() == made


# Axes


def test_numbers_on_axes_read_as_in_tables() -> None:
    """The expression says what `number` says; Vega itself is asked, through the texts of marks."""
    values = [0.0001, 0.001, 0.00234, 0.5, 1, 2.5, 100, 999, 1000, 1234, 10_000, 12_345, 1e5, 1e7,
              1e18, 2.5e6, 3e-5, 123.4]  # fmt: skip
    chart = (
        alt.Chart(alt.Data(values=[{"i": i, "v": v} for i, v in enumerate(values)]))
        .transform_calculate(text=number_expression("datum.v"))
        .mark_text()
        .encode(y=alt.Y("i:O", axis=None), text="text:N")
    )
    root = ElementTree.fromstring(still(chart.to_dict(), ["svg"])["svg"])
    assert [t for t in "\n".join(root.itertext()).split() if t] == [number(v) for v in values]


def test_ticks() -> None:
    assert log_ticks(0.01, 100) == pytest.approx((0.01, 0.1, 1, 10, 100))
    assert log_ticks(1.5, 60) == pytest.approx((2, 5, 10, 20, 50))
    assert len(log_ticks(1, 1e18)) <= 10
    axis = drawing.axis("x", [0.0, -1.0])
    assert not axis.logarithmic and (axis.low, axis.high) == (-1.0, pytest.approx(0.03))
    assert drawing.axis("x", []).high > 0
    axis = drawing.axis("x", [1, 10], infinite=True)
    assert axis.infinity == 25 and axis.high > 25


# The process that draws


def test_the_studio_draws_answers_errors_and_ends() -> None:
    bar = alt.Chart(alt.Data(values=[{"a": 1}])).mark_bar().encode(x="a:Q").to_dict()
    with Studio() as studio:
        bad = studio.still({"mark": "no such mark", "data": {"values": []}})
        good = studio.still(bar)
        with pytest.raises(RuntimeError):
            bad.result(timeout=60)
        files = good.result(timeout=60)
        assert files["png"].startswith(b"\x89PNG") and files["svg"] == still(bar)["svg"]
        process = studio._process
    assert process.returncode == 0


def test_an_answer_that_does_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "PATIENCE", 0.2)
    with Studio() as studio:
        os.kill(studio._process.pid, signal.SIGSTOP)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="took more than"):
                studio.library().result(timeout=60)
    assert studio._process.returncode == -signal.SIGKILL


def test_an_interruption_is_for_the_program_that_draws_to_decide() -> None:
    """Ctrl-C reaches the process that draws, too: it says nothing and ends with its input."""
    bar = alt.Chart(alt.Data(values=[{"a": 1}])).mark_bar().encode(x="a:Q").to_dict()
    with Studio() as studio:
        assert studio.library().result()
        studio._process.send_signal(signal.SIGINT)
        assert studio.still(bar).result()["png"]
    assert studio._process.returncode == 0
