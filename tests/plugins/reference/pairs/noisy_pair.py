"""The two smallest noisy sums of the last epoch."""

from collections.abc import Callable

from numpy.random import Generator


def noisy_pair(
    loss: Callable[[int, int], float], K: int, T: int, rng: Generator, *, epsilon: float
) -> tuple[list[tuple[int, int]], list[tuple[int, int, float]]]:
    """Epoch s has 2^s rounds; one that T cuts short releases nothing."""
    actions, messages = [], []
    pair, s, total = (0, 1), 0, [0.0] * K
    for t in range(1, T + 1):
        actions.append(pair)
        total = [total[j] + loss(t, j) for j in range(K)]
        if t == 2 ** (s + 1) - 1:
            noisy = [total[j] + rng.laplace(0.0, K / epsilon) for j in range(K)]
            messages += [(t, j, noisy[j]) for j in range(K)]
            first, second = sorted(range(K), key=noisy.__getitem__)[:2]
            pair = (min(first, second), max(first, second))
            s, total = s + 1, [0.0] * K
    return actions, messages
