"""Draws of compiled samplers, tests against exact laws, and samplers with planted mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy import special, stats

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A test rejects below: with fresh seeds the about 600 p-values of tests/algos/test_random_*.py fail
# with probability at most 6e-7.
LEVEL = 1e-9
FEWEST = 25.0  # expected draws in a cell
CELLS = 200


def altered(module: ModuleType, right: str, wrong: str) -> ModuleType:
    """A module of samplers with `right` replaced by `wrong` where it occurs once.

    Raises AssertionError when it does not: the planted mistake would not be the one meant.
    """
    assert module.__file__ is not None
    text = Path(module.__file__).read_text()
    assert text.count(right) == 1, f"{right!r} occurs {text.count(right)} times"
    text = text.replace(right, wrong)
    plain = "from numba import njit\ncompiled = inlined = njit(error_model='numpy')"
    text, imports = re.subn("from algos.dispatch import .*", plain, text)
    assert imports == 1
    changed = ModuleType("altered")
    exec(compile(text, changed.__name__, "exec"), changed.__dict__)
    return changed


@njit(error_model="numpy")
def fill(sample, rng, out, *parameters):
    """One draw for each place of `out`."""
    for i in range(out.size):
        out[i] = sample(rng, *parameters)


def draws(
    sample: Callable[..., Any], rng: Any, count: int, *parameters: Any, whole: bool = False
) -> Any:
    """An array of `count` draws, int64 where `whole`, else float64."""
    out = np.empty(count, np.int64 if whole else np.float64)
    fill(sample, rng, out, *parameters)
    return out


def normal_pvalue(z: float) -> float:
    """Two-sided."""
    return float(2.0 * stats.norm.sf(abs(z)))


def agree(pvalues: list[float]) -> bool:
    """Whether none rejects (a NaN does)."""
    return all(value > LEVEL for value in pvalues)


def rare_pvalue(observed: int, expected: float) -> float:
    """Two-sided, of a Poisson variable."""
    law = stats.poisson(expected)
    return float(min(1.0, 2.0 * min(law.cdf(observed), law.sf(observed - 1))))


def cells_pvalue(observed: Integers, chances: Floats) -> float:
    """Chi-square, after cells with few expected draws have been joined to their neighbours."""
    expected = chances * observed.sum()
    joined: list[list[float]] = [[0.0, 0.0]]
    for o, e in zip(observed, expected, strict=True):
        if joined[-1][1] >= FEWEST:
            joined.append([0.0, 0.0])
        joined[-1][0] += o
        joined[-1][1] += e
    if joined[-1][1] < FEWEST and len(joined) > 1:
        o, e = joined.pop()
        joined[-1][0] += o
        joined[-1][1] += e
    o, e = np.array(joined).T
    if len(o) == 1:
        return 1.0
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


def continuous_pvalues(x: Floats, law: Any) -> list[float]:
    """Of draws `x` against a frozen distribution of scipy's: cells, tails, mean and variance."""
    count = len(x)
    tail = 100.0 / count
    low, high = law.ppf(tail), law.isf(tail)
    found = [rare_pvalue((x < low).sum(), 100.0), rare_pvalue((x > high).sum(), 100.0)]
    edges = np.unique(np.concatenate([[low], law.ppf(np.arange(1, CELLS) / CELLS), [high]]))
    below, above = law.cdf(edges), law.sf(edges)
    chances = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))
    chances = np.concatenate([below[:1], chances, above[-1:]])
    inner = np.searchsorted(edges, x, side="left")
    found.append(cells_pvalue(np.bincount(inner, minlength=len(edges) + 1), chances))
    mean, variance, _, excess = (float(m) for m in law.stats("mvsk"))
    z = (x - mean) / np.sqrt(variance)
    found.append(normal_pvalue(z.sum() / np.sqrt(count)))
    found.append(normal_pvalue(((z * z).sum() - count) / np.sqrt(count * (excess + 2.0))))
    return found


def binomial_below(k: Integers, n: int, p: float) -> Floats:
    """P(Binomial(n, p) ≤ k) for p ≤ 1/2, with errors far below what 10^6 draws resolve.

    By scipy up to n = 10^9. Beyond, Poisson where p ≤ 1e-8 (total variation below p, Le Cam), else
    Edgeworth's expansion about k + 1/2, which leaves out terms of the order 1/variance ≤ 1e-6.
    """
    if n <= 10**9:
        return np.asarray(stats.binom.cdf(k, n, p))
    if p <= 1e-8 and n * p < 1e8:
        return np.asarray(special.pdtr(k, n * p))
    variance = n * p * (1.0 - p)
    assert variance > 9e5
    x = (k - n * p + 0.5) / np.sqrt(variance)
    skewness = (1.0 - 2.0 * p) / np.sqrt(variance)
    density = np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    return np.asarray(special.ndtr(x) - density * skewness / 6.0 * (x * x - 1.0))


def binomial_pvalues(x: Integers, n: int, p: float) -> list[float]:
    """Of draws `x`: cells, the lowest three bits where n is large, mean and variance.

    0 where a draw is impossible.
    """
    found = []
    if p > 0.5:  # with more bits about a chance near 0
        x, p = n - x, 1.0 - p
    if x.min() < 0 or x.max() > n:
        return [0.0]
    count = len(x)
    mean, variance = n * p, n * p * (1.0 - p)
    sd = np.sqrt(variance)
    if variance > 1e5:
        spread = stats.norm.ppf(np.linspace(0.0, 1.0, CELLS + 1)[1:-1])
        spread = np.concatenate([[-4.2, -3.7], spread, [3.7, 4.2]])
        edges = np.floor(mean + sd * spread).astype(np.int64)
        low = np.bincount(x & 7, minlength=8)
        found.append(cells_pvalue(low, np.full(8, 1 / 8)))
    else:
        edges = np.arange(x.min(), min(x.max(), n - 1) + 1)
    cumulative = binomial_below(edges, n, p)
    chances = np.diff(np.concatenate([[0.0], cumulative, [1.0]]))
    inner = np.searchsorted(edges, x, side="left")
    found.append(cells_pvalue(np.bincount(inner, minlength=len(edges) + 1), chances))
    if count * variance > 1e4:
        z = ((x - np.int64(mean)) - (mean - np.int64(mean))) / sd
        fourth = 3.0 + (1.0 - 6.0 * p * (1.0 - p)) / variance
        found.append(normal_pvalue(z.sum() / np.sqrt(count)))
        if n > 1:  # else the mean says it all
            found.append(normal_pvalue(((z * z).sum() - count) / np.sqrt(count * (fourth - 1.0))))
    return found
