"""What kernels that leap are expected to cost, given the gaps of the arms.

A kernel that leaps pays for each time another arm takes over: an arm of gap Δ does so about
ln T / Δ² times, an arm as good as the best, Δ² T < 50, about √T times (in posterior sampling in a
part of all rounds). The powers are fitted to times measured on 5 and 50 arms with gaps of 0.1 to
0.7, T from 1e4 to 1e12.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from algos.registry import Cost

ByGaps = Callable[[float, Sequence[float], float | None], float]

EVEN = 50.0  # gap² T of arms that a run can hardly tell from the best
BASE = 5e4  # nanoseconds
FEW = 5.0  # arms, for which the other constants are fitted


def difficulty(T: float, gaps: Sequence[float]) -> tuple[float, int]:
    """Σ 1 / Δ² over the arms that a run to T tells from the best; how many others it doesn't."""
    told = [gap for gap in gaps if gap * gap * T >= EVEN]
    return sum(1.0 / (gap * gap) for gap in told), len(gaps) - len(told) - 1


def contested(cost: Cost, typical: float, gaps_to: float) -> ByGaps:
    """`cost` where Σ 1/Δ² is `typical`, growing with that to the power `gaps_to`.

    Where several arms are best, a posterior draw for each arm in every round.
    """

    def given(T: float, gaps: Sequence[float], epsilon: float | None) -> float:
        hard, equal = difficulty(T, gaps)
        K = len(gaps)
        told = cost(T, {"K": K}, epsilon) * (max(hard, 1.0) / typical) ** gaps_to
        return min(100.0 * K * T, told + (25.0 * K * T if equal else 0.0))

    return given


def leaping(scale: float, gaps_to: float, log_to: float, arms_to: float, even: float) -> ByGaps:
    """scale (Σ 1/Δ²)^gaps_to (ln T)^log_to (K/5)^arms_to, and `even` √T for each even arm."""

    def cost(T: float, gaps: Sequence[float], epsilon: float | None) -> float:
        hard, equal = difficulty(T, gaps)
        told = scale * hard**gaps_to * math.log(T) ** log_to * (len(gaps) / FEW) ** arms_to
        most = even * math.sqrt(T) * (len(gaps) - 1)
        return BASE + min(told, most) + equal * even * math.sqrt(T)

    return cost
