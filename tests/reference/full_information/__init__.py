"""The full-information algorithms as their papers print them: plain Python, one round at a time.

Each function plays `T` rounds on `K` actions and asks `reward(t, j)` for every action j in every
round t. Every random choice comes from `rng` in a fixed order, which each module states, so a
kernel that is handed an equal generator and an equal reward table must return the same actions
and the same messages.

Returned are the actions (T of them, 0-based) and the messages `(t, j, value)`: what leaves the
mechanism, with the round at whose end it does.
"""

from pkgutil import extend_path

from reference.bandit import CLEAR, GOLDEN, play, table

__path__ = extend_path(__path__, __name__)
__all__ = ["CLEAR", "GOLDEN", "play", "table"]
