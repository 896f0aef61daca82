"""thompson_beta and lazy_dp_ts against their plain references.

Numba's Beta draws are NumPy's bit for bit, so with equal generators every posterior draw agrees
up to the rounding of its parameters, and with it every action and message on a table. (A near
tie of two draws that this rounding decides has probability below 1e-12 a round.)
That is for draws = "all". On random instances the distributions of the default, which leaves out
draws that can't matter, must agree with the references' and with those of "all": each comparison
makes three tests at level 1e-6 / (3 · comparisons), so a run with fresh seeds fails with
probability at most 1e-6.
"""

from math import inf
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from numba import njit
from reference.bandit import thompson as ref
from reference.compare import Case, mutant
from reference.distribution import disagreements, kernel_sample, reference_sample
from reference.finding import home
from reference.tables import bits, fractions, twins

TABLES = 6
LAZY_EPSILONS = (0.05, 0.5, 5.0, inf)
ALL = {"draws": "all"}
SHORT = {"T": (500, 800), "K": (2, 6)}

CASES = [
    *(Case("thompson_beta", table, parameters=ALL, **SHORT) for table in (fractions, bits, twins)),
    *(Case("lazy_dp_ts", fractions, epsilon, ALL, **SHORT) for epsilon in LAZY_EPSILONS),
    Case("lazy_dp_ts", bits, 1.0, ALL, **SHORT),
    Case("lazy_dp_ts", twins, inf, ALL, **SHORT),
]


@njit
def beta_draws(rng, a, b):
    """Beta(a[i], b[i]) for all i, by a compiled generator."""
    out = np.empty(a.size)
    for i in range(a.size):
        out[i] = rng.beta(a[i], b[i])
    return out


def test_compiled_beta_draws_are_numpys_bit_for_bit() -> None:
    rng = np.random.default_rng(1)
    a, b = 1.0 + 10.0 ** rng.uniform(-3, 8, (2, 20_000))
    a[:500], b[:500] = 1.0, 1.0
    plain = np.random.default_rng(2)
    expected = [plain.beta(*pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert np.array_equal(beta_draws(np.random.default_rng(2), a, b), expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_actions_and_messages(case: Case) -> None:
    for number in range(TABLES):
        table, T = case.draw(number)
        expected = case.reference(table, T, number)
        assert case.difference(table, T, number, expected) == "", f"table {number}"


@pytest.mark.parametrize("epsilon", [0.5, inf])
def test_a_batch_that_the_horizon_cuts_releases_nothing(epsilon: float) -> None:
    case = Case("lazy_dp_ts", fractions, epsilon, ALL, T=(200, 200), K=(2, 4))
    table, longest = case.draw(1)
    _, messages = case.reference(table, longest, 1)
    for T in sorted({t + shift for t, _, _ in messages for shift in (-1, 0, 1)}):
        if table.shape[1] <= T <= longest:
            expected = case.reference(table, T, 1)
            assert case.difference(table, T, 1, expected) == "", f"T={T}"


TS = Case("thompson_beta", fractions, None, ALL, **SHORT)
LAZY = Case("lazy_dp_ts", fractions, 0.5, ALL, **SHORT)
MISTAKES = [
    ("no prior successes", TS, "thompson_beta", "O[j] + 1.0, (1.0", "O[j] + 0.5, (1.0"),
    ("no prior failures", TS, "thompson_beta", "O[j] + 1.0) for", "O[j] + 0.5) for"),
    ("half the noise", LAZY, "lazy_dp_ts", "(Phi[J] + rng.laplace(0.0, 1.0",
     "(Phi[J] + rng.laplace(0.0, 0.5"),
    ("log of t - 1", LAZY, "lazy_dp_ts", "log(t)", "log(t - 1)"),
    ("bonus of 2 ln t", LAZY, "lazy_dp_ts", "3.0 * log", "2.0 * log"),
    ("no clip at 1", LAZY, "lazy_dp_ts", "0.0), 1.0)", "0.0), 0.999)"),
    ("batch sum not reset", LAZY, "lazy_dp_ts", "N[J], Phi[J] = 0, 0.0", "N[J] = 0"),
    ("batch count not reset", LAZY, "lazy_dp_ts", "N[J], Phi[J] = 0, 0.0", "Phi[J] = 0.0"),
    ("batch too short", LAZY, "lazy_dp_ts", "if N[J] == 2 ** (r[J] + 1)", "if N[J] == 2 ** r[J]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "function", "right", "wrong"),
    [pytest.param(*mistake[1:], id=f"{mistake[2]}: {mistake[0]}") for mistake in MISTAKES],
)
def test_a_planted_mistake_is_noticed(case: Case, function: str, right: str, wrong: str) -> None:
    assert case.notices(function, right, wrong, TABLES)


SETTINGS: list[tuple[str, float | None, int, int]] = [
    ("thompson_beta", None, 400, 3),
    ("lazy_dp_ts", 1.0, 500, 3),
    ("lazy_dp_ts", 4.0, 400, 4),
]
# Longer, against the kernels that draw everything; most of these rounds are left out.
SKIPPING: list[tuple[str, float | None, Any, int]] = [
    ("thompson_beta", None, "hu_distinct", 1_000),
    ("thompson_beta", None, {"name": "beta", "a": [2.0, 1.0], "b": [1.0, 1.0]}, 1_000),
    ("lazy_dp_ts", 4.0, "hu_distinct", 1_500),
    ("lazy_dp_ts", inf, "azize_fig3", 1_000),
]
LEVEL = 1e-6 / (3 * (len(SETTINGS) + len(SKIPPING)))


def compared(number: int, module: ModuleType | None = None) -> list[str]:
    """The disagreements of a kernel with the same algorithm in `module`."""
    algorithm, epsilon, T, K = SETTINGS[number]
    means = np.random.default_rng([2027, number]).uniform(0.05, 0.95, K)
    instance = {"name": "bernoulli", "means": means.tolist()}
    keywords = {} if epsilon is None else {"epsilon": epsilon}
    play = getattr(module or home(algorithm), algorithm)
    reference = reference_sample(play, instance, means, T, number, keywords)
    assert len(np.unique(np.round(reference[0], 6))) > 1, "the setting leaves nothing to compare"
    return disagreements(kernel_sample(algorithm, instance, T, epsilon, {}), reference, LEVEL)


@pytest.mark.parametrize("number", range(len(SETTINGS)), ids=lambda n: SETTINGS[n][0])
def test_regret_has_the_same_distribution(number: int) -> None:
    assert compared(number) == []


@pytest.mark.parametrize(("name", "epsilon", "instance", "T"), SKIPPING)
def test_leaving_out_draws_keeps_the_distribution(
    name: str, epsilon: float | None, instance: Any, T: int
) -> None:
    given = {"name": instance} if isinstance(instance, str) else instance
    needed, every = (
        kernel_sample(name, given, T, epsilon, {"draws": draws}) for draws in ("needed", "all")
    )
    assert disagreements(needed, every, LEVEL) == []


def test_a_planted_mistake_shifts_the_distribution() -> None:
    assert compared(1, mutant("lazy_dp_ts", "3.0 * log", "1.5 * log", ref)) != []
