"""Every shipped algorithm gives the rows that a store of an earlier version holds, bit for bit.

`catalogue/VERSION/rows` has two replicates of each algorithm, made by that version. A kernel whose
own version was raised since may give others; its old rows stay readable. Run as a script, this
file writes the rows that the present versions lack.
"""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from test_plan import planned
from undisturbed import undisturbed_rows

from algos import algorithms
from algos.checkpoints import grid as standard
from sweep.engine.driver import look
from sweep.grid.inventory import Inventory
from sweep.grid.units import Pending
from sweep.store import Store

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
CATALOGUE = Path(__file__).with_name("catalogue")
BANDITS = (
    "ucb1", "{name:kl_ucb,c:[0,3]}", "moss", "imed", "thompson_beta",
    "{name:thompson_beta,draws:all}", "successive_elimination", "dp_se", "naive_dp_ucb",
    "adap_klucb", "adap_moss", "adap_imed",
    "{name:dp_ucb,bound:[union,mt15],budget:[per_arm,split]}", "{name:adap_ucb,alpha:[1,3.1]}",
    "anytime_lazy_ucb", "lazy_dp_ts",
)  # fmt: skip
GRIDS = {
    "arms": (
        f"grid.algorithm=[{','.join(BANDITS)}]", "grid.epsilon=[0.3,2,inf]", "grid.T=[300,1000]",
        "grid.instance=[hu_distinct,{name:equal_gap,gap:0.2,best:0.75}]", "grid.K=[4]",
    ),
    "rewards": (
        "grid.algorithm=[ucb1,adap_ucb]", "grid.epsilon=[0.3,2,inf]", "grid.T=[300,1000]",
        "grid.instance=[{name:finite_support,values:[[0,0.5,1],[0,0.4]],"
        "probabilities:[[0.2,0.3,0.5],[0.5,0.5]]},{name:beta,a:[2,1],b:[1,2]},"
        "{name:uniform,low:[0.2,0.1],high:[0.9,0.4]}]",
    ),
    "full information": (
        "grid.algorithm=[ftl,decreasing_hedge,ftnl,{name:rnm_ftnl,noise:[1,2]}]",
        "grid.instance=[azize_fig3,{name:doubling_gap,gap:0.05,best:0.9},"
        "{name:linear,low:0.2,high:0.7}]", "grid.K=[4]", "grid.epsilon=[0.3,inf]",
        "grid.T=[300,2000]",
    ),
    "samples": (
        "grid.algorithm=[nas,dp_nas,dp_exp_nas]", "grid.epsilon=[0.3,inf]", "grid.T=[300,20000]",
        "grid.instance=[{name:two_point,mu:[0.9,-0.4],R:2},{name:bounded_uniform,mu:0.5}]",
    ),
}  # fmt: skip
MINE = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)


def earlier() -> pa.Table:
    """All rows of all versions, columns that a family lacks null."""
    tables = [pq.read_table(path) for path in sorted(CATALOGUE.glob("*/rows/*.parquet"))]
    return pa.concat_tables(tables, promote_options="default")


def unchanged() -> list[str]:
    """The algorithms whose versions are those of the earlier rows."""
    rows = earlier()
    made = set(zip(rows["algorithm"].to_pylist(), rows["version"].to_pylist(), strict=True))
    return [entry.name for entry in algorithms() if (entry.name, entry.version) in made]


def test_the_rows_are_of_every_algorithm_there_was():
    names = earlier()["algorithm"].unique().to_pylist()
    assert len(names) >= 22 and set(names) <= {entry.name for entry in algorithms()}
    assert set(unchanged()) == set(names), "run this file as a script, once the version is final"


def nulled(rows: pa.Table) -> pa.Array:
    """The checkpoints of rows, null where they are the standard ones."""
    pairs = zip(rows["checkpoints"].to_pylist(), rows["T"].to_pylist(), strict=True)
    lists = [None if known == standard(T).tolist() else known for known, T in pairs]
    return pa.array(lists, rows["checkpoints"].type)


@MINE
def test_the_same_cells_give_the_same_rows(grid):
    table = undisturbed_rows(*grid, "grid.replicates=2")
    table = table.filter(pc.is_in(table["algorithm"], pa.array(unchanged(), pa.string())))
    old = earlier().filter(pc.is_in(earlier()["cell"], table["cell"].combine_chunks()))
    old = old.sort_by([("cell", "ascending"), ("replicate", "ascending")])
    # Earlier versions wrote the standard checkpoints out, which null stands for.
    assert table["checkpoints"].combine_chunks() == nulled(old)
    for name in set(table.column_names) - {"checkpoints"}:  # equal to the last bit, NaN to NaN
        pd.testing.assert_series_equal(
            table[name].to_pandas(), old[name].to_pandas(), check_exact=True
        )


@MINE
def test_a_sweep_over_the_earlier_store_simulates_nothing(grid, tmp_path):
    (tmp_path / "rows").mkdir()
    for number, path in enumerate(sorted(CATALOGUE.glob("*/rows/*.parquet"))):
        shutil.copy(path, tmp_path / "rows" / f"{number}.parquet")
    plan, _ = planned(*grid, "grid.replicates=2")
    pending = Pending(plan, look(Store(tmp_path), Inventory(plan), False))
    same = set(unchanged())
    again = {s.algorithm.name for s, first in zip(plan.sections, plan.first, strict=True)
             if pending.lacking[first : first + s.cells].any()}  # fmt: skip
    assert not again & same


if __name__ == "__main__":
    tables = [undisturbed_rows(*grid, "grid.replicates=2") for grid in GRIDS.values()]
    known, version = set(unchanged()), tomllib.loads(PROJECT.read_text())["project"]["version"]
    folder = CATALOGUE / version / "rows"
    folder.mkdir(parents=True)
    for number, table in enumerate(tables):
        fresh = [name not in known for name in table["algorithm"].to_pylist()]
        pq.write_table(table.filter(pa.array(fresh)), folder / f"{number}.parquet")
