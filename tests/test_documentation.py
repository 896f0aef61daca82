"""Documentation that can be checked: docstrings of public names, and the README's tables."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from algos import algorithms
from algos.__main__ import table
from algos.checkpoints import grid

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    path for package in ("algos", "sweep", "analysis") for path in (ROOT / package).rglob("*.py")
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_public_names_have_docstrings(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "the module says what it is"
    kinds = (ast.FunctionDef, ast.ClassDef)
    public = [node for node in tree.body if isinstance(node, kinds)]
    for node in list(public):
        if isinstance(node, ast.ClassDef):
            public += [part for part in node.body if isinstance(part, kinds)]
    for node in public:
        if not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name} has no docstring"


def test_the_readme_has_todays_table_of_algorithms():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert table() in readme, "bring it up to date with: python -m algos README.md"
    for entry in algorithms():
        assert f"| `{entry.name}` | {entry.family} | {entry.source} |" in readme


def test_the_readme_lists_every_grid():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for path in (ROOT / "conf" / "grid").rglob("*.yaml"):
        name = path.relative_to(ROOT / "conf" / "grid").with_suffix("").as_posix()
        assert f"`{name}`" in readme, name


def test_the_readme_shows_what_the_command_line_takes():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    config = (ROOT / "conf" / "config.yaml").read_text(encoding="utf-8")
    for key in ("seed", "store", "dry_run", "plugins"):
        assert f"{key}:" in config and f"`{key}" in readme


def test_the_readme_links_to_what_is_there():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", readme)
    assert links and all((ROOT / link).exists() for link in links if "://" not in link)


def test_the_rounds_that_a_null_stands_for_are_as_the_page_of_stores_says():
    page = (ROOT / "sweep" / "README.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    for T in (1, 2, 3, 7, 8, 9, 1000, 1024, 12_345, 10**7, 10**12, 10**18, 2**61):
        assert names["checkpoints"](T).tolist() == grid(T).tolist()
