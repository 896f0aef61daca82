"""SMPyBandits' own policies on Bernoulli arms, its arms drawn and its policies asked every round.

Run in an environment that has SMPyBandits and nothing of this project. Every line of standard
input is `ALGORITHM T SEED MEAN...`; each is answered by a line of JSON with the seconds of the
loop. Names without a policy are not in POLICIES.
"""

from __future__ import annotations

import json
import random
import sys
import time

import numpy as np
from SMPyBandits.Arms import Bernoulli
from SMPyBandits.Policies import IMED, MOSSH, UCB, Thompson, klUCB

POLICIES = {
    "ucb1": lambda K, T: UCB(K),
    "kl_ucb": lambda K, T: klUCB(K),
    "moss": lambda K, T: MOSSH(K, horizon=T),
    "imed": lambda K, T: IMED(K),
    "thompson_beta": lambda K, T: Thompson(K),
}


def seconds(algorithm: str, T: int, seed: int, means: list[float]) -> float:
    """Of one replicate."""
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the generator that the library draws from
    arms = [Bernoulli(mean) for mean in means]
    start = time.perf_counter()
    policy = POLICIES[algorithm](len(arms), T)
    policy.startGame()
    for t in range(T):
        arm = policy.choice()
        policy.getReward(arm, arms[arm].draw(t))
    return time.perf_counter() - start


for line in sys.stdin:
    algorithm, T, seed, *means = line.split()
    took = seconds(algorithm, int(T), int(seed), [float(mean) for mean in means])
    print(json.dumps({"seconds": took}), flush=True)
