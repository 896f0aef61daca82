"""Instances: from what a user writes to an environment that kernels play on.

A specification is a name, or a mapping with `name`, the parameters of that kind and, if wanted, a
`label`. Resolving it gives the explicit content, whose canonical JSON is what identities are made
of: a named instance and its explicit means are the same stream under two labels.

    resolve("azize_fig3")
    resolve({"name": "bernoulli", "means": [0.8, 0.1, 0.1], "label": "one good arm"})
    resolve({"name": "equal_gap", "gap": 0.1, "best": 0.5}, K=10)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from algos import contents
from algos.canonical import canonical, digest
from algos.checks import check_count
from algos.errors import InputError, Words, unknown_name
from algos.families import FAMILIES
from algos.kinds import KINDS, RESERVED, Kind, kind, names, register_kind, register_named
from algos.labels import row_label, shown_label

__all__ = [
    "Instance",
    "Kind",
    "contents",
    "kind",
    "names",
    "register_kind",
    "register_named",
    "resolve",
    "sizes_wanted",
]


@dataclass(frozen=True)
class Instance:
    """A resolved instance. Two are equal if definition and label are; a pickle is small.

    Attributes:
        kind: name of the kind that builds its environment.
        definition: canonical JSON of its content, or the address of a large content
            (`algos.contents`).
        label: what tables and figures show: the name or label that the user wrote.
        row_label: a label that follows from the content alone.
        generator: canonical JSON of what was written, sizes from axes included, without lists
            that are as large as a large content.
        sizes: such as {"K": 5}.
        rounds: how many rounds it can be played, None if unlimited.
    """

    kind: str = field(compare=False)
    definition: str
    label: str
    row_label: str = field(compare=False)
    generator: str = field(compare=False)
    sizes: Mapping[str, int] = field(compare=False)
    rounds: int | None = field(compare=False)

    @property
    def families(self) -> tuple[str, ...]:
        """The families that can play it."""
        return _families(self.kind)

    @property
    def draw_cost(self) -> float:
        """Nanoseconds that a round adds where a block of n plays takes n draws; 0 where one."""
        return KINDS[self.kind].draw_cost

    @property
    def means(self) -> tuple[float, ...] | None:
        """What each action pays on average, where that is a fixed number."""
        return _means(self.definition)

    @property
    def environment(self) -> Any:
        """The environment that kernels play on.

        Raises:
            RuntimeError: its content is large and this process was not provided with it.
        """
        return _environment(self.definition)

    def environments(self, generators: Iterable[np.random.Generator]) -> Any:
        """The environment that all replicates play, or a typed list, one drawn from each generator.

        Generators are asked for only where the kind draws.
        """
        draw = KINDS[self.kind].draw
        if draw is None:
            return self.environment
        from numba.core import config  # loaded where it is needed: plans need no kernels
        from numba.typed import List

        content = contents.content_of(self.definition)
        drawn = [draw(content, rng) for rng in generators]
        return drawn if getattr(config, "DISABLE_JIT", 0) else List(drawn)


def sizes_wanted(specification: str | Mapping[str, Any]) -> tuple[str, ...]:
    """The sizes that a specification needs from outside, as it doesn't set them itself.

    Raises:
        InputError: the name is unknown.
    """
    if isinstance(specification, str):
        return tuple(kind(specification).takes)
    takes = kind(specification.get("name")).takes
    return tuple(size for size in takes if specification.get(size) is None)


def resolve(specification: str | Mapping[str, Any], **sizes: int) -> Instance:
    """The instance a specification stands for.

    Args:
        specification: a name, or a mapping with `name`, parameters and, if wanted, `label`.
        sizes: such as K, for a generator that doesn't set its own.

    Raises:
        InputError: an unknown name or parameter, one missing, or a value outside its range.
    """
    if not isinstance(specification, str | Mapping):
        raise InputError("instance", specification, "a name, or a mapping {name: …}")
    given: dict[str, Any] = (
        {"name": specification} if isinstance(specification, str) else dict(specification)
    )
    name: Any = given.pop("name", None)
    reader = kind(name)
    label = _check_label(name, given.pop("label", None))
    for key in given:
        if key not in reader.depth:
            raise unknown_name(f"instance {name}", key, (*reader.depth, *RESERVED[1:]))
    for key in reader.depth:
        if key not in given and key not in reader.optional and key not in reader.takes:
            raise InputError(f"instance {name}.{key}", Words("nothing"), ", ".join(reader.depth))
    for size, (least, most) in reader.takes.items():
        own = given.pop(size, None)
        key = size if own is None else f"instance {name}.{size}"
        given[size] = check_count(key, sizes.get(size) if own is None else own, least, most)
    try:
        definition = contents.define(reader.resolve(given))
        facts = _facts(definition)
    except InputError as error:
        key = error.key if error.key.startswith("instance") else f"instance {name}.{error.key}"
        raise InputError(key, error.got, error.allowed, error.closest) from None
    return Instance(
        kind=facts.kind,
        definition=definition,
        label=label or shown_label(name, given, _digits(definition)),
        row_label=facts.row_label,
        generator=_generator(name, given),
        sizes=facts.sizes,
        rounds=facts.rounds,
    )


def _check_label(name: object, label: object) -> str | None:
    if label is None or (isinstance(label, str) and label.strip() and label.isprintable()):
        return label
    raise InputError(f"instance {name}.label", label, "a line of text")


def _generator(name: str, given: Mapping[str, Any]) -> str:
    """What was written, as canonical JSON, without lists that are larger than a definition."""
    kept = {key: value for key, value in given.items() if not _is_large(value)}
    return canonical({"name": name, **kept})


def _is_large(value: object) -> bool:
    if isinstance(value, np.ndarray) and value.size > contents.LIMIT:
        return True  # a number takes a byte or more
    return len(canonical(value).encode()) > contents.LIMIT


@dataclass(frozen=True)
class _Facts:
    """What follows from a definition and is small."""

    kind: str
    row_label: str
    sizes: Mapping[str, int]
    rounds: int | None


@lru_cache(maxsize=4096)
def _facts(definition: str) -> _Facts:
    content = contents.content_of(definition)
    reader = KINDS[content["name"]]
    return _Facts(
        kind=content["name"],
        row_label=row_label(content, _digits(definition)),
        sizes=dict(reader.sizes(_environment(definition))),
        rounds=None if reader.rounds is None else reader.rounds(content),
    )


def _digits(definition: str) -> str:
    """The digits that identify a definition, whether it is large or not."""
    if contents.is_address(definition):
        return definition.removeprefix(contents.ADDRESS)
    return digest(definition)


@lru_cache(maxsize=256)
def _environment(definition: str) -> Any:
    content = contents.content_of(definition)
    build = KINDS[content["name"]].build
    assert build is not None, "a content names a kind that can be built"
    return build(content)


@lru_cache(maxsize=4096)
def _means(definition: str) -> tuple[float, ...] | None:
    means = KINDS[contents.content_of(definition)["name"]].means
    if means is None:
        return None
    return tuple(float(mean) for mean in means(_environment(definition)))


def _families(name: str) -> tuple[str, ...]:
    own = KINDS[name].families
    return tuple(family for family in FAMILIES if name in FAMILIES[family].kinds or family in own)
