"""The comparison of a replayed kernel with its reference, and planted mistakes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import getsource
from types import ModuleType
from typing import Any

import numpy as np

from algos import replay
from algos.random.seeding import state
from reference.common import Trajectory, draws
from reference.finding import home
from reference.tables import Table, source

# An ulp or two: the values differ only in how the kernel arranges one division and one sum.
MESSAGE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Case:
    """One algorithm with its parameters, and the reward tables it is compared on."""

    algorithm: str
    table: Callable[[np.random.Generator, int, int], Table]
    epsilon: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    T: tuple[int, int] = (2_000, 2_500)
    K: tuple[int, int] = (2, 8)

    def __str__(self) -> str:
        words = [self.algorithm, self.table.__name__]
        words += [] if self.epsilon is None else [f"epsilon={self.epsilon}"]
        return "-".join(words + [f"{name}={value}" for name, value in self.parameters.items()])

    def draw(self, number: int) -> tuple[Table, int]:
        """Table `number` of the case and its T; the table may hold rows that are not used."""
        rng = np.random.default_rng([number, *str(self).encode()])
        T = int(rng.integers(self.T[0], self.T[1], endpoint=True))
        K = int(rng.integers(self.K[0], self.K[1], endpoint=True))
        return self.table(rng, T + int(rng.integers(0, 3)), K), T

    def reference(
        self, table: Table, T: int, seed: int, module: ModuleType | None = None
    ) -> Trajectory:
        """What the plain implementation (or a mutant's) does on the table."""
        keywords = dict(self.parameters)
        if self.epsilon is not None:
            keywords["epsilon"] = self.epsilon
        play: Callable[..., Trajectory] = getattr(module or home(self.algorithm), self.algorithm)
        return play(source(table), table.shape[1], T, draws(seed), **keywords)

    def difference(self, table: Table, T: int, seed: int, expected: Trajectory) -> str:
        """How the replayed kernel differs from the expected trajectory; empty when it does not."""
        instance = {"name": "reward_table", "rewards": table}
        got = replay(
            self.algorithm, instance, epsilon=self.epsilon, T=T, rng=state(seed), **self.parameters
        )
        return compare(got, expected)

    def notices(self, function: str, right: str, wrong: str, tables: int) -> bool:
        """Whether the kernel differs, on any of so many tables, from a reference with a mistake."""
        changed = mutant(function, right, wrong, home(self.algorithm))
        for number in range(tables):
            table, T = self.draw(number)
            if self.difference(table, T, number, self.reference(table, T, number, changed)):
                return True
        return False


def compare(got: Any, expected: Trajectory) -> str:
    """The first difference between a replay and a trajectory, in words; empty when none."""
    actions, messages = np.array(expected[0]), expected[1]
    if got.actions.shape != actions.shape:
        return f"actions of shape {got.actions.shape}, expected {actions.shape}"
    differs = np.flatnonzero((got.actions != actions).reshape(len(actions), -1).any(axis=1))
    if differs.size:
        t = int(differs[0])
        return f"round {t + 1}: action {got.actions[t]}, expected {actions[t]}"
    columns = (got.message_round, got.message_arm, got.message_value)
    if any(len(column) != len(messages) for column in columns):
        return f"{[len(column) for column in columns]} messages, expected {len(messages)}"
    for number, (t, arm, value) in enumerate(messages):
        sent = tuple(column[number] for column in columns)
        tolerance = MESSAGE_TOLERANCE * max(1.0, abs(value))
        if sent[:2] != (t, arm) or not abs(sent[2] - value) <= tolerance:
            return f"message {number}: {sent}, expected {(t, arm, value)}"
    return ""


def mutant(function: str, old: str, new: str, module: ModuleType) -> ModuleType:
    """The reference `module` with `old` replaced by `new` in one function, where it occurs once.

    Raises AssertionError when it does not: the planted mistake would not be the one meant.
    """
    original = getsource(getattr(module, function))
    assert original.count(old) == 1, f"{old!r} occurs {original.count(old)} times in {function}"
    text = getsource(module).replace(original, original.replace(old, new))
    changed = ModuleType(f"{function}_mutant")
    exec(compile(text, changed.__name__, "exec"), changed.__dict__)
    return changed
