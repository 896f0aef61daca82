"""Kernels against the plain references: the same rewards and the same draws, action for action.

Nothing here is statistical: rewards are tabulated and the generators start equal, so every
action and every released value must agree. The last test plants mistakes in the references and
checks that this comparison notices each of them.
"""

from math import inf

import pytest
from reference.common import Trajectory
from reference.compare import Case
from reference.tables import bits, fractions, ladder, spread, twins

TABLES = 20
BUDGETS = (0.05, 0.5, 5.0, inf)

INDEX_CASES = [
    Case("ucb1", fractions),
    Case("ucb1", bits),
    Case("ucb1", twins),
    Case("kl_ucb", fractions, T=(400, 800), K=(2, 6)),
    Case("kl_ucb", fractions, parameters={"c": 3.0}, T=(400, 800), K=(2, 6)),
    Case("kl_ucb", bits, T=(400, 800), K=(2, 6)),
]
ADAP_CASES = [
    Case(name, table, epsilon, {"alpha": alpha})
    for name in ("adap_ucb", "adap_klucb")
    for table, epsilon, alpha in (
        (fractions, 0.05, 3.1),
        (fractions, 0.5, 1.0),
        (fractions, 0.5, 3.1),
        (fractions, 5.0, 1.0),
        (fractions, 5.0, 6.0),
        (fractions, inf, 3.1),
        (bits, 5.0, 0.5),
        (bits, inf, 1.0),
        (twins, inf, 0.5),
    )
]
LAZY_CASES = [
    Case("anytime_lazy_ucb", table, epsilon, T=(2_000, 5_000))
    for table, budgets in ((fractions, BUDGETS), (spread, BUDGETS[1:]), (bits, (inf,)))
    for epsilon in budgets
] + [Case("anytime_lazy_ucb", twins, epsilon) for epsilon in (0.5, inf)]
ELIMINATION_CASES = [
    Case(name, ladder, epsilon, {"beta": 0.5}, T=(7_200, 8_500), K=(2, 4))
    for name, budgets in (("dp_se", BUDGETS[1:]), ("successive_elimination", (None,)))
    for epsilon in budgets
] + [
    Case("dp_se", ladder, 0.05, {"beta": 0.5}, T=(10_000, 12_000), K=(2, 4)),
    Case("dp_se", ladder, 0.5, T=(6_000, 9_000), K=(3, 3)),
    Case("successive_elimination", ladder, T=(6_000, 9_000), K=(3, 3)),
]
CASES = INDEX_CASES + ADAP_CASES + LAZY_CASES + ELIMINATION_CASES

LONG = [
    Case("adap_ucb", fractions, 0.5),
    Case("adap_ucb", bits, inf, {"alpha": 1.0}),
    Case("adap_klucb", fractions, 0.5),
    Case("anytime_lazy_ucb", fractions, 0.5),
    Case("anytime_lazy_ucb", twins, inf),
    Case("dp_se", ladder, 0.5),
    Case("successive_elimination", ladder),
]


def switches_between_messages(played: Trajectory) -> int:
    """Changes of arm in a round after which no private mean had changed: index crossings."""
    released = {t for t, _, _ in played[1]}
    actions = played[0]
    return sum(actions[t] != actions[t - 1] and t not in released for t in range(1, len(actions)))


def epoch_sizes(played: Trajectory) -> list[int]:
    """How many arms took part in each completed epoch of dp_se."""
    rounds = [t for t, _, _ in played[1]]
    return [rounds.count(t) for t in sorted(set(rounds))]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_actions_and_messages(case: Case) -> None:
    played = []
    for number in range(TABLES):
        table, T = case.draw(number)
        played.append(case.reference(table, T, seed=number))
        assert case.difference(table, T, number, played[-1]) == "", f"table {number}"

    # The comparison is worth something only where the algorithm does what is special to it.
    if case.algorithm == "anytime_lazy_ucb":
        assert min(len(run[1]) for run in played) >= 15
        if case.table is spread:
            assert sum(switches_between_messages(run) for run in played) >= 4
    if case.algorithm.startswith("adap"):
        assert min(len(run[1]) for run in played) >= 12
    if case.algorithm == "dp_se" and "beta" in case.parameters:
        sizes = [epoch_sizes(run) for run in played]
        assert sum(len(size) >= 2 and size[1] < size[0] for size in sizes) >= 5
    if case.algorithm == "successive_elimination":
        assert all(len(set(actions[-50:])) < len(set(actions)) for actions, _ in played)


