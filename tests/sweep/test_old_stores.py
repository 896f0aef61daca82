"""Stores that earlier versions made: stores/VERSION, a sweep of all families and a second one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from stored import held, scanned

import analysis
from sweep.store import Store
from sweep.store.__main__ import main

STORES = sorted(Path(__file__).with_name("stores").iterdir())


@pytest.fixture(params=STORES, ids=[path.name for path in STORES])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a store."""
    return Path(shutil.copytree(request.param, tmp_path / "store"))


def test_it_is_sound(root, capsys):
    store = Store(root)
    assert len(scanned(store)) == 29 and not store.damaged and store.corrections()
    assert main(["verify", str(root)]) == 0, capsys.readouterr().out


def test_its_sweeps_load(root):
    df = analysis.load("quickstart-7", root)
    about = df.attrs["sweep"]
    assert about["found"] == about["wanted"] == len(df) == 28
    assert set(df["family"]) == {"bandit", "full_information", "stopping_rule"}
    stops = (df["family"] == "stopping_rule").to_numpy()
    assert (df["checkpoints"].map(len).to_numpy() == 0).tolist() == stops.tolist()
    assert df["pulls"].notna().tolist() == (~stops).tolist()
    for name in ("stop_time", "estimate", "halted"):
        assert df.loc[~stops, name].isna().all()
    assert df.loc[stops, "halted"].any() and (df.loc[stops, "stop_time"] >= 1).all()
    played = df[~stops]
    for row in played.itertuples():
        assert row.checkpoints[-1] == row.T and np.sum(row.pulls) == row.T
    second = analysis.load("quickstart-9", root)
    assert len(second) == 3 and second.attrs["sweep"]["window"] == (10, 100)


def test_it_compacts_to_the_same_rows(root):
    before, frame = held(root), analysis.load("quickstart-7", root)
    assert main(["compact", str(root)]) == 0
    assert len(Store(root).names("rows")) == 2
    after = pd.concat([before.to_pandas(), held(root).to_pandas()]).astype(str)
    assert len(after.drop_duplicates()) == len(before)
    pd.testing.assert_frame_equal(analysis.load("quickstart-7", root), frame)
