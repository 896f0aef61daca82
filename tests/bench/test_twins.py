"""The twins play what the kernels play; the command compares, measures and keeps."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import twins
from scipy import stats

from algos import algorithms

NAMES = [entry.name for entry in algorithms()]
needs_compiler = pytest.mark.skipif(twins.compiler() is None, reason="there is no C++ compiler")


def cases(name: str) -> list[twins.Case]:
    """The instance on which most can go wrong, and for index policies many arms."""
    found = twins.compared(name)
    return [case for case in found if case.label == "azize_fig3, K = 50"] + [found[-1]]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    # 10 s
    return twins.compile_twins(tmp_path_factory.mktemp("twins"))


@needs_compiler
def test_every_algorithm_has_a_twin(programs: dict[str, Path]) -> None:
    assert sorted(programs) == sorted(NAMES)


@needs_compiler
@pytest.mark.parametrize("name", NAMES)
def test_twin_plays_the_same(name: str, programs: dict[str, Path]) -> None:
    """Fails by chance with probability 1e-6 for each instance, by the normal law."""
    for case in cases(name):
        z, critical, where = twins.compare_twin(programs[name], case)
        assert z <= critical, f"{case.label}: {where}"


@pytest.mark.parametrize("name", NAMES)
def test_arrays_play_the_same(name: str) -> None:
    """Fails by chance with probability 1e-6, by the normal law."""
    z, critical, where = twins.compare_numpy(twins.compared(name)[-1])
    assert z <= critical, where


@needs_compiler
@pytest.mark.parametrize(
    ("name", "file", "right", "wrong"),
    [
        ("ucb1", "index.cpp", "std::sqrt(2.0 * std::log(", "std::sqrt(2.3 * std::log("),
        ("kl_ucb", "index.cpp", "double budget = std::log(", "double budget = 1.3 * std::log("),
        ("imed", "index.cpp", "log_n[arm] = std::log(", "log_n[arm] = 0.7 * std::log("),
        ("adap_klucb", "adap.cpp", "ALPHA = 3.1", "ALPHA = 2.5"),
        ("dp_nas", "stopping.cpp", "sigma(12.0 / epsilon)", "sigma(11.0 / epsilon)"),
    ],
)
def test_wrong_twin_is_noticed(
    name: str, file: str, right: str, wrong: str, tmp_path: Path
) -> None:
    # 2 s each
    for header in twins.SOURCES.glob("*.hpp"):
        shutil.copy(header, tmp_path)
    text = (twins.SOURCES / file).read_text()
    assert text.count(right) >= 1
    (tmp_path / file).write_text(text.replace(right, wrong))
    program = twins.compile_twins(tmp_path, tmp_path)[name]
    z, critical, _ = twins.compare_twin(program, twins.compared(name)[-1])
    assert z > critical


DRAWS = """
#include "twin.hpp"
int main() {
    twin::Generator rng(1, 2);
    const twin::Gamma one(1.0), large(41.5);
    for (int i = 0; i < 20000; ++i)
        std::printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\\n",
                    rng.uniform(), rng.normal(), rng.laplace(2.0), rng.beta(one, large),
                    rng.gamma(one), rng.binomial(50, 0.1), rng.binomial(90, 0.7),
                    rng.binomial(100000, 0.4));
}
"""


@needs_compiler
def test_generator_draws_from_the_laws(tmp_path: Path) -> None:
    """Each of eight tests fails by chance with probability 1e-6. 3 s"""
    (tmp_path / "draws.cpp").write_text(DRAWS)
    shutil.copy(twins.SOURCES / "twin.hpp", tmp_path)
    program = tmp_path / "draws"
    command = [str(twins.compiler()), *twins.FLAGS, "-o", str(program), f"{program}.cpp"]
    twins.run(command, tmp_path, 300.0)
    words = twins.run([str(program)], tmp_path, 60.0).output.split()
    columns = np.array(words, float).reshape(-1, 8).T
    laws = [stats.uniform(), stats.norm(), stats.laplace(scale=2.0), stats.beta(1.0, 41.5)]
    for values, law in zip(columns, [*laws, stats.gamma(1.0)], strict=False):
        assert stats.kstest(values, law.cdf).pvalue > 1e-6, law.dist.name
    for values, law in zip(
        columns[5:], [stats.binom(50, 0.1), stats.binom(90, 0.7), stats.binom(100_000, 0.4)],
        strict=True,
    ):  # fmt: skip
        edges = np.unique(law.ppf(np.linspace(0.02, 0.98, 25)))
        chances = np.diff(law.cdf(edges), prepend=0.0, append=1.0)
        found = np.bincount(np.searchsorted(edges, values), minlength=chances.size)
        assert stats.chisquare(found, chances * values.size).pvalue > 1e-6, law.args


def test_interval_of_the_median() -> None:
    assert twins.interval([3.0, 1.0, 2.0]) == {"median": 2.0, "low": 1.0, "high": 3.0}
    seven = twins.interval([float(i) for i in range(7)])
    assert (seven["low"], seven["high"]) == (0.0, 6.0)  # 1 - 2 / 2^7 = 0.984
    nine = twins.interval([float(i) for i in range(9)])
    assert (nine["low"], nine["high"]) == (1.0, 7.0)  # 1 - 2 (1 + 9) / 2^9 = 0.961


def results(ratio: float, T: int = 10) -> dict[str, Any]:
    """Of one case."""
    interval = {"median": ratio, "low": 0.9 * ratio, "high": 1.1 * ratio}
    case = {"algorithm": "ucb1", "instance": "azize_fig3", "ratio": interval}
    return {"commit": "abc", "settings": {"T": T}, "cases": [case]}


def test_what_got_slower_is_listed() -> None:
    assert twins.slower(results(20.0), results(17.0)) == []
    (line,) = twins.slower(results(20.0), results(10.0))
    assert line.startswith("slower than in abc: ucb1, azize_fig3: 10.00") and "overlap" not in line
    (line,) = twins.slower(results(20.0), results(16.6))
    assert "overlap" in line
    (line,) = twins.slower(results(20.0), results(10.0, T=20))
    assert "not comparable" in line


@needs_compiler
def test_whole_command_at_tiny_sizes(
    programs: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(twins, "compile_twins", lambda folder: programs)
    monkeypatch.setattr(twins, "SMPYBANDITS", ())
    monkeypatch.setattr(twins, "TURN", 0.001)
    monkeypatch.setattr(twins, "VECTOR", 10)
    monkeypatch.setattr(twins, "pin", lambda: None)
    kept = tmp_path / "new" / "twins.json"
    command = ["--only", "adap_ucb", "nas", "--repeats", "2", "--T", "1e3", "--json", str(kept)]
    twins.main([*command, "--against", str(tmp_path / "none.json")])
    found = json.loads(kept.read_text())
    assert [case["algorithm"] for case in found["cases"]] == ["adap_ucb", "nas"]
    for case in found["cases"]:
        assert case["agreement"]["z"] <= case["agreement"]["critical"]
        for side in ("ours", "cpp", "numpy"):
            assert 0.0 < case[side]["low"] <= case[side]["median"] <= case[side]["high"]
    assert found["commit"] and found["machine"]["cores"] and found["versions"]["c++"]
    text = capsys.readouterr().out
    assert text.count("| `") == 2 and "failed" not in text
    twins.main([*command, "--against", str(kept)])
    assert "slower" in capsys.readouterr().out  # what, or that nothing did


def environment(folder: Path, requirements: tuple[str, ...], script: str) -> None:
    """A virtual environment that is there already, with a shell script for its interpreter."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / "python").chmod(0o755)
    (folder / "installed.txt").write_text("\n".join(requirements) + "\n")


def test_library_that_fails_is_listed_and_an_older_one_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(twins, "SMPYBANDITS", (("a",), ("a<2",)))
    monkeypatch.setattr(twins, "TURN", 0.001)
    failing = "echo 'ImportError: no b (/somewhere/b.py)' >&2; exit 1"
    environment(tmp_path / "smpybandits-0", ("a",), failing)
    talking = """while read algorithm T rest; do echo a word; echo '{"seconds": 0.5}'; done"""
    environment(tmp_path / "smpybandits-1", ("a<2",), talking)
    library = twins.SMPyBandits(tmp_path)
    try:
        assert library.error == "ImportError: no b"
        (case,) = twins.timed(["thompson_beta"])
        side = library.side(case, 1000)
        assert side is not None and side.size == 200
        side.turn(1)
        assert side.result()["median"] == 0.5 * 1000 / 200 * 1e6
        assert library.side(twins.timed(["ftl"])[0], 1000) is None
    finally:
        library.stop()
    monkeypatch.setattr(twins, "SMPYBANDITS", (("a",),))
    assert twins.SMPyBandits(tmp_path).side(case, 1000) is None
