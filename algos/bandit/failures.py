"""Bernoulli arms played on by their failures: leaps of one draw of about 5 ns.

A linear margin (`algos.bandit.margins`) whose toll is below 1 grows with every reward of 1, a
success, so it ends at a failure. Here a leap goes to the k-th failure from now, k = 2^r; how many
rounds that takes has a negative binomial law, drawn with one word from an alias table (Walker 1977,
built as by Vose 1991). A leap of n rounds of the other kind takes one failure in each of them into
account; this one as many rounds as k failures take, 1 / (1 - μ) times more.

Exactness. After f < k failures the margin is at least margin - f toll, so k = ⌈margin / toll⌉ is
literally exact. Longer leaps have a chance of a crossing inside of at most 1e-20. A failure and the
successes before it move the margin by Y = (1 - toll) G - toll, G geometric. For toll ≥ μ each Y
falls below its mean by at most as much as for toll = μ, for which Markov's and Doob's inequalities
bound the largest fall below the mean among k such steps by

    (ln 1e20 + k ln E exp(-λ Y)) / λ,  E exp(-λ Y) = (1 - μ) exp(λ μ) / (1 - μ exp(-λ (1 - μ))),

but for a chance of 1e-20, for any λ > 0; the mean itself falls by (toll - μ) / (1 - μ) a step, or
not at all for toll < μ. A table leaves out less than 1e-19 of the law and is exact to 2^-50 of a
column's chance; its chances are correct to about 1e-13 of their size.

Tables are built when they are first used and kept for the replicates of a block. They are a
function of the arm's mean alone, and so are the draws. An arm that fails too seldom, or a toll
above 1, is left to `algos.bandit.margins`, and so is a margin that is longer than the tables reach.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from algos.bandit.environments import BernoulliArms
from algos.bandit.margins import play_on, safe_rounds
from algos.dispatch import allocating_seam, compiled, implements, seam
from algos.random.discrete import binomial
from algos.random.generator import Rng, next_word

TABLES = 12  # of an arm: r = 0 … 11
COLUMNS = 4096  # of a table, at most
LOG_CHANCE = math.log(1e20)
MOST = 0.985  # the largest mean for which the first table has at most COLUMNS
TALL = 0.125  # a leap is considered where the margin lasts for this part of its failures
NEGLIGIBLE = 1e-22  # of the largest chance
_12, _ALIAS = np.uint64(12), np.uint64(COLUMNS - 1)
_FULL = 2.0**52


# What is known of an arm.
ARM = np.dtype(
    [
        ("mean", np.float64),  # that the tables are for
        ("built", np.int64),  # tables r = 0 … built - 1 exist
        ("fitting", np.int64),  # the number of tables that COLUMNS allow
        ("start", np.int64, TABLES),  # the place of a table's first column in `columns`
        ("last", np.uint64, TABLES),  # its number of columns, a power of 2, less 1
        ("first", np.int64, TABLES),  # the rounds that the first column stands for
        ("most", np.int64, TABLES),  # the most rounds
        ("fall", np.float64, TABLES),  # what the margin may fall below its mean in a leap
    ]
)


class Failures(NamedTuple):
    """Alias tables of the rounds to the 2^r-th failure of each arm, as far as they are built."""

    arms: np.ndarray  # ARM (K,)
    columns: np.ndarray  # uint64: 52 bits of the column's own chance, 12 of its alias
    used: np.ndarray  # int64 (1,): of the columns
    chance: np.ndarray  # scratch: float64 (COLUMNS,)
    order: np.ndarray  # scratch: int64 (COLUMNS,)


@allocating_seam
def tables_for(env: Any) -> Any:
    """What `stay` keeps between calls for the replicates of a block."""
    raise NotImplementedError


@implements(tables_for)
def no_tables(env: Any) -> Any:
    """Nothing."""
    return ()


@implements(tables_for, BernoulliArms)
def failures(env: BernoulliArms) -> Failures:
    """No table yet, and room for those of a few leaders beside small ones of every arm."""
    K = env.means.size
    arms = np.zeros(K, ARM)
    return Failures(
        arms,
        np.empty(16 * COLUMNS + 1024 * K, np.uint64),
        np.zeros(1, np.int64),
        np.empty(COLUMNS),
        np.empty(COLUMNS, np.int64),
    )


@compiled
def _law(chance: np.ndarray, k: float, p: float) -> tuple[int, int]:
    """Fill `chance` with the law of the successes before failure k, all but what is negligible.

    Returns the number of successes that chance[0] stands for, and how many chances there are; 0
    where they don't fit.
    """
    q = 1.0 - p
    mode = np.floor((k - 1.0) * p / q)
    size, value, low = 1, 1.0, mode
    chance[0] = 1.0
    while low > 0.0 and value > NEGLIGIBLE:
        if size == COLUMNS:
            return 0, 0
        value *= low / (p * (k + low - 1.0))
        low -= 1.0
        chance[size] = value
        size += 1
    for i in range(size // 2):  # from the mode down; now up
        chance[i], chance[size - 1 - i] = chance[size - 1 - i], chance[i]
    value, high = 1.0, mode
    while p > 0.0 and value > NEGLIGIBLE:
        if size == COLUMNS:
            return 0, 0
        value *= p * (k + high) / (high + 1.0)
        high += 1.0
        chance[size] = value
        size += 1
    return int(low), size


@compiled
def _fill(
    columns: np.ndarray, start: int, number: int, chance: np.ndarray, order: np.ndarray, size: int
) -> None:
    """The alias table of `size` chances, of any sum, in `number` columns from `start`."""
    whole = 0.0
    for i in range(size):
        whole += chance[i]
    scale = number / whole
    small, large = 0, number  # columns with less than their share, from 0, and with more
    for i in range(number):
        chance[i] = chance[i] * scale if i < size else 0.0
        if chance[i] < 1.0:
            order[small] = i
            small += 1
        else:
            large -= 1
            order[large] = i
    while small > 0 and large < number:
        small -= 1
        poor, rich = order[small], order[large]
        columns[start + poor] = (np.uint64(chance[poor] * _FULL) << _12) | np.uint64(rich)
        chance[rich] -= 1.0 - chance[poor]
        if chance[rich] < 1.0:
            large += 1
            order[small] = rich
            small += 1
    for i in range(small):  # what rounding left over
        columns[start + order[i]] = (np.uint64(_FULL - 1.0) << _12) | np.uint64(order[i])
    for i in range(large, number):
        columns[start + order[i]] = (np.uint64(_FULL - 1.0) << _12) | np.uint64(order[i])


@compiled
def _largest_fall(k: float, mean: float) -> float:
    """What a margin falls below its mean in k failures, but for a chance of 1e-20."""
    q = 1.0 - mean
    least = math.inf
    for quarter in range(-20, 25):
        rate = 2.0 ** (0.25 * quarter)
        growth = rate * mean + math.log(q) - math.log1p(-mean * math.exp(-rate * q))
        least = min(least, (LOG_CHANCE + k * growth) / rate)
    return least


@compiled
def _build(tables: Failures, arm: int, mean: float, r: int) -> None:
    """Build the arm's tables up to r, as far as they fit; where room ends, all begin anew."""
    arms, columns, used, chance, order = tables
    own = arms[arm]
    if own["mean"] != mean or own["fitting"] == 0:
        own["mean"] = mean
        own["built"] = 0
        own["fitting"] = TABLES
    while own["built"] <= min(r, own["fitting"] - 1):
        new = own["built"]
        k = 1 << new
        low, size = _law(chance, float(k), mean)
        if size == 0:
            own["fitting"] = new
            return
        number = 1
        while number < size:
            number *= 2
        if used[0] + number > columns.size:
            used[0] = 0
            for j in range(arms.size):
                arms[j]["built"] = 0
            continue
        start = used[0]
        _fill(columns, start, number, chance, order, size)
        used[0] = start + number
        own["start"][new] = start
        own["last"][new] = np.uint64(number - 1)
        own["first"][new] = low + k
        own["most"][new] = low + k + size - 1
        own["fall"][new] = _largest_fall(float(k), mean)
        own["built"] = new + 1


