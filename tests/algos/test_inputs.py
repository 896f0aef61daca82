"""What a user can get wrong is one clear line; what is written in other types is the same."""

from __future__ import annotations

import numpy as np
import pytest

from algos import InputError, simulate
from algos.instances import resolve


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"algorithm": "adap_ukb"}, "closest: adap_ucb"),
        ({"instance": "azize_fig4"}, "closest: azize_fig3"),
        ({"instance": {"name": "bernoulli", "means": [0.5, 1.5]}}, "1.5"),
        ({"instance": {"name": "bernoulli", "means": [0.5, float("nan")]}}, "nan"),
        ({"instance": {"name": "bernoulli", "means": [0.5]}}, "two arms"),
        ({"instance": {"name": "bernoulli", "mean": [0.5, 0.4]}}, "closest: means"),
        ({"instance": {"name": "equal_gap", "gap": 0.1, "best": 0.5}}, "K"),
        ({"instance": {"name": "equal_gap", "gap": 0.6, "best": 0.5, "K": 3}}, "gap"),
        ({"instance": {"name": "uniform", "low": [0.5, 0.1], "high": [0.4, 0.2]}}, "high"),
        ({"instance": {"name": "beta", "a": [1, 1], "b": [0, 1]}}, "positive"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"T": 4}, "K = 5"),
        ({"T": 10.5}, "T"),
        ({"T": 10**19}, "T"),
        ({"replicates": 0}, "replicates"),
        ({"seed": -1}, "seed"),
        ({"checkpoints": [0, 5]}, "checkpoints"),
        ({"checkpoints": [101]}, "checkpoints"),
        ({"checkpoints": []}, "checkpoints"),
        ({"checkpoints": 5}, "checkpoints"),
        ({"instance": None}, "a mapping"),
        ({"instance": [0.5, 0.1]}, "a mapping"),
        ({"instance": {"name": "beta", "a": [1e-320, 1], "b": [1, 1]}}, "0.001"),
        ({"epsilon": 1e-320}, "epsilon"),
        ({"replicates": 10**12}, "replicates"),
        ({"alpha": 0}, "alpha"),
        ({"alfa": 3}, "closest: alpha"),
    ],
)
def test_bad_input_is_one_clear_line(change, says):
    good = {"algorithm": "adap_ucb", "instance": "azize_fig3", "epsilon": 1.0, "T": 100}
    with pytest.raises(InputError) as caught:
        simulate(**(good | change))
    line = str(caught.value)
    assert says in line and "\n" not in line and "allowed:" in line


def test_numpy_scalars_are_numbers():
    plain = simulate("adap_ucb", "azize_fig3", epsilon=1.0, T=500, alpha=3.0, replicates=2)
    same = simulate("adap_ucb", "azize_fig3", epsilon=np.float32(1), T=np.int64(500),
                    alpha=np.int64(3), replicates=np.int64(2))  # fmt: skip
    assert plain.stream == same.stream and np.array_equal(plain.regret, same.regret)
    gaps = {"name": "equal_gap", "gap": np.float64(0.1), "best": 0.5, "K": np.int64(3)}
    assert resolve(gaps).means == (0.5, 0.4, 0.4)
