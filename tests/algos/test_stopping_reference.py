"""Stopping rules against the plain references: draw for draw on tables, in law where they differ.

`dp_nas` makes other draws than its box (thinning, see its module): it is compared draw for draw
with a round-by-round reading of those draws, and in distribution with the box itself.

Failure probability of the distribution tests: a comparison makes three tests (two-sample
Kolmogorov-Smirnov on the rounds used and on the estimate, Fisher's exact test on how many
halted), each at level 1e-6 / (3 · number of comparisons). With fresh seeds, kernels that are
right fail with probability at most 1e-6; the seeds are fixed, so a failure means a change.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from reference.common import Draws
from reference.compare import mutant
from reference.finding import home
from reference.stopping_rule import Outcome, SampleSource, table
from scipy import stats

from algos import simulate
from algos.identity import words
from algos.random.seeding import state

Setting = dict[str, Any]

# algorithm, ε, (α, β)
RULES: list[tuple[str, float | None, Setting]] = [
    ("nas", None, {"alpha": 0.9, "beta": 0.5}),
    ("nas", None, {"alpha": 0.5, "beta": 0.05}),
    ("dp_exp_nas", 2.0, {"alpha": 0.9, "beta": 0.05}),
    ("dp_exp_nas", 0.6, {"alpha": 0.95, "beta": 0.9}),
    ("dp_exp_nas", inf, {"alpha": 0.6, "beta": 0.3}),
    ("dp_nas", 1.0, {"alpha": 0.9, "beta": 0.9}),
    ("dp_nas", 10.0, {"alpha": 0.7, "beta": 0.05}),
    ("dp_nas", inf, {"alpha": 0.9, "beta": 0.2}),
]
TABLES = 60
ROUNDS = 2100


def drawn(number: int) -> tuple[Setting, int]:
    """A random table and T."""
    rng = np.random.default_rng([5, number])
    return table(rng, ROUNDS), int(rng.integers(ROUNDS // 3, ROUNDS, endpoint=True))


def keywords(epsilon: float | None, parameters: Setting) -> Setting:
    return parameters if epsilon is None else parameters | {"epsilon": epsilon}


def difference(rule: int, number: int, module: ModuleType | None = None) -> tuple[str, bool]:
    """How kernel and reference differ on a table ("" if not), and whether the kernel halted."""
    algorithm, epsilon, parameters = RULES[rule]
    instance, T = drawn(number)
    samples, R = instance["samples"].tolist(), instance["R"]
    got = simulate(algorithm, instance, epsilon=epsilon, T=T, seed=number, **parameters)
    play: Callable[..., Outcome] = getattr(module or home(algorithm), algorithm)
    rng = Draws(state(number, words(got.stream), 0))
    want = play(lambda t: samples[t - 1], R, T, rng, **keywords(epsilon, parameters))
    have = (int(got.stop_time[0]), float(got.estimate[0]), bool(got.halted[0]))
    alike = (isnan(have[1]) and isnan(want[1])) or abs(have[1] - want[1]) < 1e-12 * R
    same = (have[0], have[2]) == (want[0], want[2]) and alike
    return "" if same else f"{have}, expected {want}", have[2]


@pytest.mark.parametrize("rule", range(len(RULES)), ids=lambda i: f"{RULES[i][0]}-{RULES[i][1]}")
def test_the_same_stop_and_estimate_on_every_table(rule: int) -> None:
    found = [difference(rule, number) for number in range(TABLES)]
    assert [words for words, _ in found if words] == []
    halts = sum(halted for _, halted in found)
    assert TABLES // 8 < halts < TABLES, "the tables decide nothing"


# rule, function, right, wrong
MISTAKES = [
    (0, "nas", "4.0 * t**2", "2.0 * t**2"),
    (0, "nas", "(1.0 + 1.0 / alpha)", "(1.0 / alpha)"),
    (1, "nas", "2.0 / t * log", "2.0 / (t + 1) * log"),
    (1, "nas", "range(1, T + 1)", "range(2, T + 1)"),
    (2, "dp_exp_nas", "k, t = 0, 0", "k, t = 1, 0"),
    (2, "dp_exp_nas", "while t != 2**k", "while t != 2 ** (k - 1)"),
    (2, "dp_exp_nas", "8.0 * k**2", "8.0 * t**2"),
    (2, "dp_exp_nas", "16.0 * k**2", "16.0 * t**2"),
    (2, "dp_exp_nas", "rng.laplace(0.0, sigma_3)", "rng.laplace(0.0, sigma_3 / 2.0)"),
    (3, "dp_exp_nas", "A_t = rng.laplace(0.0, sigma_2)", "A_t = rng.laplace(0.0, sigma_2 / 2.0)"),
    (3, "dp_exp_nas", "B = rng.laplace(0.0, sigma_1)", "B = rng.laplace(0.0, sigma_1 / 2.0)"),
    (3, "dp_exp_nas", "sigma_3 / alpha", "sigma_3 * 4.0"),
    (4, "dp_exp_nas", "16.0 * k**2", "4.0 * k**2"),
    (5, "dp_nas", "B = rng.laplace(0.0, sigma_1)",
     "B = rng.laplace(0.0, sigma_1 / 2.0)"),
    (5, "dp_nas", "start - max(fall, R)", "start"),
    (5, "dp_nas", "min(start / 2.0, sigma_2)", "start / 2.0"),
    (6, "dp_nas", "wait = 1 + floor", "wait = floor"),
    (7, "dp_nas", "16.0 * t**2", "4.0 * t**2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "function", "right", "wrong"),
    [pytest.param(*m, id=f"{m[1]}: {m[3]}") for m in MISTAKES],
)
def test_a_planted_mistake_is_noticed(rule: int, function: str, right: str, wrong: str) -> None:
    changed = mutant(function, right, wrong, home(RULES[rule][0]))
    assert any(difference(rule, number, changed)[0] for number in range(TABLES))


# algorithm, ε, parameters, kind of instance (None: a table, so only the noise varies), T
LAWS: list[tuple[str, float | None, Setting, str | None, int]] = [
    ("nas", None, {"alpha": 0.8, "beta": 0.3}, "two_point", 900),
    ("nas", None, {"alpha": 0.8, "beta": 0.3}, "bounded_uniform", 900),
    ("dp_exp_nas", 1.0, {"alpha": 0.8, "beta": 0.3}, "two_point", 2000),
    ("dp_exp_nas", 3.0, {"alpha": 0.8, "beta": 0.3}, "bounded_uniform", 2000),
    ("dp_nas", 0.5, {"alpha": 0.9, "beta": 0.9}, "two_point", 2000),
    ("dp_nas", 2.0, {"alpha": 0.8, "beta": 0.3}, "two_point", 800),
    ("dp_nas", 20.0, {"alpha": 0.8, "beta": 0.3}, "bounded_uniform", 700),
    ("dp_nas", 0.7, {"alpha": 0.9, "beta": 0.99}, None, ROUNDS),
    ("dp_nas", 4.0, {"alpha": 0.7, "beta": 0.3}, None, ROUNDS),
]
LEVEL = 1e-6 / (3 * len(LAWS))
REFERENCE_RUNS, KERNEL_RUNS = 500, 5000


def environment(number: int) -> tuple[Setting, Callable[[np.random.Generator], SampleSource]]:
    """A random instance of a setting, and its sample source."""
    rng = np.random.default_rng([7, number])
    kind = LAWS[number][3]
    R, sign = float(rng.uniform(0.5, 2.0)), float(rng.choice([-1.0, 1.0]))
    mu = float(sign * R * rng.uniform(0.6, 0.8))
    if kind == "two_point":
        up = 0.5 + mu / R / 2
        return {"name": kind, "mu": mu, "R": R}, lambda g: lambda t: R if g.random() < up else -R
    if kind == "bounded_uniform":
        width = 2 * (R - abs(mu)) * float(rng.uniform(0.5, 1.0))
        return (
            {"name": kind, "mu": mu, "R": R, "width": width},
            lambda g: lambda t: float(g.uniform(mu - width / 2, mu + width / 2)),
        )
    samples = np.where(rng.random(ROUNDS) < 0.5 + mu / R / 2, R, -R).tolist()
    return {"name": "sample_table", "samples": samples, "R": R}, lambda g: lambda t: samples[t - 1]


def disagreements(
    number: int, module: ModuleType | None = None, runs: int = REFERENCE_RUNS
) -> list[str]:
    """The tests that reject that kernel and box have one law."""
    algorithm, epsilon, parameters, _, T = LAWS[number]
    instance, source = environment(number)
    box = {"dp_nas": "dp_nas_box"}.get(algorithm, algorithm)
    play: Callable[..., Outcome] = getattr(module or home(algorithm), box)
    expected = []
    for run in range(runs):
        rng = np.random.default_rng([11, number, run])
        expected.append(play(source(rng), instance["R"], T, rng, **keywords(epsilon, parameters)))
    got = simulate(
        algorithm, instance, epsilon=epsilon, T=T, replicates=KERNEL_RUNS, seed=2, **parameters
    )
    time, estimate, halted = (np.array(column) for column in zip(*expected, strict=True))
    assert len(np.unique(time)) > 1 and halted.any(), "the setting leaves nothing to compare"
    found = []
    for what, a, b in (
        ("rounds used", got.stop_time, time),
        ("estimate", got.estimate[got.halted], estimate[halted]),
    ):
        ks = stats.ks_2samp(np.round(a, 12), np.round(b, 12), method="asymp")
        if ks.pvalue < LEVEL:
            found.append(f"{what}: KS distance {ks.statistic:.3f}, p = {ks.pvalue:.2g}")
    counts = [[int(h.sum()), int((~h).sum())] for h in (got.halted, halted)]
    if stats.fisher_exact(counts).pvalue < LEVEL:
        found.append(f"halted and not: {counts}")
    return found


@pytest.mark.parametrize("number", range(len(LAWS)), ids=lambda i: "-".join(map(str, LAWS[i][::3])))
def test_the_same_law_as_the_box(number: int) -> None:
    assert disagreements(number) == []


@pytest.mark.parametrize(
    ("number", "function", "right", "wrong"),
    [
        (4, "dp_nas_box", "A_t = rng.laplace(0.0, sigma_2)", "A_t = 0.0"),
        (
            4,
            "dp_nas_box",
            "A_t = rng.laplace(0.0, sigma_2)",
            "A_t = rng.laplace(0.0, sigma_2 / 2.0)",
        ),
        (7, "dp_nas_box", "B = rng.laplace(0.0, sigma_1)", "B = rng.laplace(0.0, sigma_1 * 3.0)"),
        (5, "dp_nas_box", "(c_t + B + A_t)", "(B + A_t)"),
        (7, "dp_nas_box", "L = rng.laplace(0.0, sigma_3)", "L = rng.laplace(0.0, sigma_3 / 2.0)"),
        (2, "dp_exp_nas", "16.0 * k**2", "16.0 * t**2"),
    ],
)
def test_a_planted_mistake_changes_the_law(
    number: int, function: str, right: str, wrong: str
) -> None:
    runs = 2_500 if number == 7 else REFERENCE_RUNS
    changed = mutant(function, right, wrong, home(LAWS[number][0]))
    assert disagreements(number, changed, runs) != []


def vectorised_box(rng: np.random.Generator, noise: float = 1.0) -> tuple[float, float]:
    """Algorithm 1 on a two-point stream, all rounds at once: rounds used and estimate.

    μ = 0.3, α = 0.3, β = 0.05, ε = 10. It halts after some 10^4 rounds, most of them in blocks
    whose chance of a halt lies between 1e-300 and 1e-20; `noise` scales every σ for a mistake.
    """
    mu, alpha, beta, epsilon, rounds = 0.3, 0.3, 0.05, 10.0, 30_000
    t = np.arange(1, rounds + 1)
    S = np.cumsum(np.where(rng.random(rounds) < 0.5 + mu / 2, 1.0, -1.0))
    sigma, sigma_3 = noise * 12.0 / epsilon, noise * 4.0 / epsilon
    h = np.sqrt(2.0 / t * np.log(16.0 * t**2.0 / beta))
    c = sigma * np.log(4.0 / beta) + sigma * np.log(8.0 * t**2.0 / beta)
    c += sigma_3 / alpha * np.log(4.0 / beta)
    drawn = rng.laplace(0.0, sigma) + rng.laplace(0.0, sigma, rounds)
    first = int(np.argmax(np.abs(S) / t >= h * (1.0 + 1.0 / alpha) + (c + drawn) / t))
    assert first > 0
    return float(t[first]), float((S[first] + rng.laplace(0.0, sigma_3)) / t[first])


@pytest.mark.parametrize("noise", [1.0, 2.0])
def test_long_blocks_have_the_law_of_the_box(noise: float) -> None:
    """Two KS tests, each at level 1e-7: failure probability 2e-7; doubled noise is noticed."""
    runs = [vectorised_box(np.random.default_rng([13, run]), noise) for run in range(1500)]
    got = simulate(
        "dp_nas", {"name": "two_point", "mu": 0.3}, epsilon=10.0, T=10**9, replicates=5000,
        alpha=0.3, beta=0.05,
    )  # fmt: skip
    pairs = zip((got.stop_time, got.estimate), zip(*runs, strict=True), strict=True)
    rejected = [stats.ks_2samp(a, b, method="asymp").pvalue < 1e-7 for a, b in pairs]
    assert any(rejected) == (noise != 1.0)
