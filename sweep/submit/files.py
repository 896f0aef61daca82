"""What a submitted sweep takes along: the working directory and this project's packages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pathspec import GitIgnoreSpec

from algos.errors import InputError, Words

PACKAGES = ("algos", "analysis", "conf", "sweep")
LARGEST = 200 * 1024**2  # bytes of files; Ray sends them through the head's memory
NAMES = (
    ".git", ".hg", ".svn", "__pycache__", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache",
    ".ipynb_checkpoints", "*.egg-info", "node_modules", "/outputs", "/multirun", "/wandb",
)  # fmt: skip
IGNORE_FILES = (".gitignore", ".rayignore")  # Ray leaves out what they name


def packages(folder: Path) -> list[str]:
    """The folders of this project's packages that are not those of the working directory."""
    specs = (find_spec(name) for name in PACKAGES)
    found = [
        Path(folders[0]).resolve()
        for folders in (spec.submodule_search_locations for spec in specs if spec)
        if folders
    ]
    return [str(path) for path in found if path.parent != folder.resolve()]


def excludes(folder: Path, stores: tuple[Path, ...]) -> list[str]:
    """Patterns, as in .gitignore, of what is never sent: history, caches, environments, results.

    Raises:
        InputError: what remains is too much to send.
    """
    patterns = list(NAMES)
    for store in stores:
        if store.resolve().is_relative_to(folder.resolve()) and store.resolve() != folder.resolve():
            patterns.append(f"/{store.resolve().relative_to(folder.resolve()).as_posix()}")
    size = 0
    for path in _files(folder, patterns):
        size += path.stat().st_size
        if size > LARGEST:
            raise InputError(
                "working directory",
                Words(f"{folder} with more than {LARGEST // 1024**2} MB"),
                "less to send: name what the sweep does not need in .rayignore",
            )
    return patterns


def _files(folder: Path, patterns: list[str]) -> Iterator[Path]:
    """The files that would be sent; finds environments and stores, and adds them to `patterns`."""
    specs: dict[Path, list[tuple[Path, GitIgnoreSpec]]] = {}
    for at, folders, names in os.walk(folder):
        here = Path(at)
        above = specs.get(here.parent, []) if here != folder else []
        lines = [line for name in IGNORE_FILES if name in names for line in _lines(here / name)]
        specs[here] = [*above, (here, GitIgnoreSpec.from_lines(lines))]
        for name in list(folders):
            if _generated(here / name):
                patterns.append(f"/{(here / name).relative_to(folder).as_posix()}")
        chosen = [(folder, GitIgnoreSpec.from_lines(patterns)), *specs[here]]
        folders[:] = [name for name in folders if not _ignored(here / name, chosen, "/")]
        for name in names:
            path = here / name
            if path.is_file() and not _ignored(path, chosen):
                yield path


def _ignored(path: Path, specs: list[tuple[Path, GitIgnoreSpec]], end: str = "") -> bool:
    return any(spec.match_file(path.relative_to(at).as_posix() + end) for at, spec in specs)


def _generated(folder: Path) -> bool:
    """Whether a folder is a virtual environment or a results store."""
    if (folder / "pyvenv.cfg").is_file():
        return True
    return (folder / "rows").is_dir() and (folder / "sweeps").is_dir()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
