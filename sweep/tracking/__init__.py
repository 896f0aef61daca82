"""Weights & Biases, from a process of its own."""

from sweep.tracking.ledger import logged_points
from sweep.tracking.tracker import MAX_RUNS, Mode, RunSpec, Tracker, resolve_mode, sync_command

__all__ = [
    "MAX_RUNS",
    "Mode",
    "RunSpec",
    "Tracker",
    "logged_points",
    "resolve_mode",
    "sync_command",
]
