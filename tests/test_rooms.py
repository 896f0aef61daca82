"""The order of the rooms: read from the import statements, without importing anything."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imports_of(path: Path) -> Iterator[str]:
    """The dotted names that a module imports anywhere, those for type checkers apart."""

    def walk(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            yield from walk(child)

    yield from walk(ast.parse(path.read_text(encoding="utf-8")))


def entries(package: Path) -> dict[str, list[Path]]:
    """The modules and packages directly under a package, each with its files."""
    found = {
        path.stem: [path]
        for path in package.glob("*.py")
        if path.stem not in ("__init__", "__main__")
    }
    for path in package.iterdir():
        if (path / "__init__.py").is_file():
            found[path.name] = sorted(path.rglob("*.py"))
    return found


def depends(package: Path) -> dict[str, set[str]]:
    """Which entries of a package import which others."""
    names = entries(package)
    found: dict[str, set[str]] = {}
    for name, paths in names.items():
        used = {dotted.split(".")[1] for path in paths for dotted in imports_of(path)
                if dotted.startswith(f"{package.name}.")}  # fmt: skip
        found[name] = (used & set(names)) - {name}
    return found


def levels(graph: dict[str, set[str]]) -> list[list[str]]:
    """The entries by level: each imports lower levels only; raises where there is a circle."""
    left, found = dict(graph), []
    while left:
        ready = sorted(name for name, used in left.items() if not used & set(left))
        assert ready, f"imports in a circle among {sorted(left)}"
        found.append(ready)
        left = {name: used for name, used in left.items() if name not in ready}
    return found


@pytest.mark.parametrize(("package", "most"), [("analysis", 8), ("sweep", 6)])
def test_levels(package: str, most: int) -> None:
    found = levels(depends(ROOT / package))
    assert len(found) <= most, found


def test_a_circle_is_found() -> None:
    with pytest.raises(AssertionError, match="circle"):
        levels({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})


@pytest.mark.parametrize("name", ["algos", "sweep", "analysis"])
def test_no_circle_among_the_modules_of_a_package(name: str) -> None:
    """Nor between two modules of one room, nor upward from a module to a package around it."""
    package = ROOT / name
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        used = {next((n for n in (dotted, dotted.rpartition(".")[0]) if n in paths), "")
                for dotted in imports_of(path)}  # fmt: skip
        graph[name] = used - {"", name}
    levels(graph)


def test_packages_import_one_way() -> None:
    """The sweep's machine and the analysis use the algorithms and the store, not each other."""
    allowed = {"algos": set(), "sweep": {"algos"}, "analysis": {"sweep.store", "algos.errors"}}
    command = ROOT / "sweep" / "__main__.py"  # hands the analysis in
    for package in allowed:
        for path in (ROOT / package).rglob("*.py"):
            others = allowed[package] | ({"analysis"} if path == command else set())
            for dotted in imports_of(path):
                other = dotted.partition(".")[0]
                if other in allowed and other != package:
                    assert any(f"{dotted}.".startswith(f"{one}.") for one in others), (path, dotted)


def test_the_store_imports_nothing_else_of_the_project() -> None:
    for path in (ROOT / "sweep" / "store").rglob("*.py"):
        for dotted in imports_of(path):
            if dotted.partition(".")[0] in ("algos", "analysis", "conf", "sweep"):
                assert dotted.startswith(("sweep.store", "algos.errors.", "algos.checkpoints")), (
                    path,
                    dotted,
                )


def test_importing_the_store_is_light() -> None:
    run(
        "import sys, sweep.store; found = {'numba', 'ray', 'hydra'} & set(sys.modules); "
        "sys.exit(', '.join(found) or 0)"
    )


def test_importing_the_package_is_light() -> None:
    heavy = {"numba", "ray", "hydra", "omegaconf", "wandb", "altair", "scipy", "jinja2", "pandas",
             "matplotlib", "vl_convert"}  # fmt: skip
    code = (
        f"import sys, analysis; found = {heavy} & set(sys.modules); sys.exit(', '.join(found) or 0)"
    )
    run(code)


def test_a_report_needs_no_machinery() -> None:
    run(
        "import sys, analysis.__main__, analysis.chapters as c; c.find_chapters(); "
        "found = {'numba', 'ray', 'hydra', 'wandb', 'matplotlib'} & set(sys.modules); "
        "sys.exit(', '.join(found) or 0)"
    )


@pytest.mark.parametrize("order", [("chapters", "slopes"), ("slopes", "chapters")])
def test_public_names_do_not_depend_on_what_was_imported_before(order: tuple[str, str]) -> None:
    run(
        "import importlib, analysis\n"
        "import analysis.loading, analysis.chapters.slopes, analysis.chapters.stopping\n"
        f"for name in {order}: getattr(analysis, name)\n"
        "names = ['load', 'slopes', 'transitions', 'stopping', 'write_report', 'save']\n"
        "assert all(type(getattr(analysis, name)).__name__ == 'function' for name in names)\n"
        "assert set(analysis.__all__) <= set(dir(analysis))"
    )


def run(code: str) -> None:
    """Run code in a fresh process; fail with what it says."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
