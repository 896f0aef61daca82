"""Golden values: a kernel whose results change must bump its version.

`golden.json` holds, per algorithm and version, the outcome columns of a few replicates and the
numbers that one released, on the instances that the family's references name. When a change of
results is meant, bump the version in the registry and run this file as a script, with tests/ on
PYTHONPATH.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from reference.finding import package

from algos import algorithms, replay, simulate

FILE = Path(__file__).with_name("golden.json")
T = 4000
EPSILON = 0.7


def outcomes(name: str, family: str) -> list[dict[str, object]]:
    """Outcome columns of three replicates on each of the family's instances."""
    found = []
    for instance in package(family).GOLDEN:
        result = simulate(name, instance, epsilon=EPSILON, T=T, replicates=3, seed=42)
        columns = {key: np.asarray(value).tolist() for key, value in result.outcome.items()}
        values = replay(name, instance, epsilon=EPSILON, T=T, seed=42).message_value
        columns["released"] = [float(f"{value:.12g}") for value in values[:20]]
        found.append(columns)
    return found


@pytest.mark.parametrize("entry", algorithms(), ids=lambda entry: entry.name)
def test_results_belong_to_the_version(entry):
    golden = json.loads(FILE.read_text())
    key = f"{entry.name} v{entry.version}"
    assert key in golden, f"no golden values for {key}: python {FILE.with_name('test_golden.py')}"
    found = outcomes(entry.name, entry.family)
    for mine, theirs in zip(found, golden[key], strict=True):
        assert mine.keys() == theirs.keys()
        for column in mine:
            np.testing.assert_allclose(
                np.array(mine[column], float), np.array(theirs[column], float), rtol=1e-9,
                err_msg=f"{key} gives other results: bump its version",
            )  # fmt: skip


if __name__ == "__main__":
    values = {f"{e.name} v{e.version}": outcomes(e.name, e.family) for e in algorithms()}
    FILE.write_text(json.dumps(values, indent=None, sort_keys=True).replace("}], ", "}],\n") + "\n")
