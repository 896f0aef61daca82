"""Compiled kernels are found again by a new process, and never after an edit."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import algos
from algos import kernel_cache

SCRIPT = """
import algos
for name in ("adap_klucb", "dp_se"):
    algos.simulate(name, "azize_fig3", epsilon=1.0, T=50)
    stats = algos.algorithm(name).kernel.stats
    print(name, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print(algos.kernel_cache.directory() if hasattr(algos, "kernel_cache") else "")
"""


def run(script: str, folder: Path, cache: Path) -> list[str]:
    """Output lines of a Python script in a new process with a cache of its own."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True,
        text=True, timeout=300, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_a_second_process_compiles_nothing(tmp_path):
    source = Path(algos.__file__).parent
    shutil.copytree(source, tmp_path / "algos", ignore=shutil.ignore_patterns("__pycache__"))
    cache = tmp_path / "cache"
    cache.mkdir()
    first = run(SCRIPT, tmp_path, cache)
    assert first[0] == "adap_klucb 0 1" and first[1] == "dp_se 0 1"
    second = run(SCRIPT, tmp_path, cache)
    assert second[0] == "adap_klucb 1 0" and second[1] == "dp_se 1 0"
    assert len(list(cache.iterdir())) == 1
    # An edit of a file that a kernel calls, though not of the kernel's own, starts afresh.
    helper = tmp_path / "algos" / "kl.py"
    helper.write_text(helper.read_text() + "\n# an edit\n")
    third = run(SCRIPT, tmp_path, cache)
    assert third[0] == "adap_klucb 0 1"
    assert len(list(cache.iterdir())) == 2


def test_importing_leaves_numbas_setting_alone():
    script = """
import numba
before = numba.config.CACHE_DIR
import algos
print(before == numba.config.CACHE_DIR)
"""
    folder = Path(algos.__file__).parents[1]
    assert run(script, folder, kernel_cache.directory().parent)[-1] == "True"


def test_a_plugins_helpers_count(tmp_path, monkeypatch):
    """A package named without a dot, and a file that calls its neighbour."""
    import numba

    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "whole_package"
    (package / "deep").mkdir(parents=True)
    for module, helper in (
        ("whole_package", package / "deep" / "helper.py"),
        ("lone_file", tmp_path / "neighbour.py"),
    ):
        (package / "__init__.py").write_text("")
        (tmp_path / "lone_file.py").write_text("")
        seen = []
        for text in ("a = 1\n", "a = 2\n"):
            helper.write_text(text)
            with kernel_cache.for_plugin(module):
                seen.append(numba.config.CACHE_DIR)
        assert seen[0] != seen[1]
        for path in seen:
            shutil.rmtree(path)


def test_a_plugins_folder_depends_on_its_source(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "some_plugin.py"
    seen = set()
    for text in ("a = 1\n", "a = 2\n", "a = 2\n"):
        module.write_text(text)
        with kernel_cache.for_plugin("some_plugin"):
            import numba

            seen.add(numba.config.CACHE_DIR)
    assert len(seen) == 2 and not any(path == str(kernel_cache.directory()) for path in seen)
    for path in seen:
        shutil.rmtree(path)