@pytest.mark.parametrize("case", LONG, ids=str)
def test_same_actions_over_a_hundred_thousand_rounds(case: Case) -> None:
    table, _ = Case(case.algorithm, case.table, T=(100_000, 100_000), K=(3, 3)).draw(0)
    expected = case.reference(table, 100_000, seed=0)
    assert case.difference(table, 100_000, 0, expected) == ""


@pytest.mark.slow
@pytest.mark.parametrize("case", LONG, ids=str)
def test_same_actions_over_a_million_rounds(case: Case) -> None:
    table, _ = Case(case.algorithm, case.table, T=(1_000_000, 1_000_000), K=(3, 3)).draw(0)
    expected = case.reference(table, 1_000_000, seed=0)
    assert case.difference(table, 1_000_000, 0, expected) == ""


@pytest.mark.parametrize(
    "case",
    [
        Case("adap_ucb", fractions, 0.5, T=(500, 900), K=(2, 5)),
        Case("adap_klucb", fractions, 0.5, T=(500, 900), K=(2, 5)),
        Case("anytime_lazy_ucb", fractions, 0.5, T=(500, 900), K=(2, 5)),
        Case("dp_se", ladder, 5.0, {"beta": 0.5}, T=(9_000, 9_000), K=(3, 3)),
    ],
    ids=str,
)
def test_a_horizon_just_before_at_and_after_each_release(case: Case) -> None:
    """A value is released when its last reward falls on T, and not when that is cut off."""
    table, longest = case.draw(1)
    _, messages = case.reference(table, longest, seed=1)
    horizons = {t + shift for t, _, _ in messages for shift in (-1, 0, 1)}
    for T in sorted(T for T in horizons if table.shape[1] <= T <= longest):
        expected = case.reference(table, T, seed=1)
        assert case.difference(table, T, 1, expected) == "", f"T={T}"


LAZY_UCB, DPSE, SE = "anytime_lazy_ucb", "dp_se", "successive_elimination"
UCB = Case("ucb1", fractions)
KLUCB = Case("kl_ucb", fractions, T=(500, 1_000), K=(2, 6))
KLUCB_C = Case("kl_ucb", fractions, None, {"c": 3.0}, T=(500, 1_000), K=(2, 6))
ADAP = Case("adap_ucb", fractions, 0.5, {"alpha": 1.0})
ADAP_TIES = Case("adap_ucb", twins, inf, {"alpha": 0.5})
ADAP_KL = Case("adap_klucb", fractions, 0.5, {"alpha": 1.0})
LAZY = Case(LAZY_UCB, spread, 5.0)
LAZY_TIES = Case(LAZY_UCB, twins, inf)
NOISY_SE = Case(DPSE, ladder, 5.0, {"beta": 0.5}, T=(7_200, 8_500), K=(2, 4))
VERY_NOISY_SE = Case(DPSE, ladder, 0.05, {"beta": 0.5}, T=(7_200, 8_500), K=(2, 4))
PLAIN_SE = Case(SE, ladder, None, {"beta": 0.5}, T=(7_200, 8_500), K=(2, 4))

