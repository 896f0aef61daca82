"""Claims of the papers about their bandit algorithms, as measured here.

Each docstring gives the measured numbers, mean regret ± standard error, and says where a claim
does not reproduce; the asserts state what was measured. A comparison counts when the difference
is beyond 4 standard errors, so with fresh seeds a verdict that is right stays so with
probability 0.9999 each.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from algos import simulate

pytestmark = pytest.mark.slow


@cache
def regret(
    name: str, instance: str, epsilon: float, T: int, replicates: int, **parameters: str | float
) -> tuple[float, float]:
    """Mean regret at T and its standard error."""
    final = simulate(
        name, instance, epsilon=epsilon, T=T, replicates=replicates, checkpoints=[T], **parameters
    ).regret[:, -1]
    return float(final.mean()), float(final.std(ddof=1) / np.sqrt(replicates))


def beyond(better: tuple[float, float], worse: tuple[float, float], factor: float = 1.0) -> bool:
    """Whether factor · better < worse, by more than 4 standard errors of the difference."""
    error = np.hypot(factor * better[1], worse[1])
    return worse[0] - factor * better[0] > 4.0 * error


SETTINGS = [(i, e) for i in ("hu_distinct", "hu_equal_gap") for e in (0.25, 0.5, 1.0)]


def hu(name: str, instance: str, epsilon: float, **parameters: float) -> tuple[float, float]:
    """Regret in hu2024's experiment, T = 1e6, from 100 replicates."""
    return regret(name, instance, epsilon, 10**6, 100, **parameters)


@pytest.mark.parametrize(("instance", "epsilon"), SETTINGS)
def test_hu2024_figures_1_and_2(instance: str, epsilon: float) -> None:
    """«Lazy-DP-TS and AdaP-KLUCB are close and both beat DP-SE and Anytime-Lazy-UCB.»

    T = 1e6, 100 replicates (the paper: 20):

    | instance     | ε    | lazy_dp_ts | adap_klucb | α = 1     | dp_se     | anytime_lazy_ucb |
    | hu_distinct  | 0.25 | 2163 ± 19  | 3482 ± 28  | 1097 ± 17 | 3953 ± 0  | 4602 ± 53        |
    | hu_distinct  | 0.5  | 1253 ± 15  | 2108 ± 25  |  719 ± 9  | 3930 ± 16 | 3282 ± 14        |
    | hu_distinct  | 1    |  762 ± 7   | 1540 ± 16  |  520 ± 9  | 3792 ± 40 | 2525 ± 22        |
    | hu_equal_gap | 0.25 | 2958 ± 26  | 5218 ± 84  | 1634 ± 15 | 4805 ± 38 | 6553 ± 0         |
    | hu_equal_gap | 0.5  | 1612 ± 9   | 3301 ± 14  | 1233 ± 22 | 4766 ± 0  | 6078 ± 61        |
    | hu_equal_gap | 1    |  999 ± 15  | 3023 ± 27  |  978 ± 18 | 4756 ± 10 | 4563 ± 86        |

    lazy_dp_ts beats both others everywhere: reproduced. adap_klucb at azize2022's α = 3.1 beats
    both but dp_se on hu_equal_gap at ε = 0.25, where it is 9 % worse: not reproduced there. The
    two are not close: adap_klucb has 1.6 to 3.0 times lazy_dp_ts's regret at α = 3.1, and 0.5 to
    1.0 times at α = 1, where it beats the others everywhere. hu2024 doesn't say which α it ran.
    """
    lazy, klucb = hu("lazy_dp_ts", instance, epsilon), hu("adap_klucb", instance, epsilon)
    narrow = hu("adap_klucb", instance, epsilon, alpha=1.0)
    se, lazy_ucb = hu("dp_se", instance, epsilon), hu("anytime_lazy_ucb", instance, epsilon)
    for other in (se, lazy_ucb):
        assert beyond(lazy, other) and beyond(narrow, other)
    assert beyond(klucb, lazy_ucb)
    if (instance, epsilon) == ("hu_equal_gap", 0.25):
        assert beyond(se, klucb)
    else:
        assert beyond(klucb, se)
    assert beyond(lazy, klucb, 1.4) and beyond(klucb, lazy, 0.25)
    assert not beyond(lazy, narrow, 1.1) and beyond(lazy, narrow, 0.4)


SAJED_EPSILONS = (0.1, 0.25, 0.5, 1.0)
# dp_ucb's regret over dp_se's at each of these ε.
RATIOS = {
    ("union", "per_arm"): (8.69, 5.08, 2.74, 1.58),
    ("union", "split"): (37.1, 21.1, 11.1, 6.12),
    ("pointwise", "per_arm"): (2.29, 1.57, 0.92, 0.60),
    ("pointwise", "split"): (8.10, 4.64, 2.99, 1.77),
    ("log2.5", "per_arm"): (41.7, 23.2, 12.1, 6.50),
    ("log2.5", "split"): (139.0, 98.3, 54.0, 29.0),
    ("mt15", "per_arm"): (74.3, 42.9, 22.6, 12.0),
    ("mt15", "split"): (177.0, 158.0, 96.3, 53.6),
}


@pytest.mark.parametrize(("bound", "budget"), RATIOS)
def test_sajed2019_figure_1(bound: str, budget: str) -> None:
    """«DP-SE outperforms DP-UCB by at least 5 times, in all settings.»

    sajed_c2, T = 5e6 (the figure's caption prints 5e7), 50 replicates of dp_se (regret 5612 ± 162,
    4314 ± 0, 4314 ± 0, 4238 ± 43 at ε = 0.1, 0.25, 0.5, 1), 5 of each dp_ucb. RATIOS has dp_ucb's
    regret over dp_se's, known to 8 % or better. At least 5 at every ε:

    | bound     | per_arm                                     | split                      |
    | union     | no: 8.7, 5.1, 2.7, 1.6                      | yes: 37, 21, 11, 6.1       |
    | pointwise | no: 2.3, 1.6, and dp_ucb wins at ε = 0.5, 1 | no: 8.1, 4.6, 3.0, 1.8     |
    | log2.5    | yes: 42, 23, 12, 6.5                        | yes: 139, 98, 54, 29       |
    | mt15      | yes: 74, 43, 23, 12                         | yes: 177, 158, 96, 54      |

    So the claim holds for five of the eight readings of DP-UCB, and not for the default, which
    is the tightest bound with a proof for all sums at once: there dp_se is ahead at every ε, by
    five times only up to ε = 0.25 (5.08 ± 0.06). At ε = 0.5 the pointwise bound's lead of 8 % is
    within 2 standard errors.
    """
    T = 5 * 10**6
    for epsilon, ratio in zip(SAJED_EPSILONS, RATIOS[bound, budget], strict=True):
        se = regret("dp_se", "sajed_c2", epsilon, T, 50)
        ucb = regret("dp_ucb", "sajed_c2", epsilon, T, 5, bound=bound, budget=budget)
        error = np.hypot(ratio * se[1], ucb[1]) / se[0]
        assert abs(ucb[0] / se[0] - ratio) <= 4.0 * error + 0.02 * ratio, epsilon
        if ratio > 5.5:
            assert beyond(se, ucb, 5.0), epsilon
        elif ratio < 4.5:
            assert beyond(ucb, se, 1.0 / 5.0), epsilon
        if bound == "union":
            assert beyond(se, ucb), epsilon
    if (bound, budget) == ("pointwise", "per_arm"):
        assert beyond(ucb, se)  # at ε = 1
