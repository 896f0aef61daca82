"""The results store: segments in a folder or an object store, their checks and their compaction.

python -m sweep.store compact PATH
python -m sweep.store verify PATH
"""

from sweep.store.store import Store

__all__ = ["Store"]
