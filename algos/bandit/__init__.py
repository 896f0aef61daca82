"""The `bandit` family: K arms, the reward of the played arm is seen.

One module per source; each registers its algorithms.
"""

from __future__ import annotations

from algos.bandit import instances, traces
from algos.families import Family, register_family

EXAMPLES = ({"name": "bernoulli", "means": [0.9, 0.5, 0.3]}, "azize_fig3", "sajed_c1")

FAMILY = register_family(
    Family(
        name="bandit",
        summary="one of K arms is played a round, its reward is seen",
        action="an arm",
        sizes=("K",),
        regret="gaps",
        columns=traces.COLUMNS,
        recorder=traces.recorder,
        kinds=tuple(instances.KINDS),
        least_T=lambda instance: instance.sizes["K"],
        examples=EXAMPLES,
    )
)
