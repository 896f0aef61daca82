"""The report's files and the command line."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from analysis.files import write_file
from analysis.tables import estimate, number, summary, with_labels

import analysis
from analysis import figures
from analysis.__main__ import main

T = 10**4
GRID = np.geomspace(0.05, 20, 71)


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
    assert names == {f"{kind}-azize_fig3.{end}" for kind in kinds for end in ("png", "svg")}
    for path in report.figures:
        if path.suffix == ".svg":
            ElementTree.parse(path)
        else:
            assert path.read_bytes().startswith(b"\x89PNG")
    assert {p.name for p in (folder / "tables").iterdir()} == {
        "summary.csv", "slopes.csv", "transitions.csv", "failures.csv",
    }  # fmt: skip
    assert len(pd.read_csv(folder / "tables" / "slopes.csv")) == len(GRID) + 4
    assert set(report.tables) == {"summary", "slopes", "transitions", "failures"}
    everything = [p.name for p in folder.rglob("*")]
    assert not [name for name in everything if name.startswith(".")]


def test_page_is_self_contained_and_escaped(written: tuple[Path, analysis.Report]) -> None:
    page = written[1].html.read_text(encoding="utf-8")
    outside = [u for u in re.findall(r"https?://[^\s\"'<]+", page) if "www.w3.org" not in u]
    assert outside == []
    assert re.findall(r"(?:src|href)=\"(?!data:image/png;base64,)", page) == []
    assert "<script" not in page and "&lt;script&gt;x" in page
    assert "Is &lt;b&gt;privacy&lt;/b&gt; free &amp; when?" in page
    assert page.count('<img src="data:image/png;base64,') == 3
    assert "python -m sweep +grid=demo" in page
    assert "1 units failed" in page and "c0ffee" in page
    for name in ("numpy", "pandas", "scipy", "pyarrow", "matplotlib", "python"):
        assert re.search(rf"{name} \d+\.\d+", page)
    # 75 cells: the long table is there, but folded.
    assert "<details>\n<summary>75 cells" in page


def test_headline(written: tuple[Path, analysis.Report]) -> None:
    line = written[1].headlines[0]
    found = re.fullmatch(
        r"adap_ucb on azize_fig3: privacy stops costing at ε ≈ (\S+) \[\S+, \S+\]; predicted 0.273",
        line,
    )
    assert found and float(found.group(1)) == pytest.approx(0.9, rel=0.1)


def test_figures_say_n_and_the_finding(written: tuple[Path, analysis.Report]) -> None:
    """Titles, axes and the line on n are text objects of the figure: check them there."""
    folder, report = written
    df = analysis.load(str(folder))
    slopes = with_labels(report.tables["slopes"])
    fits = report.tables["transitions"].assign(label="adap_ucb", place="azize_fig3")
    by_cell = {cell.info["cell"]: cell for cell in analysis.curves.cells(df)}
    drawn = {kind: figure for kind, _, figure in figures.draw(slopes, fits, by_cell)}
    texts = {
        kind: " ".join(text.get_text() for text in figure.texts)
        for kind, figure in drawn.items()
    }  # fmt: skip
    assert all("n = 5 replicates" in text for text in texts.values())
    assert all("95 % bootstrap interval" in text for text in texts.values())
    assert "privacy stops costing at ε ≈" in drawn["regret_vs_epsilon"].get_suptitle()
    axes = drawn["regret_vs_epsilon"].axes[0]
    assert "units of reward" in axes.get_ylabel() and "ε" in axes.get_xlabel()
    legend = axes.get_legend()
    assert legend is not None
    labels = "\n".join(text.get_text() for text in legend.get_texts())
    assert "kl_ucb (no privacy, n = 5)" in labels and "predicted ε* 0.273" in labels
    looks = {(line.get_linestyle(), line.get_marker()) for line in axes.lines[:2]}
    assert len(looks) == 2


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
    assert report.headlines[0] == "Not complete: 6 of 8 replicates are in the store."
    assert "deterministic" in report.headlines[1]


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
    assert list(out["place"]) == ["i, T = 10", "i, T = 10", "i, T = 1e7"]


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


def test_summary_has_one_row_per_series(written: tuple[Path, analysis.Report]) -> None:
    tables = written[1].tables
    table = summary(tables["slopes"], tables["transitions"])
    assert list(table["label"]) == ["adap_ucb", "dp_se", "kl_ucb"]
    assert list(table["cells"]) == [71, 3, 1]


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
    assert len(lines) < 30
    text = "\n".join(lines)
    names = (
        "adap_ucb",
        "dp_se",
        "kl_ucb",
        "azize_fig3",
        "ε* [95 %]",
        "predicted ε* 0.273",
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
        (_unknown, ["sweep: 'demon' is not in", "did you mean 'demo-0123abcd'"]),
        (_missing, ["store:", "is not a folder"]),
        (_manifest, ["manifest.parquet' is damaged", "run the sweep's command again"]),
        (_segment, ["demo-0123abcd.parquet' is damaged", "run the sweep again"]),
        (_empty, ["has no rows yet (0 of 3"]),
        (_config, ["config.yaml' is damaged"]),
        (_failures, ["failures.parquet' is damaged"]),
        (_unwritable, ["report:", "cannot be written"]),
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


def test_module_imports_neither_machinery_nor_pyplot() -> None:
    code = (
        "import sys, analysis, analysis.__main__; "
        "bad = {'ray', 'hydra', 'omegaconf', 'algos', 'sweep', 'wandb', 'matplotlib.pyplot'}; "
        "sys.exit(', '.join(bad & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
