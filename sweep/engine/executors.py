"""Which executor a sweep gets."""

from __future__ import annotations

from collections.abc import Callable

from sweep.engine.batches import Executor
from sweep.engine.inline_executor import InlineExecutor
from sweep.grid.config import Settings
from sweep.grid.units import Pending

RAY_STARTS = 5.0  # seconds that a local Ray and its actors take before the first unit


def choose(settings: Settings, pending: Pending, show: Callable[[str], None]) -> Executor:
    """The executor that the settings ask for.

    Without a wish (`runtime.executor=auto`), it is this process where what is left takes less
    than starting Ray would, unless a number of actors is asked for.

    Args:
        settings: of the sweep.
        pending: what is left to be played.
        show: takes the tracebacks of units that are given up, where this process was asked for.
    """
    if settings.executor == "inline":
        return InlineExecutor(show)
    small = settings.address is None and settings.actors is None and pending.seconds < RAY_STARTS
    if settings.executor == "auto" and small:
        return InlineExecutor()
    # Imported here: without units for it no Ray is needed.
    from sweep.engine.ray_executor import RayExecutor

    kernels, instances = pending.kernels(), pending.plan.instances
    return RayExecutor(kernels, instances, settings.address, settings.actors, settings.plugins)
