"""dp_ucb and naive_dp_ucb against their plain references.

On tables every action and every released sum must agree. On random instances distributions must:
each comparison makes three tests at level 1e-6 / (3 · comparisons), so a run with fresh seeds
fails with probability at most 1e-6.
"""

from math import inf
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from reference.bandit import dp_ucb as ref
from reference.compare import Case, mutant
from reference.distribution import disagreements, kernel_sample, reference_sample
from reference.finding import home
from reference.tables import bits, fractions, twins

from algos import algorithm, simulate
from algos.bandit.dp_ucb import BOUNDS, BUDGETS, noise_bound

TABLES = 4
SHORT = {"T": (300, 500), "K": (2, 6)}

CASES = [
    *(
        Case("dp_ucb", fractions, epsilon, {"bound": bound, "budget": budget}, **SHORT)
        for epsilon in (50.0, 2000.0)  # B is in the thousands at ε = 1: only order of pulls
        for bound in BOUNDS
        for budget in BUDGETS
    ),
    Case("dp_ucb", fractions, 0.5, **SHORT),
    Case("dp_ucb", fractions, 500.0, {"gamma": 0.9}, **SHORT),
    Case("dp_ucb", bits, 500.0, **SHORT),
    Case("dp_ucb", twins, inf, **SHORT),
    Case("naive_dp_ucb", fractions, 1.0, **SHORT),
    Case("naive_dp_ucb", fractions, 1e6, **SHORT),
    Case("naive_dp_ucb", twins, inf, **SHORT),
]
LONG = [
    # The plain tree is tiled anew and its rewards are summed anew every round: fewer rounds.
    Case("dp_ucb", fractions, 500.0, T=(6_000, 6_000), K=(3, 3)),
    Case("naive_dp_ucb", fractions, 1e6, T=(20_000, 20_000), K=(3, 3)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_actions_and_messages(case: Case) -> None:
    for number in range(TABLES):
        table, T = case.draw(number)
        expected = case.reference(table, T, number)
        assert case.difference(table, T, number, expected) == "", f"table {number}"


@pytest.mark.parametrize("case", LONG, ids=str)
def test_same_actions_over_a_longer_horizon(case: Case) -> None:
    table, T = case.draw(0)
    expected = case.reference(table, T, 0)
    assert case.difference(table, T, 0, expected) == ""


def test_bounds_are_those_of_the_plain_reference() -> None:
    for K, T, epsilon, gamma in (
        (5, 5 * 10**6, 0.1, 0.1),
        (2, 1000, 3.0, 0.9),
        (50, 10**9, 1, 0.01),
    ):
        for place, bound in enumerate(BOUNDS):
            expected = ref.bound_on_noise(bound, K, T, epsilon, gamma)
            assert noise_bound(place, K, T, epsilon, gamma) == pytest.approx(expected, rel=1e-12)
    assert noise_bound(0, 5, 10**6, inf, 0.1) == 0.0


def test_split_is_per_arm_at_a_kth_of_epsilon() -> None:
    means = {"name": "bernoulli", "means": [0.9, 0.5, 0.3, 0.2]}
    choices = [{"budget": "split", "epsilon": 40.0}, {"budget": "per_arm", "epsilon": 10.0}]
    entry = algorithm("dp_ucb")
    assert entry.fill(9, 1.0, entry.check_parameters({})) == (1.0, 0, 0, 0.1)
    mean = [
        simulate("dp_ucb", means, T=5_000, replicates=20, **choice).regret[:, -1].mean()
        for choice in choices
    ]
    assert mean[0] == pytest.approx(mean[1], rel=0.05)


DPU = Case("dp_ucb", fractions, 200.0, **SHORT)
SPLIT = Case("dp_ucb", fractions, 200.0, {"budget": "split"}, **SHORT)
NAIVE = Case("naive_dp_ucb", fractions, 1e5, **SHORT)
MISTAKES = [
    ("half the noise", DPU, "dp_ucb", "rng.laplace(0.0, L /", "rng.laplace(0.0, 0.5 * L /"),
    ("one level short", DPU, "dp_ucb", "int(log2(T)) + 1", "int(log2(T))"),
    ("noise drawn anew", DPU, "dp_ucb", "if node not in nodes[arm]:", "if True:"),
    ("log of t - 1", DPU, "dp_ucb", "log(t)", "log(t - 1)"),
    ("B forgotten", DPU, "dp_ucb", "+ B / n", "+ 0.0 * B / n"),
    ("budget not split", SPLIT, "dp_ucb", "epsilon / K", "epsilon"),
    ("one leaf short", DPU, "dp_ucb", "tiles(n)", "tiles(max(1, n - 1))"),
    ("half the noise", NAIVE, "naive_dp_ucb", "sensitivity / (eps", "0.5 * sensitivity / (eps"),
    ("K forgotten", NAIVE, "naive_dp_ucb", "(K * T)", "(T)"),
    ("sensitivity of a sum", NAIVE, "naive_dp_ucb", "1.0 / n[a]", "1.0"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "function", "right", "wrong"),
    [pytest.param(*mistake[1:], id=f"{mistake[2]}: {mistake[0]}") for mistake in MISTAKES],
)
def test_a_planted_mistake_is_noticed(case: Case, function: str, right: str, wrong: str) -> None:
    assert case.notices(function, right, wrong, TABLES)


SETTINGS: list[tuple[str, float, dict[str, Any], int, int]] = [
    ("dp_ucb", 200.0, {}, 500, 3),
    ("dp_ucb", 1000.0, {"budget": "split", "bound": "mt15"}, 400, 4),
    ("naive_dp_ucb", 1000.0, {}, 400, 3),
]
LEVEL = 1e-6 / (3 * len(SETTINGS))


def compared(number: int, module: ModuleType | None = None) -> list[str]:
    """The disagreements of a kernel with the same algorithm in `module`."""
    name, epsilon, parameters, T, K = SETTINGS[number]
    means = np.random.default_rng([2028, number]).uniform(0.05, 0.95, K)
    instance = {"name": "bernoulli", "means": means.tolist()}
    play = getattr(module or home(name), name)
    reference = reference_sample(
        play, instance, means, T, number, {"epsilon": epsilon, **parameters}
    )
    assert len(np.unique(np.round(reference[0], 6))) > 1, "the setting leaves nothing to compare"
    return disagreements(kernel_sample(name, instance, T, epsilon, parameters), reference, LEVEL)


@pytest.mark.parametrize("number", range(len(SETTINGS)), ids=lambda n: SETTINGS[n][0])
def test_regret_has_the_same_distribution(number: int) -> None:
    assert compared(number) == []


def test_a_planted_mistake_shifts_the_distribution() -> None:
    assert compared(0, mutant("dp_ucb", "sqrt(2.0 * log(t) / n)", "sqrt(log(t) / n)", ref)) != []
