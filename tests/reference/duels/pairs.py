"""The pair of the last epoch's least noisy losses, and pairs at random."""

from collections.abc import Callable

from reference.common import Generator, Message

Loss = Callable[[int, int], float]
Played = tuple[list[tuple[int, int]], list[Message]]


def noisy_pair(loss: Loss, K: int, T: int, rng: Generator, *, epsilon: float) -> Played:
    """Epoch s has 2^s rounds."""
    actions: list[tuple[int, int]] = []
    messages: list[Message] = []
    pair, s, total = (0, 1), 0, [0.0] * K
    for t in range(1, T + 1):
        actions.append(pair)
        total = [total[arm] + loss(t, arm) for arm in range(K)]
        if t in (2 ** (s + 1) - 1, T):
            noisy = [total[arm] + rng.laplace(0.0, K / epsilon) for arm in range(K)]
            messages += [(t, arm, noisy[arm]) for arm in range(K)]
            first, second = sorted(range(K), key=noisy.__getitem__)[:2]
            pair, s, total = (first, second), s + 1, [0.0] * K
    return actions, messages


def random_pair(loss: Loss, K: int, T: int, rng: Generator) -> Played:
    """Another one every ten rounds."""
    actions = []
    for t in range(T):
        if t % 10 == 0:
            first = int(rng.random() * K)
            pair = first, (first + 1 + int(rng.random() * (K - 1))) % K
        actions.append(pair)
    return actions, []
