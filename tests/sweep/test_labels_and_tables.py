"""Instances under the names that users give them, and tables that they give as files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from commands import rows, sweep
from test_plan import planned

import analysis
from algos import InputError
from algos.contents import is_address
from sweep.grid.manifest import describe
from sweep.grid.units import Pending
from sweep.store import Store
from sweep.store.definitions import path_of

SMALL = ("grid.algorithm=[ucb1,adap_ucb]", "grid.epsilon=[0.5,2]", "grid.T=[500]",
         "grid.replicates=4")  # fmt: skip


def described(*overrides: str) -> list[dict]:
    """The manifest's rows of a grid."""
    plan, _ = planned(*SMALL, *overrides)
    return [describe(cell, one, 4) for cell in plan for one in plan.labelled(cell)]


def test_an_instance_is_shown_as_it_was_written():
    found = described(
        "grid.instance=[hu_distinct,{name:equal_gap,gap:0.1,best:0.5},"
        "{name:bernoulli,means:[0.8,0.1,0.1,0.1,0.1]},{name:bernoulli,means:[0.6,0.4],label:mine}]",
        "grid.K=[5]",
    )
    labels = {row["instance"]: json.loads(row["instance_generator"]) for row in found}
    assert labels == {
        "hu_distinct": {"name": "hu_distinct"},
        "equal_gap(gap=0.1, best=0.5, K=5)": {"name": "equal_gap", "gap": 0.1, "best": 0.5, "K": 5},
        "bernoulli(0.8, 0.1, 0.1, 0.1, 0.1)": {
            "name": "bernoulli", "means": [0.8, 0.1, 0.1, 0.1, 0.1],
        },
        "mine": {"name": "bernoulli", "means": [0.6, 0.4]},
    }  # fmt: skip


def test_a_grid_that_names_one_instance_twice_shows_both(tmp_path):
    both = "grid.instance=[hu_distinct,sajed_c2]"
    plan, _ = planned(*SMALL, both)
    one, _ = planned(*SMALL, "grid.instance=[hu_distinct]")
    other, _ = planned(*SMALL, "grid.instance=[sajed_c2]")
    assert {cell.id for cell in plan} == {cell.id for cell in one} and len(plan) == len(one)
    assert one.id_digits == other.id_digits != plan.id_digits
    status, out, err = sweep(["+grid=quickstart", *SMALL, both], tmp_path)
    assert status == 0, err
    table = rows(tmp_path / "results")
    assert table.num_rows == len(one) * 4
    assert table["instance"].unique().to_pylist() == ["sajed_c2"]
    [folder] = (tmp_path / "results" / "sweeps").iterdir()
    frame = analysis.load(str(folder), tmp_path / "results")
    assert set(frame["instance"]) == {"hu_distinct", "sajed_c2"} and len(frame) == 2 * len(table)
    slopes = pd.read_csv(folder / "tables" / "slopes.csv")
    assert len(slopes) == 2 * len(one)
    assert "hu_distinct" in out and "sajed_c2" in out


def test_a_grid_with_another_name_uses_the_same_rows(tmp_path):
    for name, stored in (("sajed_c2", 0), ("hu_distinct", 12)):
        grid = ["+grid=quickstart", *SMALL, f"grid.instance=[{name}]"]
        status, out, err = sweep(grid, tmp_path)
        assert status == 0 and f"{stored} in the store" in err, err
        assert f"{name}, T = 500" in out


@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_a_table_from_a_file_is_what_it_holds(tmp_path, suffix):
    rewards = np.random.default_rng(1).random((600, 3))
    path = tmp_path / f"rewards.{suffix}"
    if suffix == "npy":
        np.save(path, rewards)
    else:
        pd.DataFrame(rewards, columns=list("abc")).to_parquet(path)
    plan, _ = planned(*SMALL, f"grid.instance=[{{name:reward_table,rewards:{path}}}]")
    listed = json.dumps(rewards.tolist()).replace(" ", "")
    same, _ = planned(*SMALL, f"grid.instance=[{{name:reward_table,rewards:{listed}}}]")
    assert {cell.id for cell in plan} == {cell.id for cell in same}
    [instance] = plan.instances
    assert is_address(instance.definition) and instance.label == f"reward_table({path.name})"
    assert json.loads(instance.generator) == {"name": "reward_table", "rewards": str(path)}
    assert plan.id_digits == same.id_digits
    assert np.array_equal(instance.environment.rewards, rewards)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        (b"\x93NUMPY broken", "rewards"),
        (np.array([["a", "b"]]), "a table of numbers"),
        (np.array([{"a": 1}], dtype=object), "rewards"),
        (np.array([[0.5, 1.5]]), "1.5"),
        (np.array([[0.5, np.nan]]), "nan"),
        (np.array([0.5, 0.25]), "rewards"),
        (np.zeros((3, 0)), "rewards"),
    ],
)
def test_a_file_that_holds_no_table_is_one_line(tmp_path, content, says):
    path = tmp_path / "table.npy"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(InputError, match=says) as caught:
        planned(*SMALL, f"grid.instance=[{{name:reward_table,rewards:{path}}}]")
    line = str(caught.value)
    assert line.startswith("grid.instance reward_table.rewards: got") and "\n" not in line
    with pytest.raises(InputError, match=r"\.npy or \.parquet"):
        planned(*SMALL, "grid.instance=[{name:reward_table,rewards:table.csv}]")


def test_a_large_table_is_in_no_row_and_no_unit(tmp_path, monkeypatch):
    """Kept once in the store, sent to the actors once, found again by the next sweep."""
    import pickle

    monkeypatch.chdir(tmp_path)
    rewards = np.random.default_rng(2).random((5000, 4))
    np.save(tmp_path / "table.npy", rewards)
    grid = ["+grid=quickstart", *SMALL, "grid.T=[5000]",
            "grid.instance=[{name:reward_table,rewards:table.npy,label:mine}]"]  # fmt: skip
    status, out, err = sweep([*grid, "runtime.executor=ray", "runtime.actors=2"], tmp_path)
    assert status == 0 and "mine" in out, err
    table = rows(tmp_path / "results")
    [definition] = table["instance_definition"].unique().to_pylist()
    assert is_address(definition)
    store = Store(tmp_path / "results")
    assert np.array_equal(store.definition(definition)["rewards"], rewards)
    assert len(list((tmp_path / "results" / "definitions").iterdir())) == 1
    assert (tmp_path / "results" / path_of(definition)).is_file()
    plan, _ = planned(*grid)
    units = list(Pending(plan, block=1))
    assert all(len(pickle.dumps(unit)) < 4096 for unit in units)
    status, _, err = sweep([*grid, "store=inline", "runtime=inline"], tmp_path)
    assert status == 0 and rows(tmp_path / "inline").equals(table), err
    status, _, err = sweep([*grid, "dry_run=true"], tmp_path)
    assert status == 0 and " 0 to simulate" in err
    [folder] = (tmp_path / "results" / "sweeps").iterdir()
    manifest = pq.read_table(folder / "manifest.parquet").to_pylist()
    assert {row["instance_definition"] for row in manifest} == {definition}
    assert all(len(row["instance_generator"]) < 4096 for row in manifest)
