"""What importing costs, and that the order of imports doesn't matter; each in a fresh process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import algos
from algos import kernel_cache

ROOT = Path(algos.__file__).parents[1]


def run(script: str, **environment: str) -> str:
    """What a script prints in a new process."""
    found = os.environ | {
        "PYTHONPATH": str(ROOT),
        "NUMBA_CACHE_DIR": str(kernel_cache.directory().parent),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "tests", env=found | environment,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "module",
    ["algos", "algos.errors", "algos.checks", "algos.checkpoints", "algos.identity",
     "algos.contents", "algos.families", "algos.instances"],
)  # fmt: skip
def test_what_needs_no_kernel_loads_no_numba(module):
    script = f"import sys, {module}; print([m for m in sys.modules if m.startswith('numba')])"
    assert run(script) == "[]"


def test_a_simulation_loads_no_machine():
    """Neither Ray nor Hydra nor Arrow nor W&B, also not once everything is in use."""
    script = """
import sys
import algos
for name in algos.__all__:
    getattr(algos, name)
algos.simulate("ucb1", "azize_fig3", T=100)
import algos.__main__
print([m for m in ("ray", "hydra", "omegaconf", "pyarrow", "wandb", "pandas") if m in sys.modules])
"""
    assert run(script) == "[]"


@pytest.mark.parametrize(
    "first",
    [
        "from algos.families import FAMILIES; assert len(FAMILIES) >= 3",
        "from algos.kinds import names; assert 'two_point' in names()",
        "from algos.instances import resolve; assert resolve('azize_fig3').sizes == {'K': 5}",
        "from algos.registry import load_plugins; load_plugins([])",
        "from algos.registry import algorithms; assert len(algorithms()) >= 20",
        "from algos.stopping_rule.nas import nas",
        "import algos.simulation, algos.replays, algos.work",
        "from algos.bandit.environments import BernoulliArms",
        "import algos.maths.kl",
    ],
)
def test_whatever_is_imported_first_all_is_there(first):
    script = f"""
{first}
import algos
assert algos.simulate("dp_se", "azize_fig3", epsilon=1.0, T=100).pulls.sum() == 100
assert algos.replay("dp_se", "azize_fig3", epsilon=1.0, T=100).actions.shape == (100,)
assert sorted(name for name in dir(algos) if name in algos.__all__) == sorted(algos.__all__)
print(len(algos.algorithms()))
"""
    assert int(run(script)) == len([entry for entry in algos.algorithms()])


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="simulat"):
        algos.simulat  # noqa: B018


PLAYED = """
import json
from algos import algorithms, replay, simulate
from algos.families import FAMILIES
found = {}
for entry in algorithms():
    given = dict(epsilon=0.8, T=250)
    instance = FAMILIES[entry.family].examples[0]
    result = simulate(entry.name, instance, replicates=2, **given)
    one = replay(entry.name, instance, **given)
    columns = [result.regret, *result.outcome.values(), one.actions, one.message_value]
    found[entry.name] = repr([column.tolist() for column in columns])
print(json.dumps(found))
"""


def test_kernels_run_in_plain_python_too():
    """With breakpoints, that is. Numba's draws are NumPy's here, so the numbers are equal."""
    assert run(PLAYED, NUMBA_DISABLE_JIT="1") == run(PLAYED)


def test_a_breakpoint_stops_inside_a_kernel():
    script = """
import sys
from algos import simulate
from algos.bandit import environments
stops = set()
def trace(frame, event, argument):
    if event == "call" and frame.f_code.co_name in ("ucb1", "pull_bernoulli", "record_counts"):
        stops.add(frame.f_code.co_name)
sys.settrace(trace)
simulate("ucb1", "azize_fig3", T=20)
print(sorted(stops))
"""
    expected = "['pull_bernoulli', 'record_counts', 'ucb1']"
    assert run(script, NUMBA_DISABLE_JIT="1") == expected and run(script) == "[]"
