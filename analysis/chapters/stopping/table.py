"""The table of stopping rules: samples used, how often the estimate misses, who did not halt.

One row per cell. The samples used are means over replicates with the bootstrap's interval; the
misses and the halts are counts with Clopper and Pearson's.
"""

from __future__ import annotations

import pandas as pd

from analysis.chapter import Data
from analysis.curves import SERIES_KEYS
from analysis.loaded import Loaded
from analysis.measures.stopping import MeasureStopping, Stopping
from analysis.statistics.bootstrap import DRAWS

INFO = ["cell", *SERIES_KEYS, "epsilon", "uses_epsilon"]

COLUMNS = [*INFO, *Stopping._fields]


def stopping(df: pd.DataFrame, draws: int = DRAWS, seed: int = 0) -> pd.DataFrame:
    """Return one row per cell of a stopping rule; none for a sweep without any.

    Columns beside the cell's own: alpha, beta (the algorithm's), mu (the instance's mean); n
    (replicates); stop_time (mean samples used) with its 95 % bootstrap interval; halted (share)
    with its interval; estimates (replicates that halted), misses (those with
    |estimate - mu| > alpha |mu|), miss (their share) with its interval, NaN without estimates;
    note. `draws` and `seed` are the bootstrap's.
    """
    if "stop_time" not in df:
        return pd.DataFrame(columns=COLUMNS).astype({"K": "Int64", "N": "Int64"})
    return stopping_of(Data(Loaded(df)), MeasureStopping(draws, seed))


def stopping_of(data: Data, measure: MeasureStopping) -> pd.DataFrame:
    """The table of `stopping` of a sweep."""
    measured = data.measured(measure)
    places = [place for place, one in enumerate(measured) if one is not None]
    table = data.manifest[INFO].take(places).reset_index(drop=True)
    fits = [one for one in measured if one is not None]
    found = pd.DataFrame(fits, columns=Stopping._fields)
    return pd.concat([table, found], axis=1)[COLUMNS].astype({"K": "Int64", "N": "Int64"})
