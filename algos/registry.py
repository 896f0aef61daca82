"""The only list of algorithms: config check, planner, tables, tests and benchmarks read it.

An algorithm registers itself when its module is imported. Modules in the family packages of
`algos` are found by themselves (`algos.shipped`); a user's own module is named in the
configuration (`plugins: [my_package.my_module]`) or passed to `load_plugins`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from algos import kernel_cache, shipped
from algos.blocks import play
from algos.checks import check_epsilon, is_number
from algos.dispatch import implementation
from algos.errors import InputError, unknown_name
from algos.shipped import Registry, origin

GUARANTEES = ("none", "ε-DP", "ε-LDP", "(ε, δ)-DP")

# A parameter's value: a number, a word of its `choices`, or None where it follows from T.
Value = float | int | str | None
Sizes = Mapping[str, int]  # of an instance, such as {"K": 5}
Cost = Callable[[float, Sizes, float | None], float]


@dataclass(frozen=True)
class Parameter:
    """A number an algorithm takes beside ε and T, with the paper's default and its range.

    A `default` of None stands for a value derived from T by `derive`, shown as `derived`.
    With `choices` the value is one of these words; forms get its position among them, an int,
    everything else the word.
    """

    name: str
    default: Value
    meaning: str = ""
    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False
    integer: bool = False
    derive: Callable[[int], float] | None = None
    derived: str = ""
    choices: tuple[str, ...] = ()

    @property
    def range(self) -> str:
        """The allowed values in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        low = f"{'(' if self.low_open or math.isinf(self.low) else '['}{self.low:g}"
        high = f"{self.high:g}{')' if self.high_open or math.isinf(self.high) else ']'}"
        kind = "an integer" if self.integer else "a number"
        unset = f", or null for {self.derived}" if self.derive else ""
        return f"{kind} in {low}, {high}{unset}"

    def check(self, value: object) -> Value:
        """`value` in this parameter's type.

        Raises:
            InputError: the value is no number, lies outside the range or is none of the choices.
        """
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                raise unknown_name(self.name, value, self.choices)
            return value
        if value is None and self.derive is not None:
            return None
        if not is_number(value):
            raise InputError(self.name, value, self.range)
        number = float(value)
        below = number <= self.low if self.low_open else number < self.low
        above = number >= self.high if self.high_open else number > self.high
        if math.isnan(number) or math.isinf(number) or below or above:
            raise InputError(self.name, value, self.range)
        if self.integer:
            if not number.is_integer():
                raise InputError(self.name, value, self.range)
            return int(value)
        return number + 0.0


def positive(name: str, default: float, meaning: str) -> Parameter:
    """A parameter in (0, ∞)."""
    return Parameter(name, default, meaning, low=0.0, low_open=True)


def probability(
    name: str,
    default: float | None,
    meaning: str,
    derive: Callable[[int], float] | None = None,
    derived: str = "",
) -> Parameter:
    """A parameter in (0, 1)."""
    return Parameter(
        name,
        default,
        meaning,
        low=0.0,
        high=1.0,
        low_open=True,
        high_open=True,
        derive=derive,
        derived=derived,
    )


