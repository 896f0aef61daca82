"""Differentially private bandits: kernels, environments, registry. Useful alone, in a notebook.

    from algos import simulate
    r = simulate("adap_klucb", "azize_fig3", epsilon=0.5, T=10**7, replicates=200)
    r.regret, r.checkpoints, r.pulls

Names are loaded when they are asked for: `from algos.errors import InputError` loads no kernel.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from algos.errors import InputError
    from algos.instances import resolve as resolve_instance
    from algos.registry import (
        Algorithm,
        Parameter,
        algorithm,
        algorithms,
        load_plugins,
        register,
    )
    from algos.replays import Messages, Replay, messages, replay
    from algos.simulation import Simulation, simulate
    from algos.work import Work

# Where each public name is defined, and its name there. No module may have a public name's name:
# importing it would put the module in the place of the function.
_HOMES = {
    "Algorithm": ("algos.registry", "Algorithm"),
    "InputError": ("algos.errors", "InputError"),
    "Messages": ("algos.replays", "Messages"),
    "Parameter": ("algos.registry", "Parameter"),
    "Replay": ("algos.replays", "Replay"),
    "Simulation": ("algos.simulation", "Simulation"),
    "Work": ("algos.work", "Work"),
    "algorithm": ("algos.registry", "algorithm"),
    "algorithms": ("algos.registry", "algorithms"),
    "load_plugins": ("algos.registry", "load_plugins"),
    "messages": ("algos.replays", "messages"),
    "register": ("algos.registry", "register"),
    "replay": ("algos.replays", "replay"),
    "resolve_instance": ("algos.instances", "resolve"),
    "simulate": ("algos.simulation", "simulate"),
}

__all__ = [
    "Algorithm",
    "InputError",
    "Messages",
    "Parameter",
    "Replay",
    "Simulation",
    "Work",
    "algorithm",
    "algorithms",
    "load_plugins",
    "messages",
    "register",
    "replay",
    "resolve_instance",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, there = _HOMES[name]
    value = getattr(import_module(module), there)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