# Name, a case that meets the mistake, the function it is planted in, the right and the wrong text.
MISTAKES: list[tuple[str, Case, str, str, str]] = [
    ("log of t - 1", UCB, "ucb1", "log(t)", "log(t - 1)"),
    ("half the bonus", UCB, "ucb1", "sqrt(2.0 *", "sqrt(1.0 *"),
    ("log of t - 1", KLUCB, "kl_ucb", "log(t) + c", "log(t - 1) + c"),
    ("c forgotten", KLUCB_C, "kl_ucb", "c * log(log(t))", "0.0"),
    ("half the noise", ADAP, "adap", "1.0 / (epsilon", "0.5 / (epsilon"),
    ("printed sensitivity", ADAP, "adap", "(epsilon * samples)", "(epsilon * (samples - 0.5))"),
    ("log of t - 1", ADAP, "adap", "log(t_ell)", "log(t_ell - 1)"),
    ("all samples in the bonus", ADAP, "adap", "n[a] = samples", "n[a] = N[a]"),
    ("all samples in the mean", ADAP, "adap", "episode_sum = 0.0", "episode_sum = private_mean[A]"),
    ("episode tripled", ADAP, "adap", "while N[A] < 2 * N_before", "while N[A] < 3 * N_before"),
    ("ties to the first", ADAP_TIES, "adap", "uniform_argmax(indices, rng)",
     "indices.index(max(indices))"),
    ("bonus too wide", ADAP, "adap_ucb", "(2.0 * n)", "(1.0 * n)"),
    ("no epsilon term", ADAP_KL, "adap_klucb", "private_mean + alpha *", "private_mean + 0.0 *"),
    ("half the level", ADAP_KL, "adap_klucb", "log_t / n)", "log_t / (2 * n))"),
    ("half the noise", LAZY, LAZY_UCB, "Phi[J] + rng.laplace(0.0, 1.0",
     "Phi[J] + rng.laplace(0.0, 0.5"),
    ("log of t - 1", LAZY, LAZY_UCB, "log(t)", "log(t - 1)"),
    ("batch sum not reset", LAZY, LAZY_UCB, "N[J], Phi[J] = 0, 0.0", "N[J] = 0"),
    ("batch count not reset", LAZY, LAZY_UCB, "N[J], Phi[J] = 0, 0.0", "Phi[J] = 0.0"),
    ("batch too short", LAZY, LAZY_UCB, "if N[J] == 2 ** (r[J] + 1)", "if N[J] == 2 ** r[J]"),
    ("committed to a batch", LAZY, LAZY_UCB, "J = indices.index(best)",
     "J = N.index(max(N)) if any(N) else indices.index(best)"),
    ("order kept too long", LAZY_TIES, LAZY_UCB, "            order = None\n", "\n"),
    ("order drawn every round", LAZY_TIES, LAZY_UCB, "if order is None:", "if True:"),
    ("half the noise", NOISY_SE, DPSE, "1.0 / (epsilon * ceil", "0.5 / (epsilon * ceil"),
    ("noise by R_e unrounded", NOISY_SE, DPSE, "ceil(R_e)))", "R_e))"),
    ("epoch off by one", NOISY_SE, DPSE, "2.0**-epoch", "2.0 ** -(epoch + 1)"),
    ("one pass short", NOISY_SE, DPSE, "while r < R_e", "while r < R_e - 1.0"),
    ("means not zeroed", NOISY_SE, DPSE, "total = dict.fromkeys(S, 0.0)",
     "total = dict.fromkeys(S, 0.0) if epoch == 1 else total"),
    ("4 for 8 in a log", NOISY_SE, DPSE, "32.0 * log(8.0 * len(S)", "32.0 * log(4.0 * len(S)"),
    ("half of h_e", NOISY_SE, DPSE, "2.0 * h_e", "1.0 * h_e"),
    ("c_e forgotten", VERY_NOISY_SE, DPSE, "+ 2.0 * c_e", ""),
    ("epoch off by one", PLAIN_SE, SE, "2.0**-epoch", "2.0 ** -(epoch + 1)"),
    ("one pass short", PLAIN_SE, SE, "while r < R_e", "while r < R_e - 1.0"),
    ("half of h_e", PLAIN_SE, SE, "2.0 * h_e", "1.0 * h_e"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "function", "right", "wrong"),
    [pytest.param(*mistake[1:], id=f"{mistake[2]}: {mistake[0]}") for mistake in MISTAKES],
)
def test_a_planted_mistake_is_noticed(case: Case, function: str, right: str, wrong: str) -> None:
    assert case.notices(function, right, wrong, TABLES)
