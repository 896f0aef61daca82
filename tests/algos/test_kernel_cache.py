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
from algos.blocks import play_block
for name in ("adap_klucb", "dp_se"):
    algos.simulate(name, "azize_fig3", epsilon=1.0, T=50)
    form = algos.algorithm(name).form.__name__
    stats = play_block.stats
    counts = [[n for sig, n in found.items() if str(sig[0]).startswith(form)]
              for found in (stats.cache_hits, stats.cache_misses)]
    print(name, *map(sum, counts))
"""


def run(script: str, folder: Path, cache: Path, source: Path | None = None) -> list[str]:
    """Output lines of a Python script in a new process with a cache of its own; `algos` is found
    in `source`, or in the folder itself.
    """
    path = os.pathsep.join([str(folder), str(source or folder)])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": path}
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
    helper = tmp_path / "algos" / "maths" / "kl.py"
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


PLUGIN = """
from typing import NamedTuple
import numpy as np
from algos import Algorithm, register
from algos.bandit.ucb import ucb1  # the first to import a shipped kernel
from algos.blocks import play
from algos.dispatch import compiled, implements
from algos.environments import block_regret, number_of_arms, pull
from algos.instances import Kind, register_kind
from algos.traces import record

class Coins(NamedTuple):
    means: np.ndarray
    gaps: np.ndarray

@implements(number_of_arms, Coins)
def arms(env):
    return env.means.size

@implements(block_regret, Coins)
def regret(env, action, n):
    return env.gaps[action] * n

@implements(pull, Coins)
def toss(env, rng, arm, t, n, step=1):
    return PAYS * n * env.means[arm]

def build(content):
    means = np.array(content["means"])
    return Coins(means, means.max() - means)

register_kind("coins", Kind({"means": 1}, lambda given: {"name": "coins", **given}, build,
                            families=("bandit",), sizes=lambda env: {"K": env.means.size}))

class Plain(NamedTuple):
    pass

@implements(play, Plain)
def plain(algorithm, env, rng, trace, T):
    whole(env, trace, T)

@compiled
def whole(env, trace, T):
    record(trace, env, 1, 0, T)

register(Algorithm(name="plain", family="bandit", form=Plain, source="tests",
                   summary="tests", cost=lambda T, sizes, epsilon: 1.0, version=1))
"""
PLAYED = """
import algos
from algos.blocks import play_block
from algos import kernel_cache
if PLUGIN:
    with kernel_cache.for_plugin("coins_plugin"):  # before anything asks for the shipped families
        import coins_plugin
    algos.load_plugins(["coins_plugin"])
    algos.simulate("plain", "azize_fig3", T=50)
    print(algos.simulate("ucb1", {"name": "coins", "means": [0.5, 0.4]}, T=50).regret.shape)
algos.simulate("ucb1", "azize_fig3", T=50)
stats = play_block.stats
for form in ("Plain", "UCB1"):
    counts = [[n for sig, n in found.items() if str(sig[0]).startswith(form)]
              for found in (stats.cache_hits, stats.cache_misses)]
    print(form, *map(sum, counts))
"""


def test_plugins_and_shipped_kernels_have_folders_of_their_own(tmp_path):
    """Also a shipped kernel that a plugin imports first, and what it becomes on a plugin's types:
    without the plugin the shipped folder is still read, and an edit of the plugin is noticed.
    """
    cache, source = tmp_path / "cache", Path(algos.__file__).parents[1]
    cache.mkdir()

    def played(plugin: bool) -> list[str]:
        return run(f"PLUGIN = {plugin}\n{PLAYED}", tmp_path, cache, source)

    module = tmp_path / "coins_plugin.py"
    module.write_text(PLUGIN.replace("PAYS", "1.0"))
    assert played(True)[1:] == ["Plain 0 1", "UCB1 0 2"]
    assert played(True)[1:] == ["Plain 1 0", "UCB1 2 0"]
    shipped, own = sorted(cache.iterdir(), key=lambda path: len(path.name))
    assert own.name.startswith(f"{shipped.name}-")
    names = {path.name.split("-")[0] for path in own.rglob("*.nbi")}
    assert {"blocks.play_block", "coins_plugin.whole"} <= names
    assert not any("coins" in path.name for path in shipped.rglob("*.nbi"))
    module.write_text(PLUGIN.replace("PAYS", "0.5"))
    assert played(True)[1:] == ["Plain 0 1", "UCB1 1 1"]
    module.unlink()
    assert played(False) == ["Plain 0 0", "UCB1 1 0"]


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
