"""A sweep that notes what its driver receives.

    python counted_sweep.py NOTES ARGUMENT …

Runs `python -m sweep ARGUMENT …` and leaves in the file NOTES, as JSON: the bytes of the answers
that actors gave to `play` and `put_away`, pickled as Ray pickles them, how many rows the driver
knows to be safe by them, and how many segments came without content (the actor had committed
them) and with content (the driver did).
"""

from __future__ import annotations

import json
import pickle
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sweep.__main__ import main
from sweep.engine import ray_executor
from sweep.engine.batches import Committed, Outcome
from sweep.engine.driver import Driver
from sweep.engine.keeper import Kept
from sweep.engine.worker import Played

notes: Counter[str] = Counter()
get, take = ray_executor.ray.get, Driver._take


def counted_get(call: Any, **options: Any) -> Any:
    """What a call returns, its size noted."""
    answer = get(call, **options)
    if isinstance(answer, Played | Kept):
        notes["answers"] += 1
        notes["bytes"] += len(pickle.dumps(answer, protocol=5))
    return answer


def counted_take(driver: Driver, outcomes: Sequence[Outcome]) -> None:
    """Let the driver take what has come, rows and segments noted."""
    for outcome in outcomes:
        if isinstance(outcome, Committed):
            notes["rows"] += sum(unit.rows for done in outcome.batches for unit in done.good)
            for segment in outcome.segments:
                notes["here" if segment.content is not None else "elsewhere"] += 1
    take(driver, outcomes)


if __name__ == "__main__":
    path, sys.argv[1:] = Path(sys.argv[1]), sys.argv[2:]
    ray_executor.ray.get = counted_get
    Driver._take = counted_take  # type: ignore[method-assign]
    try:
        main()
    finally:
        path.write_text(json.dumps(notes))
