"""The report's files and the command line."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.__main__ import main
from analysis.labels import with_labels
from analysis.rendering import library
from analysis.report import writing
from analysis.words import estimate, number, spread
from sweep.store.files import write_file

T = 10**4
GRID = np.geomspace(0.05, 20, 71)
EVIL = "</script><!--<script>x\u2028"


def plans_of(synthetic: SimpleNamespace, **info: Any) -> list[Any]:
    rng = np.random.default_rng(5)
    shape = np.log(synthetic.grid(T)) / math.log(T)
    return [
        synthetic.Plan(
            100 * (1 + (0.9 / e) ** 4) ** 0.25 * (1 + 0.1 * rng.standard_normal((5, 1))) * shape,
            T=T,
            epsilon=float(e),
            doubling=False,
            **info,
        )
        for e in GRID
    ]


@pytest.fixture(scope="module")
def written(
    synthetic: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, analysis.Report]:
    """A report on two algorithms and a baseline, with text that needs escaping."""
    store = tmp_path_factory.mktemp("store")
    plans = plans_of(synthetic) + plans_of(synthetic, algorithm="dp_se")[:3]
    plans.append(synthetic.Plan(plans[-1].regret * 0.3, T=T, epsilon=None, algorithm="kl_ucb"))
    plans.append(synthetic.Plan(plans[-1].regret, T=T, epsilon=None, algorithm=EVIL))
    config = {"grid": {"question": "Is <b>privacy</b> free & when?"}}
    folder = synthetic.write_sweep(store, plans, config=config)
    failures = pd.DataFrame({"cell": ["c0ffee"], "error": ["ValueError: <script>x</script>"]})
    failures.to_parquet(folder / "failures.parquet")
    return folder, analysis.write_report(store=store)


def test_files(written: tuple[Path, analysis.Report]) -> None:
    folder, report = written
    assert report.html == folder / "report.html" and report.html.is_file()
    kinds = {"regret_vs_epsilon", "slope_vs_epsilon", "regret_vs_t"}
    names = {p.name for p in report.figures}
    ends = ("png", "svg", "pdf")
    assert names == {f"{kind}-azize_fig3.{end}" for kind in kinds for end in ends}
    for path in report.figures:
        if path.suffix == ".svg":
            ElementTree.parse(path)
        else:
            assert path.read_bytes().startswith(b"\x89PNG" if path.suffix == ".png" else b"%PDF")
    tables = {"summary", "transitions", "slopes", "algorithms", "failures"}
    assert {p.stem for p in (folder / "tables").iterdir()} == tables == set(report.tables)
    assert len(pd.read_csv(folder / "tables" / "slopes.csv")) == len(GRID) + 5
    everything = [p.name for p in folder.rglob("*")]
    assert not [name for name in everything if name.startswith(".")]


def test_page_is_self_contained_and_escaped(written: tuple[Path, analysis.Report]) -> None:
    page = written[1].html.read_text(encoding="utf-8")
    assert page.count(library()) == 1
    own = page.replace(library(), "")
    outside = [
        u for u in re.findall(r"https?://[^\s\"'<]+", own) if "vega.github.io/schema" not in u
    ]
    assert outside == []
    # Nothing is loaded: every address is data.
    sources = re.findall(r"(?:src|href)=[\"']?([^\"' >]{0,30})", own)
    assert len(sources) == 3
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not re.search(r"@import|url\(", own)
    assert own.count("<script") == own.count("</script>") == 3 + 2
    assert "&lt;script&gt;x" in own and "<script>x" not in own and "<!--" not in own
    assert "\u2028" not in "".join(specifications(page))
    assert "Is &lt;b&gt;privacy&lt;/b&gt; free &amp; when?" in own
    assert "python -m sweep +grid=demo" in own
    assert "1 unit failed" in own and "c0ffee" in own
    for name in ("numpy", "pandas", "scipy", "pyarrow", "altair", "vl-convert-python", "python"):
        assert re.search(rf"{name} \d+\.\d+", own)
    # 76 cells: the long table is there, but folded.
    assert "<details>\n<summary>76 rows" in own


def specifications(page: str) -> list[str]:
    """The specifications that a page embeds, as they stand there."""
    return re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)


def test_page_has_each_figure_still_and_interactive(
    written: tuple[Path, analysis.Report],
) -> None:
    report = written[1]
    page = report.html.read_text(encoding="utf-8")
    stills = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    svgs = {p.read_bytes() for p in report.figures if p.suffix == ".svg"}
    assert {base64.b64decode(text) for text in stills} == svgs
    specs = [json.loads(text) for text in specifications(page)]
    assert len(specs) == len(stills) == 3
    for spec in specs:
        assert (spec.get("params") or spec["spec"]["params"])[0]["bind"] == "legend"
    assert any(EVIL in json.dumps(spec, ensure_ascii=False) for spec in specs)
    assert report.html.stat().st_size < 3 * 2**20


def test_headline(written: tuple[Path, analysis.Report]) -> None:
    line = written[1].headlines[0]
    found = re.fullmatch(
        r"adap_ucb on azize_fig3: knee at ε = (\S+) \[\S+, \S+\], where regret is still"
        r" (\S+) times its fitted plateau; knee of the lower bound 0.273",
        line,
    )
    assert found and float(found.group(1)) == pytest.approx(0.9, rel=0.1)
    assert 1.1 < float(found.group(2)) < 1.4  # 2^(1/4) = 1.19, softened by averaging
    page = written[1].html.read_text(encoding="utf-8").replace(library(), "")
    assert not re.search(r"stops? costing|costs? nothing|predicted", page)


def test_the_report_shows_itself(written: tuple[Path, analysis.Report]) -> None:
    text = repr(written[1])
    assert "report.html" in text and "slopes (76)" in text and len(text) < 2_000
    assert "knee at ε" in text and "DataFrame" not in text


def test_a_report_is_kept_until_something_changes(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [synthetic.Plan(np.tile(np.log(synthetic.grid(100)), (3, 1)), T=100)]
    folder = synthetic.write_sweep(tmp_path, plans)
    first = analysis.write_report(str(folder), tmp_path)

    def refuse(*_: Any) -> None:
        raise AssertionError("the report was made anew")

    monkeypatch.setattr(writing, "Stored", refuse)
    kept = analysis.write_report(str(folder), tmp_path, reuse=True)
    assert kept.headlines == first.headlines and kept.figures == first.figures
    assert [one.title for one in kept.overviews] == [one.title for one in first.overviews]
    pd.testing.assert_frame_equal(kept.overviews[0].table, first.overviews[0].table.astype(str))
    assert set(kept.tables) == set(first.tables)
    (folder / "command.txt").write_text("another")
    with pytest.raises(AssertionError, match="made anew"):
        analysis.write_report(str(folder), tmp_path, reuse=True)


def test_a_page_whose_script_fails_has_stills(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(self: writing.Studio) -> Future[str]:
        script: Future[str] = Future()
        script.set_exception(RuntimeError("no\nscript"))
        return script

    monkeypatch.setattr(writing.Studio, "library", ended)
    plans = [synthetic.Plan(np.tile(np.log(synthetic.grid(100)), (3, 1)), T=100)]
    report = analysis.write_report(str(synthetic.write_sweep(tmp_path, plans)), tmp_path)
    [line] = report.warnings
    assert "do not answer to the mouse: RuntimeError: no" in line
    page = report.html.read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page and "Point at a mark" not in page
    assert report.figures and "vegaEmbed" not in page and line in page


def test_a_report_outlives_the_process_that_draws(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ended(writing.Studio):
        def __enter__(self) -> writing.Studio:
            self._process.kill()
            self._process.wait()
            return self

    monkeypatch.setattr(writing, "Studio", Ended)
    plans = [synthetic.Plan(np.tile(np.log(synthetic.grid(100)), (3, 1)), T=100)]
    report = analysis.write_report(str(synthetic.write_sweep(tmp_path, plans)), tmp_path)
    assert report.html.is_file() and "slopes" in report.tables and not report.figures
    assert all("the process that draws ended" in line for line in report.warnings)


def test_no_epsilon_axis_no_epsilon_figures(synthetic: SimpleNamespace, tmp_path: Path) -> None:
    shape = np.log(synthetic.grid(T))
    plans = [
        synthetic.Plan(np.tile(shape, (3, 1)), T=T, epsilon=None, algorithm=name)
        for name in ("ucb1", "kl_ucb")
    ]
    plans[1].replicates = 5
    synthetic.write_sweep(tmp_path, plans)
    report = analysis.write_report(store=tmp_path)
    assert {p.stem for p in report.figures} == {"regret_vs_t-azize_fig3"}
    assert report.warnings == ["Not complete: 6 of 8 replicates are in the store."]
    assert "deterministic" in report.headlines[0]


def test_labels_name_what_differs() -> None:
    frame = pd.DataFrame(
        {
            "algorithm": ["a", "a", "b"],
            "parameters": ['{"alpha": 1, "x": 2}', '{"alpha": 3, "x": 2}', "{}"],
            "version": [1, 1, 1],
            "instance": ["i", "i", "i"],
            "instance_definition": ["{}"] * 3,
            "K": [2, 2, 2],
            "N": [pd.NA] * 3,
            "T": [10, 10, 10**7],
            "seed": [0] * 3,
        }
    )
    out = with_labels(frame)
    assert list(out["label"]) == ["a(alpha=1)", "a(alpha=3)", "b"]
    assert list(out["setting"]) == ["i, T = 10", "i, T = 10", "i, T = 1e7"]
    out = with_labels(frame.assign(instance=["g(K=2)", "g(K=2)", "g(K=20, N=3)"]))
    assert list(out["setting"]) == ["g(K=2), T = 10", "g(K=2), T = 10", "g(K=20, N=3), T = 1e7"]
    out = with_labels(frame.assign(instance=["g(K=2)", "g(K=4)", "g"], K=[2, 4, 8], T=10))
    assert list(out["setting"]) == ["g(K=2)", "g(K=4)", "g, K = 8"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (math.nan, "-"), (math.inf, "∞"), (1e7, "1e7"), (10**5, "1e5"),
        (110_000, "110,000"), (1234.5, "1,234"), (0.65234, "0.652"), (2.5e-5, "2.5e-5"),
        (0, "0"), (-3456, "-3,456"), (10**18, "1e18"),
    ],
)  # fmt: skip
def test_number(value: Any, text: str) -> None:
    assert number(value) == text


def test_estimate_without_interval() -> None:
    assert estimate(1.0, math.nan, math.nan) == "1"
    assert estimate(1.0, 0.5, 2.0) == "1 [0.5, 2]"


def test_spread_keeps_both_ends() -> None:
    assert spread([1, 2, 3], 5) == [1, 2, 3]
    assert spread(list(range(10)), 3) == [0, 4, 9]


def test_summary_has_one_row_per_series(written: tuple[Path, analysis.Report]) -> None:
    table = written[1].tables["summary"]
    assert list(table["label"]) == ["adap_ucb", "dp_se", "kl_ucb", EVIL]
    assert list(table["cells"]) == [71, 3, 1, 1]


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError):
        write_file(tmp_path / "taken", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
    assert write_file(tmp_path / "new" / "file", "ε").read_text(encoding="utf-8") == "ε"


# The command line


def test_terminal_fits_80_columns(
    written: tuple[Path, analysis.Report], capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    folder = written[0]
    assert main(["report", "demo", "--store", str(folder.parent.parent)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == str(folder / "report.html")
    assert max(map(len, lines[:-1])) <= 80
    assert len(lines) < 40
    text = "\n".join(lines)
    names = (
        "adap_ucb",
        "dp_se",
        "kl_ucb",
        "azize_fig3",
        "knee ε*",
        "knee of the lower bound: 0.273",
        "n = 5",
    )
    for name in names:
        assert name in text


def _unknown(store: Path, folder: Path) -> list[str]:
    return ["report", "demon", "--store", str(store)]


def _missing(store: Path, folder: Path) -> list[str]:
    return ["report", "--store", str(store / "none")]


def _manifest(store: Path, folder: Path) -> list[str]:
    (folder / "manifest.parquet").write_bytes(b"PAR1")
    return ["report", "--store", str(store)]


def _segment(store: Path, folder: Path) -> list[str]:
    next((store / "rows").iterdir()).write_bytes(b"PAR1")
    return ["report", "--store", str(store)]


def _empty(store: Path, folder: Path) -> list[str]:
    next((store / "rows").iterdir()).unlink()
    return ["report", "--store", str(store)]


def _config(store: Path, folder: Path) -> list[str]:
    (folder / "config.yaml").write_text("grid: [")
    return ["report", "--store", str(store)]


def _failures(store: Path, folder: Path) -> list[str]:
    (folder / "failures.parquet").write_bytes(b"PAR1")
    return ["report", "--store", str(store)]


def _unwritable(store: Path, folder: Path) -> list[str]:
    (folder / "tables").write_text("a file where a folder must be")
    return ["report", "--store", str(store)]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_unknown, ["sweep: got 'demon'", "closest: demo-0123abcd"]),
        (_missing, ["store: got", "allowed: a folder that sweeps wrote"]),
        (_manifest, ["manifest: got a damaged file", "run the sweep's command again"]),
        (_segment, ["demo-0123abcd.parquet is damaged", "run the sweep again"]),
        (_empty, ["sweep: got no rows yet", "of the 3 rows"]),
        (_config, ["config: got a damaged file"]),
        (_failures, ["failures: got a damaged file"]),
        (_unwritable, ["report: got", "a folder that can be written"]),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    synthetic: SimpleNamespace,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Path, Path], list[str]],
    words: list[str],
) -> None:
    plan = synthetic.Plan(np.tile(np.log(synthetic.grid(100)), (3, 1)), T=100)
    folder = synthetic.write_sweep(tmp_path, [plan])
    assert main(spoil(tmp_path, folder)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    for word in words:
        assert word in err
    assert not (folder / "report.html").exists()


@pytest.mark.parametrize("arguments", [["reprot"], ["report", "a", "b"], ["report", "--store"]])
def test_bad_usage_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    err = capsys.readouterr().err
    assert stop.value.code == 2 and err.startswith("error: ") and err.count("\n") == 1


def test_without_arguments_shows_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "report" in capsys.readouterr().out
