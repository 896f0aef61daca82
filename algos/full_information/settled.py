"""How long a lead lasts: what the kernels need not draw, because the leader is as good as certain.

Where rewards are independent draws in [0, 1] with known means, p of the leader and q < p of
another action, convexity gives E e^(λX) ≤ 1 - p + p e^λ for each of them, as if they were bits. So
in one round the difference X - Y of the two rewards has E e^(-λ(X - Y)) ≤ M(λ) :=
(1 - p + p e^-λ)(1 - q + q e^λ). M is 1 at λ = 0 and at λ = θ, the difference of the log odds of p
and q, below 1 between them, and ln M is convex. Two consequences:

- e^(-θD) of a lead D is a supermartingale: the lead is ever made up with chance at most e^(-θD)
  (Wald's and Ville's inequalities; the gambler's ruin).
- E e^(-λ(X - Y)) ≤ e^(-λκ) for all λ up to some λ₀ ≤ θ/2, with κ = -ln M(λ₀)/λ₀.

Where p ≥ q, a lead D is made up within n rounds with chance at most e^(-D²/n) (Hoeffding's maximal
inequality). What is left out on these grounds happens with chance at most CHANCE altogether in
one place where it is left out. Where the rewards are no independent draws, a lead D lasts ⌈D⌉
rounds, whatever comes.
"""

from __future__ import annotations

import math
from typing import Any

from algos.bandit.environments import BernoulliArms, BetaArms, FiniteSupportArms, UniformArms
from algos.dispatch import compiled, implements, seam

CHANCE = 1e-20
LOG_CHANCE = -math.log(CHANCE)
STEEPEST = 4.0  # λ₀ at most; finite also where p = 1 or q = 0


@seam
def known_mean(env: Any, j: int) -> float:
    """The mean of action j's rewards if they are independent draws in [0, 1], else NaN."""
    raise NotImplementedError


@implements(known_mean)
def no_mean(env: Any, j: int) -> float:
    """For environments that don't say how their rewards come about, such as tables."""
    return math.nan


@implements(known_mean, BernoulliArms, FiniteSupportArms, BetaArms, UniformArms)
def mean_of_draws(env: BernoulliArms | FiniteSupportArms | BetaArms | UniformArms, j: int) -> float:
    """Theirs."""
    return env.means[j]


@compiled
def log_odds(p: float) -> float:
    """ln(p/(1 - p)), ±inf at the ends."""
    if p <= 0.0:
        return -math.inf
    return math.inf if p >= 1.0 else math.log(p / (1.0 - p))


@compiled
def lasts(lead: float, theta: float, K: int) -> float:
    """Rounds for which none of K actions makes up its leader's lead; inf if it is for good.

    Args:
        lead: of one action over another.
        theta: the difference of their log odds, NaN if that is unknown.
    """
    most = LOG_CHANCE + math.log(K)
    if lead * theta >= most:
        return math.inf
    if theta >= 0.0:
        return max(lead, lead * lead / most)
    return lead


@compiled
def decline(p: float, q: float) -> tuple[float, float]:
    """λ₀ and κ of an action of mean p against one of mean q; zeros unless p > q."""
    if not p > q:
        return 0.0, 0.0
    steep = min(0.5 * (log_odds(p) - log_odds(q)), STEEPEST)
    M = (1.0 - p + p * math.exp(-steep)) * (1.0 - q + q * math.exp(steep))
    return steep, -math.log(M) / steep


@compiled
def best_known(env: Any, K: int) -> int:
    """The first action of the largest known mean, 0 if means are unknown."""
    best = 0
    for j in range(1, K):
        if known_mean(env, j) > known_mean(env, best):
            best = j
    return best
