"""Differentially private bandits: kernels, environments, registry. Useful alone, in a notebook.

from algos import simulate
r = simulate("adap_klucb", "azize_fig3", epsilon=0.5, T=10**7, replicates=200)
r.regret, r.checkpoints, r.pulls
"""

from algos import kernel_cache as _kernel_cache

# Kernels take their cache folder when they are decorated, that is while they are imported.
with _kernel_cache.active(_kernel_cache.directory()):
    import importlib as _importlib
    import pkgutil as _pkgutil

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
    from algos.simulate import Replay, Simulation, replay, simulate

    for _family in ("bandit",):
        _package = _importlib.import_module(f"algos.{_family}")
        for _module in _pkgutil.iter_modules(_package.__path__):
            _importlib.import_module(f"algos.{_family}.{_module.name}")

__all__ = [
    "Algorithm",
    "InputError",
    "Parameter",
    "Replay",
    "Simulation",
    "algorithm",
    "algorithms",
    "load_plugins",
    "register",
    "replay",
    "resolve_instance",
    "simulate",
]
