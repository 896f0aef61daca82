"""The one interface of chapters, kept by all that are found; plugins; failures."""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis import chapters
from analysis.__main__ import main
from analysis.chapter import Chapter, Data, Figure, Overview
from analysis.loaded import Loaded
from analysis.report import writing
from analysis.report.page import glossary

T = 10**4
EPSILONS = [0.1 * 2**k for k in range(8)]


def plans(synthetic: SimpleNamespace) -> list[Any]:
    """Eight ε for one algorithm, one for a baseline."""
    shape = np.log(synthetic.grid(T))
    spread = np.array([[0.9], [1.0], [1.1]])
    made = [synthetic.Plan((1 + 1 / e) * spread * shape, T=T, epsilon=e) for e in EPSILONS]
    made.append(synthetic.Plan(spread * shape, T=T, epsilon=None, algorithm="ucb1"))
    return made


def with_everything(df: pd.DataFrame) -> Data:
    """A sweep in which every shipped chapter has something to say.

    Beside its regret: an outcome of stopping rules in rows of their own, what generated the
    instances, and a failure.
    """
    bandit = df.assign(
        instance_generator='{"name": "equal_gap", "gap": 0.1, "K": 5}', sizes='{"K": 5}'
    )
    sized = [
        bandit.assign(cell=bandit["cell"] + str(K), K=K, instance=f"gap(K={K})",
                      instance_definition=f'{{"K": {K}}}', sizes=json.dumps({"K": K}),
                      instance_generator=json.dumps({"name": "gap", "K": K}))
        for K in (4, 8, 16, 32)
    ]  # fmt: skip
    rules = df.iloc[:6].assign(cell="rule", family="stopping_rule", algorithm="nas", epsilon=1.0)
    rules = rules.assign(parameters='{"alpha": 0.1, "beta": 0.05}', replicate=range(6))
    for name in ("checkpoints", "regret"):
        rules[name] = [np.zeros(0)] * len(rules)
    rules = rules.assign(stop_time=[10.0, 12, 14, 16, 18, 20], estimate=0.8, halted=True)
    whole = pd.concat([bandit, *sized, rules], ignore_index=True).astype({"K": "Int64"})
    whole.attrs = df.attrs | {
        "families": {
            "stopping_rule": {
                "columns": [
                    {"name": name, "dtype": "float64", "is_list": False, "meaning": f"the {name}"}
                    for name in ("stop_time", "estimate", "halted")
                ]
            }
        }
    }
    failures = pd.DataFrame({"cells": [["c"]], "error": ["<b>no</b>"], "attempts": [3]})
    return Data(Loaded(whole), failures)


@pytest.fixture(scope="module")
def data(synthetic: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Data:
    store = tmp_path_factory.mktemp("chapters")
    synthetic.write_sweep(store, plans(synthetic))
    return with_everything(analysis.load(store=store))


MODULES = chapters.find_chapters()


def test_all_modules_are_found_in_order() -> None:
    folder = Path(chapters.__file__).parent
    names = {p.stem if p.is_file() else p.name for p in folder.iterdir() if p.name[0] != "_"}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} == names
    orders = [module.ORDER for module in MODULES]
    assert orders == sorted(set(orders))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_contract(module: ModuleType, data: Data) -> None:
    """What page, terminal, CSV and tracking rely on."""
    chapter = module.chapter(data)
    assert isinstance(chapter, Chapter)
    assert re.fullmatch(r"[a-z_]+", chapter.name) and chapter.title
    assert len(chapter.table) and chapter.table.columns.is_unique
    assert pd.read_csv(_csv(chapter.table)).shape == chapter.table.shape
    assert chapter.view.map(lambda value: isinstance(value, str)).to_numpy().all()
    words = dict(glossary([chapter], data.families)).get(chapter.title, {})
    assert set(chapter.view.columns) == set(words)
    assert all(line == line.strip() and "\n" not in line for line in chapter.headlines)
    for figure in chapter.figures:
        spec = figure.chart.to_dict()  # checked against Vega-Lite's schema
        assert "vega-lite" in spec["$schema"] and re.fullmatch(r"[\w.-]+", figure.stem)
    for overview in chapter.overviews:
        texts = overview.table.astype(str)
        widths = [
            max(len(line) for text in [name, *texts[name]] for line in text.split("\n"))
            for name in texts.columns
        ]
        assert sum(widths) + 2 * len(widths) + 1 <= 80
    assert len(repr(chapter)) < 100


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_no_text_says_that_privacy_is_free_at_the_knee(module: ModuleType, data: Data) -> None:
    chapter = module.chapter(data)
    texts = [chapter.title, *chapter.headlines, *chapter.notes, *chapter.meanings.values()]
    texts += [json.dumps(f.chart.to_dict(), ensure_ascii=False) for f in chapter.figures]
    for text in texts:
        assert not re.search(r"stops? costing|costs? nothing|privacy is free", text, re.I)


