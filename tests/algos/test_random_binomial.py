"""The parts of transformed rejection against exact numbers: no draws."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from types import ModuleType

import numpy as np
import pytest
from reference.sampling import altered
from scipy import special, stats

from algos.maths import stirling
from algos.random import discrete


@cache
def log_factorial(k: int) -> Decimal:
    """ln k! by Stirling's series at 200 and beyond, 45 digits."""
    with localcontext() as context:
        context.prec = 60
        z, product = k + 1, 1
        while z < 200:
            product *= z
            z += 1
        Z, half = Decimal(z), Decimal("0.5")
        two_pi = Decimal("6.28318530717958647692528676655900576839433879875021164194989")
        total = (Z - half) * Z.ln() - Z + two_pi.ln() * half - Decimal(product).ln()
        for j, bernoulli in enumerate(special.bernoulli(20)[2::2], 1):
            b = Fraction(bernoulli).limit_denominator(10**5)
            total += Decimal(b.numerator) / b.denominator / (2 * j * (2 * j - 1)) / Z ** (2 * j - 1)
        return total


def test_errors_of_stirlings_formula() -> None:
    with localcontext() as context:
        context.prec = 60
        root = Decimal("6.28318530717958647692528676655900576839433879875021164194989").ln() / 2
        for k in [*range(1, 300), 10**4, 10**9]:
            z = Decimal(k)
            expected = float(log_factorial(k - 1) - ((z - Decimal("0.5")) * z.ln() - z + root))
            assert stirling.stirling_error(float(k)) == pytest.approx(expected, abs=2e-14)
            z = Decimal(k - 1) + Decimal("0.5")
            expected = float(log_factorial(k - 1) - (z * z.ln() - z + root))
            assert stirling.half_error(k - 0.5) == pytest.approx(expected, abs=2e-14)


def deviance_error(module: ModuleType) -> float:
    """The largest relative error, far from the mean and close to it."""
    worst = 0.0
    rng = np.random.default_rng(0)
    with localcontext() as context:
        context.prec = 60
        for _ in range(2_000):
            mean = 10.0 ** rng.uniform(0, 18)
            difference = mean * rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-9, -0.1)
            x = mean + difference
            difference = x - mean  # exactly, as the two are close, or to a rounding
            X, D = Decimal(mean) + Decimal(difference), Decimal(difference)
            exact = X * (X / Decimal(mean)).ln() - D
            worst = max(worst, abs(module.deviance(x, mean, difference) / float(exact) - 1.0))
    return worst


def test_deviances_lose_no_digits() -> None:
    assert deviance_error(stirling) < 2e-14


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("w * (1 / 11 + w * (1 / 13))", "w * (1 / 11)"),
        ("(1 / 3 + w", "(1 / 2 + w"),
        ("abs(v) >= 0.1", "abs(v) >= 0.5"),
    ],
)
def test_a_mistake_in_the_deviance_is_noticed(right, wrong) -> None:
    assert deviance_error(altered(stirling, right, wrong)) > 2e-14


def log_chance_error(module: ModuleType, n: int, p: float) -> float:
    """Largest error of the acceptance's log ratio within 9 standard deviations.

    Against the ratio for the chance of which n p, rounded, is the mean.
    """
    N, mean = float(n), n * p
    mode = math.floor((N + 1.0) * p)
    part = mean - mode
    M, Q, z = mean + p, N - mean + (1.0 - p), 0.5 - p - part
    exact = Fraction(mean) / n
    worst = 0.0
    with localcontext() as context:
        context.prec = 60
        odds = Decimal(exact.numerator) / (exact.denominator - exact.numerator)
        for sds in np.linspace(-9, 9, 101):
            beyond = math.floor(sds * math.sqrt(mean * (1.0 - p)))
            k = mode + beyond
            if 0 <= k <= n:
                ratio = log_factorial(mode) - log_factorial(k) + beyond * odds.ln()
                ratio += log_factorial(n - mode) - log_factorial(n - k)
                got = module._log_chance(beyond + z, M, Q) - module._log_chance(z, M, Q)
                worst = max(worst, abs(got - float(ratio)))
    return worst


@pytest.mark.parametrize("n", [20, 65, 100, 10**4, 10**7, 10**9, 10**12, 10**15, 10**18, 2**61])
def test_log_chances_are_exact(n) -> None:
    for p in (0.5, 0.3, 0.01, 10.5 / n):
        if 10.0 <= n * p <= 0.5 * n:
            assert log_chance_error(discrete, n, p) < 1e-13


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("- half_error(rest)", ""),
        ("deviance(rest, Q, -z)", "deviance(rest, Q, z)"),
        ("k, rest = M + z, Q - z", "k, rest = M + z + 1e-6, Q - z"),
    ],
)
def test_a_mistake_in_log_chances_is_noticed(right, wrong) -> None:
    assert log_chance_error(altered(discrete, right, wrong), 10**4, 0.3) > 1e-13


def hat_holds(module: ModuleType) -> bool:
    """Whether the hat lies above the chances, and the box of sure acceptance below, on a grid."""
    us = np.concatenate([np.geomspace(1e-6, 0.07, 5_000), np.linspace(0.07, 0.5, 20_000)])
    for mean in (10.0, 10.4, 11.0, 11.5, 12.3, 14.7, 17.2, 20.0, 30.0, 70.0, 300.0, 1e3, 1e5):
        for p in (0.5, 0.4, 0.2, 0.05, 1e-3):
            n = math.ceil(mean / p)
            a, b, alpha, v_r = module._hat(p, math.sqrt(n * p * (1.0 - p)))
            mode = math.floor((n + 1) * p)
            for sign in (-1.0, 1.0):
                k = np.floor((2.0 * a / us + b) * sign * (0.5 - us) + n * p + 0.5)
                chance = np.exp(stats.binom.logpmf(k, n, p) - stats.binom.logpmf(mode, n, p))
                v = chance * (a / (us * us) + b) / alpha  # accepted below
                if v.max() > 1.0 or v[us >= 0.07].min() < v_r:
                    return False
    return True


def test_the_hat_holds() -> None:
    assert hat_holds(discrete)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(2.83 + 5.1 / b)", "(2.75 + 5.1 / b)"),
        ("0.92 - 4.2 / b", "0.93 - 4.2 / b"),
        ("-0.0873 + 0.0248 * b", "-0.0873 + 0.0148 * b"),
        ("1.15 + 2.53", "0.15 + 2.53"),
    ],
)
def test_a_mistake_in_the_hat_is_noticed(right, wrong) -> None:
    assert not hat_holds(altered(discrete, right, wrong))