@dataclass(frozen=True)
class Algorithm:
    """A named kernel with what the rest of the project must know of it.

    `form` is the NamedTuple for which `algos.blocks.play` is implemented: its fields are epsilon,
    if `uses_epsilon`, and the names of `parameters` in their order.
    `cost(T, sizes, epsilon)` is the expected work in elementary steps (about a nanosecond each)
    beside the environment's draws; `cost_by_gaps(T, gaps, epsilon)`, if given, replaces it where
    the arms' gaps are known. `noiseless` names the algorithm it equals at ε = inf.
    `doubling` says that its regret moves in steps as ln T doubles. Whoever changes
    what a kernel returns bumps `version`.
    """

    name: str
    family: str
    form: type
    source: str
    summary: str
    cost: Cost
    version: int
    regret: str = ""
    guarantee: str = "none"
    uses_epsilon: bool = False
    epsilon_high: float = math.inf
    noiseless: str | None = None
    anytime: bool = True
    skips_ahead: bool = False
    doubling: bool = False
    parameters: tuple[Parameter, ...] = ()
    cost_by_gaps: Callable[[float, Sequence[float], float | None], float] | None = None

    @property
    def kernel(self) -> Callable[..., None]:
        """The implementation of `play`, as plain Python."""
        return implementation(play, self.form)

    def __reduce__(self) -> tuple[Callable[[object], Algorithm], tuple[str]]:
        # By name: a pickled kernel would be compiled anew, past the cache, where it arrives.
        return algorithm, (self.name,)

    def check_parameters(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """All parameters by name: the given ones checked, the others at their defaults.

        Raises:
            InputError: an unknown name, or a value outside its range.
        """
        known = {p.name: p for p in self.parameters}
        for name in given:
            if name not in known:
                raise unknown_name(f"{self.name} parameter", name, known)
        return {p.name: p.check(given.get(p.name, p.default)) for p in self.parameters}

    def steps(
        self,
        T: int,
        sizes: Sizes,
        means: Sequence[float] | None,
        epsilon: float | None,
    ) -> float:
        """The expected work of one replicate, given its arms' means where these are known."""
        if self.cost_by_gaps is None or means is None:
            return self.cost(float(T), sizes, epsilon)
        best = max(means)
        return self.cost_by_gaps(float(T), [best - mean for mean in means], epsilon)

    @property
    def epsilon_range(self) -> str:
        """The allowed ε in words."""
        top = f"≤ {self.epsilon_high:g}" if math.isfinite(self.epsilon_high) else "or inf"
        return f"a number > 0, {top}" if self.uses_epsilon else "unused"

    def check_epsilon(self, epsilon: object) -> float | None:
        """ε as this algorithm takes it; None if it takes none.

        Raises:
            InputError: ε is missing, no number, not positive, or above the algorithm's range.
        """
        if not self.uses_epsilon:
            return None
        allowed = f"{self.epsilon_range} (for {self.name})"
        return check_epsilon("epsilon", epsilon, allowed, self.epsilon_high)

    def fill(self, T: int, epsilon: float | None, parameters: Mapping[str, Value]) -> Any:
        """What the compiled loop takes: the form with these values."""
        values: list[float | int] = []
        if self.uses_epsilon:
            assert epsilon is not None
            values.append(epsilon)
        for p in self.parameters:
            value = parameters[p.name]
            if value is None:
                assert p.derive is not None
                value = p.derive(T)
            values.append(p.choices.index(value) if isinstance(value, str) else value)
        return self.form(*values)


ALGORITHMS: Registry[Algorithm] = Registry("algorithm", lambda entry: origin(entry.form))


def register(algorithm: Algorithm) -> Algorithm:
    """Add an algorithm to the list.

    Raises:
        ValueError: the name is taken by another kernel, the guarantee is none of GUARANTEES, the
            form's fields are not ε and the parameters, or another form has its class name.
    """
    if algorithm.guarantee not in GUARANTEES:
        raise ValueError(f"guarantee {algorithm.guarantee!r} is none of {GUARANTEES}")
    wanted = (
        *(("epsilon",) if algorithm.uses_epsilon else ()),
        *(p.name for p in algorithm.parameters),
    )
    form = algorithm.form
    fields = getattr(form, "_fields", None)
    if fields != wanted:
        raise ValueError(f"the form of {algorithm.name} has the fields {fields}, not {wanted}")
    # Numba takes two NamedTuples of one name and equal fields for the same type.
    for known in ALGORITHMS.registered():
        if known.form.__name__ == form.__name__ and origin(known.form) != origin(form):
            raise ValueError(f"the form of {known.name} is a {form.__name__} too: rename one class")
    return ALGORITHMS.add(algorithm.name, algorithm)


def algorithm(name: object) -> Algorithm:
    """The registered algorithm of that name.

    Raises:
        InputError: there is none.
    """
    if not isinstance(name, str) or name not in ALGORITHMS:
        raise unknown_name("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]


def algorithms() -> tuple[Algorithm, ...]:
    """All registered algorithms, by name."""
    return tuple(ALGORITHMS.values())


def load_plugins(modules: Iterable[str]) -> None:
    """Import users' modules that register algorithms, families or kinds of their own.

    Raises:
        InputError: a module can't be found or fails while it is imported.
    """
    shipped.load()
    for name in modules:
        try:
            with kernel_cache.for_plugin(name):
                importlib.import_module(name)
        except ImportError as error:
            raise InputError("plugins", name, f"an importable module ({error})") from error
        except InputError:
            raise
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise InputError("plugins", name, f"a module that imports ({problem})") from error
