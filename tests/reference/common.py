"""What the plain implementations share: types, draws, the tied arg max, Bernoulli divergence."""

from collections.abc import Callable, Sequence
from math import expm1, inf, log
from typing import Protocol

import numpy as np

from algos.random import continuous, generator
from algos.random.seeding import state

RewardSource = Callable[[int, int], float]
Message = tuple[int, int, float]
Trajectory = tuple[list[int], list[Message]]


class Generator(Protocol):
    """What the references draw from: one of NumPy's generators, or `Draws`."""

    def random(self) -> float:
        """Uniform on [0, 1)."""

    def laplace(self, loc: float, scale: float) -> float:
        """Mean `loc`, density falling with exp(-|x - loc| / scale)."""

    def beta(self, a: float, b: float) -> float:
        """A Beta(a, b) variable."""

    def standard_exponential(self) -> float:
        """Mean 1."""


class Draws:
    """The draws of a kernel that starts with `words`: by the same samplers, in NumPy's words."""

    def __init__(self, words: np.ndarray) -> None:
        self.words = words.copy()

    def random(self) -> float:
        """Uniform on [0, 1)."""
        return generator.uniform(self.words)

    def laplace(self, loc: float, scale: float) -> float:
        """As `Generator.laplace`."""
        return loc + continuous.laplace(self.words, scale)

    def beta(self, a: float, b: float) -> float:
        """As `Generator.beta`."""
        return continuous.beta(self.words, a, b)

    def standard_exponential(self) -> float:
        """As `Generator.standard_exponential`."""
        return continuous.exponential(self.words)


def draws(seed: int) -> Draws:
    """Those of a kernel that is replayed with `rng=state(seed)`."""
    return Draws(state(seed))


def uniform_argmax(indices: Sequence[float], rng: Generator) -> int:
    """The arg max, ties broken uniformly; draws only when there is a tie."""
    best = max(indices)
    tied = [arm for arm, index in enumerate(indices) if index == best]
    if len(tied) == 1:
        return tied[0]
    return tied[int(rng.random() * len(tied))]


def kl(p: float, z: float) -> float:
    """d(p, q) of Bernoulli(p) from Bernoulli(q), 0 log 0 = 0, for q = 1 - exp(-z) with z > 0."""
    divergence = 0.0
    if p > 0.0:
        divergence += p * (log(p) - log(-expm1(-z)))
    if p < 1.0:
        divergence += (1.0 - p) * (log(1.0 - p) + z)
    return divergence


def kl_upper(p: float, bound: float) -> float:
    """q* = max{q in [p, 1] : d(p, q) <= bound} as z = -ln(1 - q*), by bisection.

    Indices are only compared, and z orders them as q does. It keeps apart what float64 cannot in
    q: at p = 0.9 and bound = 5, 1 - q* is 1e-23, yet q* is less than the index 1 of p = 1.
    """
    if p == 1.0:
        return inf
    inside = -log(1.0 - p)
    outside = 2.0 * inside + 1.0
    while kl(p, outside) <= bound:
        outside *= 2.0
    while True:
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            return inside
        if kl(p, middle) <= bound:
            inside = middle
        else:
            outside = middle
