"""From a store to one table: the rows of a sweep and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from analysis.stored import frame, no_rows
from sweep.store.reading import read_rows
from sweep.store.sweeps import families, find_sweep


def load(sweep: str | Path = "latest", store: str | Path = "results") -> pd.DataFrame:
    """A sweep's results: a row for each (row of the manifest, replicate), in the manifest's order.

    Columns: the manifest's (the swept values, what is known of algorithm and instance; `means` as
    arrays), `replicate`, and as numpy arrays `checkpoints` (rounds, shape (m,)) and `regret`
    (cumulative, shape (m,)); of a row without regret they have length 0. Then the outcome columns
    of the families in the sweep, lists as arrays; None, or NaN among numbers, where a row's family
    has none. Cells are told apart by `cell` and `instance`: a cell that the sweep names twice is
    there under both names.

    Replicates beyond those the sweep asked for and duplicated rows are left out. An anytime cell
    without rows of its own is cut from a longer run of the same stream, seed and replicate, whose
    beginning it is; such rows have no outcome.

    Args:
        sweep: an ID, a unique prefix of one, the path of a sweep's folder, or "latest".
        store: a folder or a URL.

    Returns:
        A frame whose `attrs["sweep"]` is a dict: id, path, store, question, window, command, cells
        (rows of the manifest), wanted and found (numbers of rows); `attrs["families"]` describes
        the families and their columns, as the sweep recorded them.

    Raises:
        InputError: an unknown sweep, a missing store, a damaged manifest or segment, a sweep
            without any rows.
    """
    found = find_sweep(sweep, store)
    manifest = found.manifest()
    about = found.about()
    rows = read_rows(found.store, manifest)
    wanted = int(np.sum(manifest["replicates"].to_numpy()))
    if not len(rows.manifest_row):
        raise no_rows(found, wanted)
    df = frame(manifest).take(rows.manifest_row).reset_index(drop=True)
    for name, column in rows.columns.items():
        df[name] = column
    df.attrs["sweep"] = about | {"cells": len(manifest), "wanted": wanted, "found": len(df)}
    df.attrs["families"] = families(manifest)
    return df
