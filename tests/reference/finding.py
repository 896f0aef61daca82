"""The reference of an algorithm, found by its name."""

from collections.abc import Callable
from importlib import import_module
from inspect import isfunction
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from algos import algorithm


def package(family: str) -> Any:
    """The package with a family's references.

    Raises:
        LookupError: there is none.
    """
    try:
        return import_module(f"reference.{family}")
    except ModuleNotFoundError:
        raise LookupError(f"the family {family} has no package tests/reference/{family}/") from None


def home(name: str) -> ModuleType:
    """The module that defines the reference of the algorithm `name`.

    Raises:
        LookupError: there is none.
    """
    family = package(algorithm(name).family)
    for entry in iter_modules(family.__path__, f"{family.__name__}."):
        module = import_module(entry.name)
        found = getattr(module, name, None)
        if isfunction(found) and found.__module__ == module.__name__:
            return module
    place = f"tests/{family.__name__.replace('.', '/')}/"
    raise LookupError(f"{name} has no reference: a function of that name in a module of {place}")


def reference(name: str) -> Callable[..., Any]:
    """The reference of the algorithm `name`.

    Raises:
        LookupError: there is none.
    """
    found: Callable[..., Any] = getattr(home(name), name)
    return found
