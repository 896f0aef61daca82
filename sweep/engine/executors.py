"""Which executor a sweep gets."""

from __future__ import annotations

from collections.abc import Callable

from sweep.engine.batches import Executor
from sweep.engine.inline_executor import InlineExecutor
from sweep.grid.config import Settings
from sweep.grid.effort import Rule, fixed
from sweep.grid.units import Pending
from sweep.store import Store

RAY_STARTS = 5.0  # seconds that a local Ray and its actors take before the first unit


def choose(
    settings: Settings,
    pending: Pending,
    store: Store,
    rule: Rule,
    show: Callable[[str], None],
) -> Executor:
    """The executor that the settings ask for.

    With `runtime.executor=auto` it is this process where what is left takes less than starting Ray
    would, unless a number of actors is asked for, or a rule may add no one knows how much.

    Args:
        settings: of the sweep.
        pending: what is left to be played.
        store: where the rows go.
        rule: what may ask for more.
        show: takes the tracebacks of units that are given up, where this process was asked for.
    """
    if settings.executor == "inline":
        return InlineExecutor(store, show)
    small = settings.address is None and settings.actors is None and pending.seconds < RAY_STARTS
    if settings.executor == "auto" and small and rule is fixed:
        return InlineExecutor(store)
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