@compiled
def _needed(k: int, fall: float, toll: float, descent: float) -> float:
    """The margin above which the arm may be played to its k-th failure."""
    return min((k - 1) * toll, fall + k * descent)


@compiled
def _fewer(rng: Rng, n: int, q: float, k: int) -> int:
    """Failures in n rounds, given that they are fewer than k."""
    failed = 0
    if k > 1:
        failed = k
        while failed >= k:
            failed = binomial(rng, n, q)
    return failed


@seam
def stay(
    env: Any,
    tables: Any,
    rng: Rng,
    arm: int,
    t: int,
    margin: float,
    toll: float,
    room: int,
    left: int,
) -> tuple[int, float]:
    """Play `arm` from round t on, at least once, until the margin is used up or `room` rounds.

    Args:
        tables: of `tables_for`.
        margin: as in `algos.bandit.margins`.
        toll: what a round costs.
        room: the most rounds, ≥ 1, whatever T.
        left: rounds up to T, ≥ 1.

    Returns:
        The rounds played, at most `left`, and the sum of their rewards; with the last round T that
        sum may be of more rounds.
    """
    raise NotImplementedError


@implements(stay)
def stay_by_rounds(
    env: Any,
    tables: Any,
    rng: Rng,
    arm: int,
    t: int,
    margin: float,
    toll: float,
    room: int,
    left: int,
) -> tuple[int, float]:
    """Leaps of a fixed number of rounds."""
    n, total, _ = play_on(env, rng, arm, t, margin, toll, min(room, left))
    return n, total


