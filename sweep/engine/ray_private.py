"""The one thing of Ray's that is used here without being public.

`ray._raylet.Config.initialize(text)` makes Ray read its settings from the environment once more;
Ray calls it itself, with an empty text, for a Ray that it starts. It is relied on for RAY_AUTH_MODE
where Ray was imported before it was known what the cluster wants: by itself Ray looks at that
variable when it is imported only. There is no public way.
"""

from __future__ import annotations

from typing import Any


def notice_mode() -> None:
    """Let Ray look at RAY_AUTH_MODE now."""
    from ray import _raylet

    raylet: Any = _raylet
    raylet.Config.initialize("")
