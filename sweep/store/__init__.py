"""The results store: its layout, and all that reads and writes it.

    columns      the tables' columns and their meanings
    places       where a store is, a folder or a URL; secrets in URLs are refused
    segments     Parquet files of rows or timings that show whether they are damaged
    definitions  large definitions of instances
    store        appending, scanning, listing
    sweeps       finding a sweep; the record in its folder; `mirror` holds that of a URL
    cells        the rows of a sweep a cell at a time: `scanning` says where they are, `longer_runs`
                 are cut, null `checkpoints` stand for the standard ones; `reading`: all at once
    compact, verify

Sweep, submission and analysis use it; it imports nothing else of the project but algos.errors and
algos.checkpoints.

python -m sweep.store compact PATH
python -m sweep.store verify PATH
"""

from sweep.store.store import Store
from sweep.store.sweeps import Sweep, find_sweep

__all__ = ["Store", "Sweep", "find_sweep"]
