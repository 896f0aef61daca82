"""What comes from outside goes through the shared tests without a line changed anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import algos
from algos import kernel_cache

TESTS = Path(__file__).parents[1]
SHARED = [str(Path(__file__).with_name(name)) for name in ("test_contract.py", "test_reference.py")]

ALGORITHM = '''
from typing import NamedTuple

from algos import Algorithm, Parameter, register
from algos.blocks import play
from algos.dispatch import implements
from algos.environments import number_of_arms, pull
from algos.traces import record


class Stubborn(NamedTuple):
    """The parameters of `stubborn`."""

    patience: int


@implements(play, Stubborn)
def stubborn(algorithm, env, rng, trace, T):
    """Play the arm that paid most in its first `patience` pulls."""
    K = number_of_arms(env)
    best, most = 0, -1.0
    t = 0
    for j in range(K):
        n = min(algorithm.patience, T - t)
        total = pull(env, rng, j, t + 1, n)
        record(trace, env, t + 1, j, n)
        t += n
        if total > most:
            best, most = j, total
        if t == T:
            return
    record(trace, env, t + 1, best, T - t)


register(
    Algorithm(
        name="stubborn",
        family="bandit",
        form=Stubborn,
        source="tests",
        summary="explores once, then commits",
        regret="O(T)",
        skips_ahead=True,
        parameters=(Parameter("patience", 50, "pulls", low=1, high=1000, integer=True),),
        cost=lambda T, sizes, epsilon: 20.0 * sizes["K"] + 1e-9 * T,
        version=1,
    )
)
'''
REFERENCE = '''
def stubborn(reward, K, T, rng, *, patience=50):
    """One round at a time."""
    actions, total = [], [0.0] * K
    for t in range(1, T + 1):
        arm = (t - 1) // patience
        if arm >= K:
            arm = total.index(max(total))
            reward(t, arm)
        else:
            total[arm] += reward(t, arm)
        actions.append(arm)
    return actions, []
'''


def passed(folder: Path, plugin: str, *wanted: str) -> str:
    """The summary of the shared tests with a plugin from `folder`."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(folder), str(Path(algos.__file__).parents[1])]),
        "NUMBA_CACHE_DIR": str(kernel_cache.directory().parent),
        "TESTED_PLUGINS": plugin,
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *SHARED,
        *wanted,
    ]
    done = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return done.stdout.splitlines()[-1]


def test_an_algorithm_is_one_module_and_one_reference(tmp_path):
    (tmp_path / "stubborn_rule.py").write_text(ALGORITHM)
    (tmp_path / "reference" / "bandit").mkdir(parents=True)
    (tmp_path / "reference" / "bandit" / "stubborn_rule.py").write_text(REFERENCE)
    summary = passed(tmp_path, "stubborn_rule", "-k", "stubborn or distinct")
    assert int(summary.split()[0]) >= 20


def test_a_wrong_reference_is_noticed(tmp_path):
    (tmp_path / "stubborn_rule.py").write_text(ALGORITHM)
    (tmp_path / "reference" / "bandit").mkdir(parents=True)
    wrong = REFERENCE.replace("(t - 1) // patience", "t // patience")
    (tmp_path / "reference" / "bandit" / "stubborn_rule.py").write_text(wrong)
    try:
        passed(tmp_path, "stubborn_rule", "-k", "stubborn and same_actions")
    except AssertionError as error:
        assert "round 50: action 0, expected 1" in str(error)
    else:
        raise AssertionError("the shared tests passed")


def test_a_family_is_its_module_and_its_references():
    """Pairs of arms and regret in hindsight, from the plugin that the sweep's tests use."""
    summary = passed(TESTS / "sweep", "duels_plugin", "-k", "pair or duels or distinct")
    assert int(summary.split()[0]) >= 30
