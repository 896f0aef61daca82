"""One of several processes at a store: writes, compacts, reads, or is killed in compaction.

python store_worker.py write STORE CELL COUNT      prints each (cell, replicate) it committed
python store_worker.py compact STORE STOP          over and over, until the file STOP is there
python store_worker.py read STORE STOP LOG…        checks that nothing in the logs is missed
python store_worker.py killed STORE STEP           kill -9 at the given step of a compaction
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stored import scanned, table

from sweep.store import Store
from sweep.store import compact as compacting
from sweep.store.places import Place
from sweep.store.segments import ROWS

EACH = 3  # replicates in a segment


def write(store: Store, cell: str, count: int) -> None:
    """Commit `count` segments; every fourth repeats the one before."""
    for number in range(count):
        start = EACH * (number - (number % 4 == 3))
        store.append_rows([table(cell, range(start, start + EACH))])
        for replicate in range(start, start + EACH):
            print(cell, replicate, flush=True)


def compact(store: Store, stop: Path) -> None:
    """Compact until told to stop."""
    while not stop.exists():
        compacting.compact(store, ROWS)


def read(store: Store, stop: Path, logs: list[Path]) -> None:
    """Read until told to stop; every row committed before a scan began must be in it."""
    scans = 0
    while not stop.exists():
        committed = set()
        for log in logs:
            lines = log.read_text().split("\n")[:-1]  # the last may be half written
            committed |= {(line.split()[0], int(line.split()[1])) for line in lines}
        missing = committed - set(scanned(store, set_aside=True))
        assert not missing, f"missed {sorted(missing)[:5]}"
        assert not store.damaged, store.damaged
        scans += 1
    print(scans)


def killed(store: Store, step: int) -> None:
    """Compact in small pieces and die before or after the given system call."""
    left = [step]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            for act in (lambda: None, lambda: call(*arguments, **options)):
                result = act()
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1
            return result

        return counting

    os.replace = counted(os.replace)
    os.fsync = counted(os.fsync)
    remove = counted(Place.remove)

    def one_by_one(self: Place, folder: str, names: list[str]) -> None:
        for name in names:
            remove(self, folder, [name])

    Place.remove = one_by_one  # type: ignore[method-assign]
    compacting.GROUP, compacting.TARGET = 2500, 1
    compacting.compact(store, ROWS)


if __name__ == "__main__":
    role, root, *rest = sys.argv[1:]
    if role == "write":
        write(Store(root), rest[0], int(rest[1]))
    elif role == "compact":
        compact(Store(root), Path(rest[0]))
    elif role == "read":
        read(Store(root), Path(rest[0]), [Path(log) for log in rest[1:]])
    else:
        killed(Store(root), int(rest[0]))