def _csv(table: pd.DataFrame) -> Any:
    import io

    return io.StringIO(table.to_csv(index=False))


def test_once_is_once(data: Data) -> None:
    calls = []

    def make(given: Data) -> int:
        calls.append(given)
        return 7

    assert data.once(make) == data.once(make) == 7 and calls == [data]


PLUGIN = """
import altair as alt
import pandas as pd
from analysis.chapter import Chapter, Data, Figure, Overview

ORDER = 35


def count(cell):
    return cell.n


def measures(data: Data):
    return [count]


def chapter(data: Data):
    table = data.manifest.assign(rows=data.measured(count))
    rows = table.groupby("algorithm", sort=False)["rows"].sum().reset_index()
    rows["best"] = [float(max(means)) for means in table.groupby("algorithm")["means"].first()]
    chart = alt.Chart(rows).mark_bar().encode(x="rows:Q", y="algorithm:N")
    return Chapter(
        name="counts",
        title="Counts </script><script>alert(1)</script>",
        table=rows,
        view=rows.astype(str),
        meanings={"algorithm": "who", "rows": "how many", "best": "the best mean"},
        headlines=["there are rows & more"],
        figures=[Figure("counts of </script>", chart)],
        overviews=[Overview("Counts", rows.astype(str))],
    )
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Makes a module of this text that Python finds; returns its name."""

    def make(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.invalidate_caches()
        return name

    return make


def test_a_plugin_is_rendered_like_the_shipped_ones(
    synthetic: SimpleNamespace,
    tmp_path: Path,
    plugin: Callable[[str, str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = synthetic.write_sweep(tmp_path / "store", plans(synthetic))
    name = plugin("my_counts", PLUGIN)
    assert main(["report", "--store", str(tmp_path / "store"), "--plugin", name]) == 0
    out = capsys.readouterr().out
    assert "Counts" in out and "adap_ucb" in out
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "there are rows &amp; more" in page and "the best mean." in page
    assert "Counts &lt;/script&gt;" in page and "alert(1)</script>" not in page
    assert page.index("Counts &lt;") > page.index("<h3>Slopes</h3>")
    assert (folder / "tables" / "counts.csv").is_file()
    assert {p.suffix for p in (folder / "figures").glob("counts-of*")} == {".png", ".svg", ".pdf"}
    # Not named, it is not run.
    assert "counts" not in analysis.write_report(str(folder), tmp_path / "store").tables


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, ["got 'absent_plugin'", "a module that Python finds"]),
        (
            "import absent_library",
            ["got 'broken'", "a module that can be imported", "absent_library"],
        ),
        ("raise OSError('no\\ndisk')", ["got 'broken'", "(OSError: no"]),
        ("x = 1", ["got 'broken'", "a function chapter(data)"]),
    ],
)
def test_a_plugin_that_cannot_be_used_is_one_line_and_status_2(
    synthetic: SimpleNamespace,
    tmp_path: Path,
    plugin: Callable[[str, str], str],
    capsys: pytest.CaptureFixture[str],
    text: str | None,
    words: list[str],
) -> None:
    folder = synthetic.write_sweep(tmp_path / "store", plans(synthetic)[:1])
    name = "absent_plugin" if text is None else plugin("broken", text)
    assert main(["report", "--store", str(tmp_path / "store"), "--plugin", name]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: plugin: ") and err.count("\n") == 1
    for word in words:
        assert word in err
    assert not (folder / "report.html").exists()


def test_a_wrong_plugin_is_refused_before_any_work(
    synthetic: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthetic.write_sweep(tmp_path, plans(synthetic)[:1])

    def refuse(*_: Any) -> None:
        raise AssertionError("work began")

    monkeypatch.setattr(writing, "Stored", refuse)
    monkeypatch.setattr(writing, "Studio", refuse)
    with pytest.raises(analysis.AnalysisError, match="absent_plugin"):
        analysis.write_report(store=tmp_path, plugins=["absent_plugin"])


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('<script>x</script>\\n!')", "ValueError"),
        ("return 7", "returned int"),
        (
            "from analysis.chapter import Chapter\n    import pandas\n"
            "    return Chapter('slopes', '', pandas.DataFrame())",
            "'slopes' is taken",
        ),
        (
            "from analysis.chapter import Chapter\n    import pandas\n"
            "    return Chapter('../x', '', pandas.DataFrame())",
            "'../x' is taken or has other characters",
        ),
    ],
)
def test_a_chapter_that_fails_takes_no_other_down(
    synthetic: SimpleNamespace,
    tmp_path: Path,
    plugin: Callable[[str, str], str],
    body: str,
    reason: str,
) -> None:
    folder = synthetic.write_sweep(tmp_path / "store", plans(synthetic)[:2])
    name = plugin("failing", f"def chapter(data):\n    {body}\n")
    report = analysis.write_report(str(folder), tmp_path / "store", plugins=[name])
    [line] = report.warnings
    assert line.startswith("The chapter failing failed: ") and reason in line
    page = report.html.read_text(encoding="utf-8")
    assert "The chapter failing failed: " in page and "<script>x" not in page
    assert "slopes" in report.tables and report.figures
    # What failed may succeed next time: such a report is not kept.
    assert json.loads((folder / "report.json").read_text())["stamp"] is None


def test_a_figure_that_fails_takes_no_other_down(
    synthetic: SimpleNamespace, tmp_path: Path, plugin: Callable[[str, str], str]
) -> None:
    folder = synthetic.write_sweep(tmp_path / "store", plans(synthetic)[:2])
    text = PLUGIN.replace('chart = alt.Chart(rows).mark_bar().encode(x="rows:Q", y="algorithm:N")',
                          'chart = alt.Chart(rows).mark_bar().encode(x="rows")')  # fmt: skip
    bad = text.replace('Figure("counts of </script>", chart)', 'Figure("bad", object())')
    report = analysis.write_report(
        str(folder), tmp_path / "store", plugins=[plugin("bad_figure", bad)]
    )
    assert any("The figure bad failed" in line for line in report.warnings)
    assert "counts" in report.tables and len(report.figures) == 3 * len(
        {path.stem for path in report.figures}
    )


def test_figures_of_one_stem_have_a_number(
    synthetic: SimpleNamespace, tmp_path: Path, plugin: Callable[[str, str], str]
) -> None:
    folder = synthetic.write_sweep(tmp_path / "store", plans(synthetic)[:2])
    three = ", ".join(f'Figure("of {letter}", chart)' for letter in "αβγ")
    text = PLUGIN.replace('Figure("counts of </script>", chart)', three)
    name = plugin("alike", text)
    report = analysis.write_report(str(folder), tmp_path / "store", plugins=[name])
    assert {path.stem for path in report.figures} >= {"of", "of-2", "of-3"}
    assert all(path.is_file() for path in report.figures) and not report.warnings


def test_stems_are_names_of_files() -> None:
    assert Figure("a b/../ε?c", None).stem == "a-b-..-c"
    assert Figure("???", None).stem == "figure"
    assert Overview("t", pd.DataFrame()).notes == () and math.isnan(float("nan"))
