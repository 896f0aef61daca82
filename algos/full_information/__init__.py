"""The `full_information` family: one of K actions is played, the rewards of all are seen.

It plays on the environments of the `bandit` family, whose actions are arms, and gets its feedback
from `observe`. Regret is the pseudo-regret of the played actions; `pulls` counts them. One module
per source; each registers its algorithms.
"""

from __future__ import annotations

from algos import bandit
from algos.bandit import traces
from algos.families import Family, register_family

FAMILY = register_family(
    Family(
        name="full_information",
        summary="one of K actions is played a round, the rewards of all are seen",
        action="an action",
        sizes=("K",),
        regret="gaps",
        columns=traces.COLUMNS,
        recorder=traces.recorder,
        kinds=bandit.FAMILY.kinds,
        examples=bandit.EXAMPLES,
    )
)
