"""What a sweep is expected to take: start, compilation, simulation, report.

The constants were measured on an idle machine of two cores.
"""

from __future__ import annotations

from dataclasses import dataclass

from sweep.engine.machine import cores
from sweep.grid.config import Settings
from sweep.grid.effort import Rule, fixed
from sweep.grid.units import Pending

RAY_STARTS = 4.0  # seconds until actors on Ray play
HERE_STARTS = 0.5  # seconds until this process plays: kernels come from the disk
KERNEL_SECONDS = 5.0  # that one takes to compile


def is_played_here(settings: Settings, pending: Pending, rule: Rule) -> bool:
    """Whether a sweep is played in the command's own process, rather than by actors on Ray.

    With `runtime.executor=auto` it is where actors would not be done earlier, unless a number of
    them or a cluster is asked for, or a rule may add no one knows how much.
    """
    if settings.executor != "auto":
        return settings.executor == "inline"
    if settings.address is not None or settings.actors is not None or rule is not fixed:
        return False
    return HERE_STARTS + pending.seconds < RAY_STARTS + pending.seconds / cores()


@dataclass(frozen=True)
class Estimate:
    """Expected seconds by the clock, and who plays: None for a cluster of unknown size."""

    start: float
    compilation: float
    simulation: float
    report: float
    actors: int | None

    @property
    def total(self) -> float:
        """All of it."""
        return self.start + self.compilation + self.simulation + self.report

    def __str__(self) -> str:
        actors = "on one core" if self.actors is None else f"with {self.actors} actors"
        where = "here" if self.actors == 0 else actors
        parts = {
            "to start": self.start,
            "to compile": self.compilation,
            f"to simulate {where}": self.simulation,
            "for the report": self.report,
        }
        told = ", ".join(f"{duration(value)} {name}" for name, value in parts.items() if value)
        return f"about {duration(self.total)}: {told}" if told else "nothing is to be done"


def estimate(
    settings: Settings, pending: Pending, rule: Rule, kernels: int, report: float
) -> Estimate:
    """What a sweep is expected to take.

    Args:
        settings: of the sweep.
        pending: what is left to be played.
        rule: what may ask for more, which is not counted.
        kernels: how many have to be compiled.
        report: seconds of the report; 0 for none.
    """
    if not pending:
        return Estimate(0.0, 0.0, 0.0, report, 0)
    compilation = KERNEL_SECONDS * -(-kernels // cores())
    if is_played_here(settings, pending, rule):
        return Estimate(HERE_STARTS, compilation, pending.seconds, report, 0)
    actors = settings.actors or (cores() if settings.address is None else None)
    simulation = pending.seconds / (actors or 1)
    return Estimate(RAY_STARTS, compilation, simulation, report, actors)


def duration(seconds: float) -> str:
    """A time in the unit a person would use."""
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.2g} s"
