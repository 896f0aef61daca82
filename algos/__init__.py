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

    # Every package below is a family, every module in it registers algorithms.
    for _entry in _pkgutil.walk_packages(__path__, "algos."):
        if _entry.ispkg or _entry.name.count(".") > 1:
            _importlib.import_module(_entry.name)

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
