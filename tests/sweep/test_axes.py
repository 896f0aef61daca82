"""Axes of a grid."""

from __future__ import annotations

import pytest

from algos import InputError
from sweep.grid import axes


def test_scalars_lists_and_generators():
    assert axes.epsilons(0.5) == [0.5]
    assert axes.epsilons([0.5, 1, 0.5, float("inf")]) == [0.5, 1.0, float("inf")]
    assert axes.epsilons([{"logspace": [0.01, 100, 5]}]) == [0.01, 0.1, 1.0, 10.0, 100.0]
    assert axes.epsilons({"linspace": [0.1, 0.3, 3]}) == [0.1, 0.2, 0.3]
    assert axes.integers("grid.T", [{"powers": [10, 3, 5]}, 2e3], 1) == [1000, 10000, 100000, 2000]
    assert axes.integers("grid.T", [1e18, 10**18], 1) == [10**18]
    assert axes.numbers("grid.epsilon", None) == []


def test_the_shipped_epsilons_have_eight_points_an_octave():
    points = axes.epsilons([{"logspace": [0.01, 100, 107]}])
    assert len(points) == 107 and points[0] == 0.01 and points[-1] == 100
    octave = [b / a for a, b in zip(points[:-8], points[8:], strict=True)]
    assert min(octave) == pytest.approx(2, rel=0.01) and max(octave) == pytest.approx(2, rel=0.01)


def test_named_items_expand():
    found = axes.algorithms(["ucb1", {"name": "adap_ucb", "alpha": [2.0, 3.1], "replicates": 3}])
    assert found == [
        {"name": "ucb1"},
        {"name": "adap_ucb", "alpha": 2.0, "replicates": 3},
        {"name": "adap_ucb", "alpha": 3.1, "replicates": 3},
    ]
    means = {"name": "bernoulli", "means": [[0.5, 0.4], [0.9, 0.1]]}
    assert [item["means"] for item in axes.instance_items([means])] == [[0.5, 0.4], [0.9, 0.1]]
    assert axes.instance_items({"name": "bernoulli", "means": [0.5, 0.4]}) == [
        {"name": "bernoulli", "means": [0.5, 0.4]}
    ]
    gaps = {"name": "equal_gap", "gap": [0.1, 0.2], "best": 0.5, "K": [2, 3]}
    assert len(axes.instance_items(gaps)) == 4


@pytest.mark.parametrize(
    ("read", "axis", "says"),
    [
        (axes.epsilons, [], "at least one"),
        (axes.epsilons, [-1], "got -1"),
        (axes.epsilons, [0], "got 0"),
        (axes.epsilons, float("nan"), "got nan"),
        (axes.epsilons, ["small"], "'small'"),
        (axes.epsilons, [True], "True"),
        (axes.epsilons, [{"logspaec": [1, 2, 3]}], "closest: logspace"),
        (axes.epsilons, [{"logspace": [0, 2, 3]}], "low and high > 0"),
        (axes.epsilons, [{"logspace": [1, 2]}], "three numbers"),
        (axes.epsilons, [{"logspace": [1, 2, 2.5]}], "integer"),
        (axes.epsilons, [{"linspace": [1, float("nan"), 2]}], "nan"),
        (lambda axis: axes.integers("grid.T", axis, 1), [{"powers": [10, 3, 1]}], "low ≤ high"),
        (lambda axis: axes.integers("grid.T", axis, 1), [1.5], "1.5"),
        (axes.algorithms, ["adap_klucbb"], "closest: adap_klucb"),
        (axes.algorithms, [{"alpha": 1}], "a name or a mapping"),
        (axes.algorithms, [{"name": "adap_ucb", "alpha": []}], "at least one"),
        (axes.instance_items, ["sajed_c5"], "closest: sajed_c"),
        (axes.instance_items, [3], "a name or a mapping"),
    ],
)
def test_bad_axes_say_so(read, axis, says):
    with pytest.raises(InputError) as caught:
        read(axis)
    assert says in str(caught.value) and "\n" not in str(caught.value)
