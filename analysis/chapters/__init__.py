"""The chapters of a report: every module here is one, found by being here.

`analysis.chapter` says what a chapter is. A chapter that needs several modules is a package.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from types import ModuleType

from algos.errors import InputError
from analysis.chapter import Chapter, Data
from analysis.measuring import Measure
from sweep.store.errors import one_line


def find_chapters(plugins: Iterable[str] = ()) -> list[ModuleType]:
    """The shipped chapters and those of plugins, in their order.

    Args:
        plugins: names of modules to import that have a function `chapter`.

    Raises:
        InputError: where a plugin is not found, cannot be imported or is no chapter.
    """
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [importlib.import_module(f"{__name__}.{name}") for name in names]
    found += [_plugin(name) for name in dict.fromkeys(plugins)]
    return sorted(found, key=lambda module: getattr(module, "ORDER", 100))


def _plugin(name: str) -> ModuleType:
    """The module of a plugin's chapter."""
    try:
        module = importlib.import_module(name)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name and _is_part(error.name, name):
            allowed = "the dotted name of a module that Python finds, such as my_package.my_chapter"
            raise InputError("plugin", name, allowed) from None
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InputError("plugin", name, f"a module that can be imported ({reason})") from error
    if not callable(getattr(module, "chapter", None)):
        allowed = "a module with a function chapter(data), see analysis.chapter"
        raise InputError("plugin", name, allowed)
    return module


def _is_part(missing: str, name: str) -> bool:
    """Whether the module that was not found is `name` itself or a package around it."""
    return name == missing or name.startswith(f"{missing}.")


def ask_chapters(modules: Iterable[ModuleType], data: Data) -> dict[str, str]:
    """Have everything measured that the chapters want, in one pass.

    Returns:
        By module's name, a line for each that failed to say what it wants.

    Raises:
        InputError: rows can't be read.
    """
    wanted: list[Measure] = []
    failed = {}
    for module in modules:
        try:
            wanted += module.measures(data) if hasattr(module, "measures") else []
        except Exception as error:
            failed[module.__name__] = _failed(module, error)
    data.measure(wanted)
    return failed


def write_chapter(
    module: ModuleType, data: Data, taken: Iterable[str] = ()
) -> Chapter | str | None:
    """The chapter of a module about a sweep, or one line on why it failed.

    Args:
        module: one of `find_chapters`.
        data: the sweep.
        taken: names of the chapters that are already written.
    """
    try:
        made = module.chapter(data)
        return None if made is None else _checked(made, taken)
    except Exception as error:
        return _failed(module, error)


def _failed(module: ModuleType, error: Exception) -> str:
    reason = f"{type(error).__name__}: {one_line(error)}"
    return f"The chapter {module.__name__} failed: {reason}"


def _checked(made: Chapter, taken: Iterable[str]) -> Chapter:
    """The chapter; raises where it is none, or its name cannot be that of a file."""
    if not isinstance(made, Chapter):
        raise TypeError(f"chapter(data) returned {type(made).__name__}, not Chapter or None")
    if not re.fullmatch(r"[A-Za-z0-9_]{1,60}", made.name) or made.name in taken:
        raise ValueError(f"name: {made.name!r} is taken or has other characters than A-Z a-z 0-9 _")
    return made
