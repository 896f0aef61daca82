"""Playing one arm on for as long as a linear margin lasts: how index kernels leap.

While an arm is played the others rest, and a kernel can state what keeps the arm ahead as

    margin + (its rewards so far) - toll · (its rounds so far) > 0

for the next `room` rounds. `play_on` plays these rounds in leaps: a leap of n rounds is one draw of
the sum of n rewards, taken where the margin can't be used up before its end.

Exactness. A leap of 1 + ⌊margin / toll⌋ rounds is literally exact: rewards of 0 throughout would
leave the arm ahead before each of its rounds. Where rewards are independent with a known mean μ,
longer leaps are taken whose chance of a crossing inside is at most 1e-20. With X_i in [0, 1],
gain = μ - toll and D_k = Σ_{i ≤ k} (μ - X_i), Hoeffding's lemma makes exp(λ D_k - λ² k / 8) a
supermartingale. The margin is used up at k ≤ n only if D_k ≥ margin + gain k. For
λ = 4 (margin + gain n) / n, while λ ≥ 8 gain, the chance of this is at most
exp(-2 (margin + gain n)² / n); for λ = 8 gain and any n, at most exp(-8 gain margin). So n may be
the smaller root of (margin + gain n)² = n ln(1e20) / 2, and anything once 4 gain margin ≥
ln(1e20) / 2. Rewards of a table have no law: there leaps are the literal ones.

Near T = 1e14 a reward moves an index by about its resolution. Up to N = 2^46 pulls of an arm its
crossings are exact to that resolution; beyond, they may be seen 2^-50 N rewards late (`resolved`).

How many leaps: a margin of M standard steps lasts for about M² rounds, which take M leaps of the
literal kind and about 100 of the others.
"""

from __future__ import annotations

import math
from typing import Any

from algos.bandit.environments import BernoulliArms, BetaArms, FiniteSupportArms, UniformArms
from algos.dispatch import compiled, implements, seam
from algos.environments import pull
from algos.random.generator import Rng

COARSE = 1 << 46  # pulls beyond which a reward moves a mean by little more than its resolution
HALF_LOG = 0.5 * math.log(1e20)
SHORT = 24.0  # rounds; leaps shorter than this take longer than single rounds
LEAST_TOLL = 1e-12


@seam
def known_mean(env: Any, arm: int) -> float:
    """The mean of the arm's independent rewards; NaN where they aren't."""
    raise NotImplementedError


@implements(known_mean)
def no_mean(env: Any, arm: int) -> float:
    """Nothing is known."""
    return math.nan


@implements(known_mean, BernoulliArms, FiniteSupportArms, BetaArms, UniformArms)
def mean_of(env: Any, arm: int) -> float:
    """As the environment has it."""
    return env.means[arm]


@compiled
def resolved(margin: float, N: int) -> float:
    """What is left of a margin of an arm with N pulls for `play_on`, given that the arm is ahead.

    Rounding may have moved the margin by 1e-9 or 2^-49 N rewards: what is closer is for the caller
    to decide. Beyond COARSE pulls 2^-50 N rewards are below an index's resolution, and the arm may
    use them up.
    """
    left = margin - 1e-9 - 2.0**-49 * N
    return max(left, 2.0**-50 * N) if N > COARSE else left


@compiled
def safe_rounds(margin: float, toll: float, mean: float) -> float:
    """How many rounds may be played before the last one that the margin is sure to allow."""
    if mean == 1.0 and toll <= 1.0:
        return math.inf
    literal = max(0.0, margin / toll)
    gain = mean - toll
    if not margin > 0.5 * HALF_LOG or math.isnan(gain):
        return literal
    root = HALF_LOG * (HALF_LOG - 4.0 * margin * gain)
    if gain > 0.0 and root <= 0.0:
        return math.inf
    likely = 2.0 * margin * margin / (HALF_LOG - 2.0 * margin * gain + math.sqrt(root))
    return max(literal, likely)


@compiled
def play_on(
    env: Any, rng: Rng, arm: int, t: int, margin: float, toll: float, room: int
) -> tuple[int, float, bool]:
    """Play `arm` from round t on, at least once, until the margin is used up.

    Args:
        margin: what the arm is ahead by, as this module's docstring has it, `resolved`.
        toll: what a round costs.
        room: the most rounds, ≥ 1.

    Returns:
        The rounds played, the sum of their rewards, and whether some margin is left.
    """
    mean = known_mean(env, arm)
    toll = max(toll, LEAST_TOLL)
    short = SHORT * toll
    if mean == 0.0 or mean == 1.0:
        short = -math.inf  # rewards are known
    n, total = 0, 0.0
    while True:
        if margin < short:
            x = pull(env, rng, arm, t + n, 1)
            n += 1
            margin += x - toll
        else:
            ahead = safe_rounds(margin, toll, mean)
            k = room - n
            if ahead < k:
                k = 1 + int(ahead)
            x = pull(env, rng, arm, t + n, k)
            n += k
            margin += x - toll * k
        total += x
        if margin <= 0.0 or n == room:
            return n, total, margin > 0.0