@implements(stay, BernoulliArms)
def stay_by_failures(
    env: BernoulliArms,
    tables: Failures,
    rng: Rng,
    arm: int,
    t: int,
    margin: float,
    toll: float,
    room: int,
    left: int,
) -> tuple[int, float]:
    """Leaps to the 2^r-th failure, r from the margin; where the tables end, of rounds."""
    mean = env.means[arm]
    own = tables.arms[arm]
    columns = tables.columns
    if toll >= 1.0 or mean > MOST:
        n, total, _ = play_on(env, rng, arm, t, margin, toll, min(room, left))
        return n, total
    if own["mean"] != mean or own["built"] == 0:
        _build(tables, arm, mean, 0)
    gain = 1.0 - toll
    descent = max(0.0, toll - mean) / (1.0 - mean)
    rarity = 2.0 / (1.0 - mean)
    n, failed, r = 0, 0, 0
    while True:
        k = 1 << r
        while margin > TALL * 2 * k * toll and r + 1 < own["fitting"]:
            if own["built"] <= r + 1:
                _build(tables, arm, mean, r + 1)
                if r + 1 == own["fitting"]:
                    break
            needed = _needed(2 * k, own["fall"][r + 1], toll, descent)
            if margin <= needed or 2 * k * rarity > room - n:
                break
            r += 1
            k *= 2
        while r > 0:
            needed = _needed(k, own["fall"][r], toll, descent)
            if margin > needed and k * rarity <= room - n:
                break
            r -= 1
            k >>= 1
        if r + 1 == own["fitting"] and margin > 2.0 * max(own["fall"][r], TALL * k * toll):
            far = min(1.0 + np.floor(safe_rounds(margin, toll, mean)), float(room - n))
            if far > own["most"][r]:
                rounds = int(far)
                k = rounds - binomial(rng, rounds, mean)
                n += rounds
                failed += k
                margin += gain * rounds - k
                if margin <= 0.0 or n >= room or n >= left:
                    break
                continue
        word = next_word(rng)
        place = word & own["last"][r]
        column = columns[own["start"][r] + np.int64(place)]
        if (word >> _12) >= (column >> _12):
            place = column & _ALIAS
        rounds = own["first"][r] + np.int64(place)
        if n + rounds > room:
            rounds = room - n
            k = _fewer(rng, rounds, 1.0 - mean, k)
        n += rounds
        failed += k
        margin += gain * rounds - k
        if margin <= 0.0 or n >= room or n >= left:
            break
    return min(n, left), float(n - failed)
