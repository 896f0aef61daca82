"""MOSS, IMED, adap_moss and adap_imed against their plain references.

On tables every action and message must agree. On random instances distributions must: each
comparison makes three tests at level 1e-6 / (3 · comparisons), so a run with fresh seeds fails
with probability at most 1e-6 where they agree.
"""

from math import inf
from types import ModuleType

import numpy as np
import pytest
from reference.compare import Case, mutant
from reference.distribution import disagreements, kernel_sample, reference_sample
from reference.finding import home
from reference.tables import Table, bits, fractions, twins

TABLES = 8
SHORT = {"T": (900, 1_300), "K": (2, 6)}


def settled(rng: np.random.Generator, rounds: int, K: int) -> Table:
    """Two arms always pay 1, the others 0: moss's indices end tied at 1 and change no more."""
    return np.repeat(rng.permutation([1.0, 1.0] + [0.0] * (K - 2))[None], rounds, axis=0)


CASES = [
    *(
        Case(name, table, **SHORT)
        for name in ("moss", "imed")
        for table in (fractions, bits, twins)
    ),
    *(Case(name, settled, T=(900, 1_300), K=(3, 8)) for name in ("moss", "imed")),
    *(
        Case(name, table, epsilon, {"alpha": alpha}, **SHORT)
        for name in ("adap_moss", "adap_imed")
        for table, epsilon, alpha in (
            (fractions, 0.05, 3.1),
            (fractions, 0.5, 1.0),
            (fractions, 5.0, 1.0),
            (fractions, inf, 3.1),
            (bits, 5.0, 0.5),
            (twins, inf, 0.5),
        )
    ),
]
LONG = [Case("moss", bits), Case("imed", fractions), Case("imed", bits)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_actions_and_messages(case: Case) -> None:
    for number in range(TABLES):
        table, T = case.draw(number)
        played = case.reference(table, T, number)
        assert case.difference(table, T, number, played) == "", f"table {number}"


@pytest.mark.parametrize("case", LONG, ids=str)
def test_same_actions_over_forty_thousand_rounds(case: Case) -> None:
    table, _ = Case(case.algorithm, case.table, T=(40_000, 40_000), K=(3, 3)).draw(0)
    expected = case.reference(table, 40_000, 0)
    assert case.difference(table, 40_000, 0, expected) == ""


ADAP_MOSS = Case("adap_moss", fractions, 5.0, {"alpha": 0.5})
ADAP_IMED = Case("adap_imed", fractions, 5.0, {"alpha": 0.5})
MISTAKES = [
    ("K forgotten", Case("moss", fractions), "moss_indices", "T / (K * m)", "T / m"),
    ("no floor at 0", Case("moss", twins, **SHORT), "moss_indices", "max(0.0, log(", "abs(log("),
    (
        "tie drawn every round",
        Case("moss", settled, K=(3, 8)),
        "greedy",
        "if now != before:",
        "if True:",
    ),
    ("half of ln n", Case("imed", fractions), "imed_indices", "+ log(m)", "+ 0.5 * log(m)"),
    ("worst for best", Case("imed", fractions), "imed_indices", "max(means)", "means[0]"),
    ("maximised", Case("imed", fractions), "imed", "-i for", "i for"),
    ("half the noise", ADAP_MOSS, "adap", "1.0 / (epsilon", "0.5 / (epsilon"),
    (
        "log of t_ell - 1",
        Case("adap_imed", fractions, 0.05, {"alpha": 1.0}),
        "adap",
        "log(t + 1)",
        "log(t)",
    ),
    ("all samples", ADAP_MOSS, "adap", "n[A] = samples", "n[A] = N[A]"),
    ("no epsilon term", ADAP_MOSS, "adap_moss", "alpha * log_t", "0.0 * log_t"),
    ("no epsilon term", ADAP_IMED, "adap_imed", "alpha * log_t", "0.0 * log_t"),
    ("clipped to 2", ADAP_IMED, "adap_imed", "min(1.0, max", "min(0.9, max"),
    ("episode one short", ADAP_IMED, "adap", "max(1, N[A])", "max(1, N[A] - 1)"),
]


@pytest.mark.parametrize(
    ("case", "function", "right", "wrong"),
    [pytest.param(*mistake[1:], id=f"{mistake[2]}: {mistake[0]}") for mistake in MISTAKES],
)
def test_a_planted_mistake_is_noticed(case: Case, function: str, right: str, wrong: str) -> None:
    assert case.notices(function, right, wrong, TABLES)


SETTINGS: list[tuple[str, float | None, dict[str, float], int, int]] = [
    ("moss", None, {}, 300, 3),
    ("imed", None, {}, 200, 3),
    ("adap_moss", 1.0, {"alpha": 1.0}, 1_000, 4),
    ("adap_imed", 1.0, {"alpha": 1.0}, 1_000, 4),
]
LEVEL = 1e-6 / (3 * len(SETTINGS))


def compared(number: int, module: ModuleType | None = None) -> list[str]:
    """The disagreements of a kernel with the same algorithm in `module`."""
    algorithm, epsilon, parameters, T, K = SETTINGS[number]
    means = np.random.default_rng([2026, number]).uniform(0.05, 0.95, K)
    instance = {"name": "bernoulli", "means": means.tolist()}
    keywords = parameters if epsilon is None else {"epsilon": epsilon, **parameters}
    play = getattr(module or home(algorithm), algorithm)
    reference = reference_sample(play, instance, means, T, number, keywords)
    assert len(np.unique(np.round(reference[0], 6))) > 1, "the setting leaves nothing to compare"
    kernel = kernel_sample(algorithm, instance, T, epsilon, parameters)
    return disagreements(kernel, reference, LEVEL)


@pytest.mark.parametrize("number", range(len(SETTINGS)), ids=lambda n: SETTINGS[n][0])
def test_regret_has_the_same_distribution(number: int) -> None:
    assert compared(number) == []


def test_a_planted_mistake_shifts_the_distribution() -> None:
    wrong = mutant(
        "adap", "1.0 / (epsilon * samples)", "3.0 / (epsilon * samples)", home("adap_moss")
    )
    assert compared(2, wrong) != []
