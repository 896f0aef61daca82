"""The `bandit` family: K arms, the reward of the played arm is seen.

One module per source; each registers its algorithms.
"""

from __future__ import annotations

from algos import armed
from algos.families import Family, register_family

FAMILY = register_family(
    Family(
        name="bandit",
        axes=("K",),
        columns=armed.COLUMNS,
        play=armed.play,
        least_T=lambda instance: instance.K,
    )
)
