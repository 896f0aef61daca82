"""The `full_information` family: one of K actions is played, the rewards of all are seen.

Regret is the pseudo-regret of the played actions; `pulls` counts them. Kernels get their feedback
from `algos.environments.observe`. One module per source; each registers its algorithms.
"""

from __future__ import annotations

from algos import armed
from algos.families import Family, register_family

FAMILY = register_family(
    Family(
        name="full_information",
        axes=("K",),
        columns=armed.COLUMNS,
        play=armed.play,
        least_T=lambda instance: 1,
    )
)
