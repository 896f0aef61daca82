"""Which executor a sweep gets."""

from __future__ import annotations

from collections.abc import Callable

from sweep.engine.batches import Executor
from sweep.engine.estimate import is_played_here
from sweep.engine.inline_executor import InlineExecutor
from sweep.grid.config import Settings
from sweep.grid.effort import Rule
from sweep.grid.units import Pending
from sweep.store import Store


def choose(
    settings: Settings,
    pending: Pending,
    store: Store,
    rule: Rule,
    show: Callable[[str], None],
) -> Executor:
    """The executor that a sweep is played by.

    Args:
        settings: of the sweep.
        pending: what is left to be played.
        store: where the rows go.
        rule: what may ask for more.
        show: takes the tracebacks of units that are given up, where this process was asked for.
    """
    if is_played_here(settings, pending, rule):
        return InlineExecutor(store, show if settings.executor == "inline" else None)
    # Imported here: without units for it no Ray is needed.
    from sweep.engine.ray_executor import RayExecutor

    return RayExecutor(
        pending.kernels(),
        pending.plan.instances,
        store,
        settings.address,
        settings.actors,
        settings.plugins,
    )
