"""Kinds of instances: how a specification of one name is read, and played.

A family's `instances` module registers its kinds and its named instances; a plugin may add kinds,
also for families that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from algos.canonical import canonical
from algos.contents import Content
from algos.errors import unknown_name
from algos.shipped import Registry, origin

# Keys of every specification that are not parameters of its kind.
RESERVED = ("name", "label")


@dataclass(frozen=True)
class Kind:
    """How a specification of one name is read, and played.

    Attributes:
        depth: each parameter's nesting: 0 a number, 1 a list, 2 a list of lists; a list nested
            deeper is a list of alternatives, which a grid expands. Sizes are among them.
        resolve: from checked keys to the explicit content, whose `name` is a kind with a `build`.
            Lists of numbers may come as arrays.
        build: the environment, a NamedTuple, from a content; it may share the content's arrays.
        draw: another environment of the same type and sizes for every replicate, from a content
            and the replicate's own generator; `build` then gives the one that the draws vary.
        families: families that can play it, beside those that name the kind themselves.
        takes: the sizes that come from a grid's axes unless a specification sets them, with the
            smallest and largest allowed.
        optional: parameters that may be left out.
        sizes: of an environment, such as {"K": 5}.
        means: of an environment, what each action pays on average, where that is a fixed number.
        rounds: of a content, how many rounds it can be played, where that is limited.
        draw_cost: nanoseconds that a round adds where a block of n plays takes n draws; 0 where
            it takes one.
        row_label: of a content, a short name that follows from it alone, or None for the usual
            one (`algos.labels`).
    """

    depth: Mapping[str, int]
    resolve: Callable[[Mapping[str, Any]], Content]
    build: Callable[[Content], Any] | None = None
    draw: Callable[[Content, np.random.Generator], Any] | None = None
    families: tuple[str, ...] = ()
    takes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    sizes: Callable[[Any], Mapping[str, int]] = lambda env: {}
    means: Callable[[Any], np.ndarray] | None = None
    rounds: Callable[[Content], int] | None = None
    draw_cost: float = 0.0
    row_label: Callable[[Content], str | None] = lambda content: None


KINDS: Registry[Kind] = Registry("instance", lambda kind: origin(kind.resolve))
NAMED: Registry[Mapping[str, Any]] = Registry("instance", canonical)


def register_kind(name: str, entry: Kind) -> Kind:
    """Add a kind of instance.

    Raises:
        ValueError: the name is taken.
    """
    return KINDS.add(name, entry)


def register_named(name: str, specification: Mapping[str, Any]) -> None:
    """Let `name` stand for a specification.

    Raises:
        ValueError: the name is taken.
    """
    NAMED.add(name, specification)


def names() -> tuple[str, ...]:
    """Every name that a specification may use."""
    return tuple(sorted((*NAMED, *KINDS)))


def kind(name: object) -> Kind:
    """How a specification of that name is read.

    Raises:
        InputError: the name is unknown.
    """
    if isinstance(name, str):
        if name in NAMED:
            given = {key: value for key, value in NAMED[name].items() if key != "name"}
            meant = KINDS[NAMED[name]["name"]]
            return Kind({}, lambda parameters: meant.resolve(given))
        if name in KINDS:
            return KINDS[name]
    raise unknown_name("instance", name, names())
