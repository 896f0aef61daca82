"""What is used here of Ray without being public, and the calls of it that have no public way.

`ray._raylet.Config.initialize(text)` makes Ray read its settings from the environment once more;
Ray calls it itself, with an empty text, for a Ray that it starts. It is relied on for RAY_AUTH_MODE
where Ray was imported before it was known what the cluster wants: by itself Ray looks at that
variable when it is imported only. `ray._private.worker._global_node` knows the processes of a
local Ray, which are to be waited for at its end and told from others that the sweep starts.

Elsewhere: `ray_auth` asks a cluster's liveness check (PROBE), the request that Ray's own clients
begin with; `ray_session` gives Ray its temporary folder (`_temp_dir`) and reads the address of
this machine's cluster from the file that `ray start` leaves; `submit.client` silences a logger.
The tests of joining, of local sessions and of submission run against a real Ray and fail where
one changes.
"""

from __future__ import annotations

from typing import Any


def notice_mode() -> None:
    """Let Ray look at RAY_AUTH_MODE now."""
    from ray import _raylet

    raylet: Any = _raylet
    raylet.Config.initialize("")


def servers() -> list[int]:
    """The processes of the Ray that this one has started; all else of Ray's is below them."""
    from ray._private import worker

    node: Any = getattr(worker, "_global_node", None)
    kinds = {} if node is None else node.all_processes
    return [info.process.pid for kind in kinds.values() for info in kind]
