"""A family that lives in a user's module goes from grid to report like the shipped ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from commands import keys, rows, sweep

HERE = Path(__file__).parent
GRID = ("plugins=[duels_plugin]", "chapters=[duels_chapter]",
        "grid.algorithm=[noisy_pair,random_pair]",
        "grid.instance=[{name:duel_switch,gap:0.1,at:300}]", "grid.K=[3,5]", "grid.T=[100,1000]",
        "grid.epsilon=[0.5,2]", "grid.replicates=6")  # fmt: skip


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """The two modules in a folder of their own, outside this project."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("duels_plugin.py", "duels_chapter.py"):
        shutil.copy(HERE / name, folder / name)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(folder)
    return tmp_path / "work"


def prefix(before: list[float], after: list[float], at: int, t: int) -> np.ndarray:
    """Cumulative losses of every arm in each of t rounds, (t, K), the plain way."""
    return np.cumsum([before if s <= at else after for s in range(1, t + 1)], axis=0)


def test_a_family_from_grid_to_report(plugin):
    plugin.mkdir()
    on_ray = ("runtime.executor=ray", "runtime.actors=2", "runtime.block=4")
    status, out, err = sweep([*GRID, "grid.replicates=4", *on_ray], plugin)
    assert status == 0, err
    status, out, err = sweep([*GRID, *on_ray], plugin)  # two replicates more
    assert status == 0 and "48 in the store, 24 to simulate" in err, err
    table = rows(plugin / "results")
    assert len(set(keys(table))) == table.num_rows == 12 * 6
    status, _, err = sweep([*GRID, "store=inline", "runtime=inline"], plugin)
    assert status == 0 and rows(plugin / "inline").equals(table), err

    # Against the definition: regret in hindsight over pairs, and the family's own column.
    import duels_plugin  # noqa: F401

    from algos import checkpoints, replay

    for row in table.filter(pc.equal(table["replicate"], 3)).to_pylist():
        definition = json.loads(row["instance_definition"])
        played = replay(
            row["algorithm"], definition, epsilon=row["epsilon"], T=row["T"], replicate=3
        )
        assert played.actions.shape == (row["T"], 2) and row["K"] == len(definition["before"])
        lost = prefix(definition["before"], definition["after"], definition["at"], row["T"])
        each = np.diff(lost, axis=0, prepend=0.0)
        own = np.cumsum(each[np.arange(row["T"])[:, None], played.actions].mean(axis=1))
        best = np.sort(lost, axis=1)[:, :2].mean(axis=1)
        assert row["checkpoints"] is None  # the standard rounds
        at = checkpoints.grid(row["T"]) - 1
        np.testing.assert_allclose(row["regret"], (own - best)[at], atol=1e-9)
        assert row["changes"] == (np.diff(played.actions, axis=0) != 0).any(axis=1).sum()
        assert bool(len(played.message_round)) == (row["algorithm"] == "noisy_pair")

    # The report has the chapter, in the words that the family declares.
    [folder] = [f for f in (plugin / "results" / "sweeps").iterdir() if "changes" in
                (f / "report.html").read_text() and pq.read_table(f / "manifest.parquet")
                ["replicates"][0].as_py() == 6]  # fmt: skip
    page = (folder / "report.html").read_text()
    assert "Changes of the pair" in page and "how often the pair of arms changed by T" in page
    assert "changes its pair most often" in page
    assert (folder / "tables" / "changes.csv").is_file()
    assert (folder / "figures" / "changes.png").is_file() and "Changes of the pair" in out


def test_the_store_alone_brings_no_plugin_into_the_analysis(plugin):
    """Chapters come only from modules that the command names."""
    import subprocess
    import sys

    plugin.mkdir()
    small = [*GRID, "chapters=[]", "grid.T=[100]", "runtime=inline"]
    status, out, err = sweep(small, plugin)
    assert status == 0 and "Changes of the pair" not in out, err
    code = (
        "import sys\nfrom analysis.__main__ import main\nstatus = main({arguments})\n"
        "assert 'duels_plugin' not in sys.modules and 'numba' not in sys.modules\n"
        "print('chapter' if 'duels_chapter' in sys.modules else 'none'); sys.exit(status)"
    )
    for arguments, word in (
        (["report"], "none"),
        (["report", "--plugin", "duels_chapter"], "chapter"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code.format(arguments=arguments)],
            cwd=plugin, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.rstrip().endswith(word)
        assert ("Changes of the pair" in done.stdout) == (word == "chapter")
