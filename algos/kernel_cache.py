"""Where compiled kernels are kept between processes.

Numba's own cache knows only the file in which a kernel is defined, so an edit of a function
that the kernel calls would leave a stale kernel behind. The directory is therefore named after
all the sources that can end up in a kernel, the Numba version and the CPU: those of `algos`, and
those of a plugin for the plugin's kernels and for what shipped kernels become on its types.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import platformdirs
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

PACKAGE = __name__.partition(".")[0]


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def _base() -> Path:
    """The user's cache folder; NUMBA_CACHE_DIR overrides it, a temporary one is the last resort."""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(wanted) if wanted else platformdirs.user_cache_path("dp-bandit-sweep")
    try:
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK):
            return base
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"dp-bandit-sweep-{os.getuid()}"


@cache
def _core_digest() -> str:
    sources = sorted(Path(__file__).parent.rglob("*.py"))
    build = f"{_digest(sources)} {numba.__version__} {llvm.get_host_cpu_name()}"
    return hashlib.sha256(build.encode()).hexdigest()[:16]


def directory(plugin_digest: str = "") -> Path:
    """The folder of the kernels compiled from today's sources, made if absent."""
    name = _core_digest() + (f"-{plugin_digest[:16]}" if plugin_digest else "")
    path = _base() / name
    path.mkdir(parents=True, exist_ok=True)
    return path


def code(plugins: Iterable[str] = ()) -> str:
    """What a replicate's bits depend on beside its inputs: the sources of algos and of plugins,
    and the versions of NumPy and Numba.

    Raises:
        ImportError: there is no such plugin.
    """
    parts = [_digest(sorted(Path(__file__).parent.rglob("*.py")))]
    parts += [_digest(_plugin_sources(module)) for module in plugins]
    sources = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
    return f"{sources} with NumPy {np.__version__} and Numba {numba.__version__}"


@contextmanager
def active(path: Path) -> Iterator[None]:
    """Kernels decorated inside the block are cached under `path`; Numba's setting is restored."""
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(path)
    try:
        yield
    finally:
        config.CACHE_DIR = before


@contextmanager
def for_plugin(module: str) -> Iterator[None]:
    """As `active`, for a user's module: its folder is named after its sources too.

    Those are its whole package's, or for a single file those of the files beside it.

    Raises:
        ImportError: there is no such module.
    """
    with active(directory(_digest(_plugin_sources(module)))):
        yield


class KernelCache(FunctionCache):
    """The cache of one shipped function, in today's folder of `algos`.

    Each signature has files of its own. Numba keeps one index for all of them, which two processes
    that compile different signatures at once would overwrite; a block loop has hundreds.

    What the function is compiled to for algorithms, environments or traces of a plugin holds the
    plugin's code, so that is kept in a folder named after the plugin's sources too, or nowhere
    where a class has no source file. In a process without the plugin the shipped folder can still
    be read.

    This relies on how Numba's dispatchers use their cache: `load_overload` and `save_overload`
    with the types of the arguments (tests/algos/test_kernel_cache.py notices when that changes).
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        with active(directory()):
            super().__init__(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form for these types, None if there is none yet."""
        return self._of(sig).load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled form for these types."""
        self._of(sig).save_overload(sig, data)

    def _of(self, sig: Any) -> FunctionCache | NullCache:
        try:
            sources = [
                source for one in sorted(set(_foreign(sig))) for source in _plugin_sources(one)
            ]
        except (ImportError, ValueError):  # typed into a session
            return NullCache()
        with active(directory(_digest(sources) if sources else "")):
            cache: Any = FunctionCache(self._py_func)
        cache._cache_file = IndexDataCacheFile(
            cache_path=cache._cache_path,
            filename_base=f"{cache._impl.filename_base}.{_words(sig)}",
            source_stamp=cache._impl.locator.get_source_stamp(),
        )
        return cache


def _words(sig: Any) -> str:
    return hashlib.sha256(str(sig).encode()).hexdigest()[:16]


def _foreign(arguments: Iterable[Any]) -> Iterator[str]:
    """The modules outside this package whose named tuples are among the arguments' types."""
    for one in arguments:
        named = getattr(one, "instance_class", None)
        if named is not None and named.__module__.partition(".")[0] != PACKAGE:
            yield named.__module__
        if isinstance(one, types.BaseTuple):
            parts: Any = one
            yield from _foreign(parts)


def _plugin_sources(module: str) -> list[Path]:
    top = module.partition(".")[0]
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        raise ImportError(f"no module named {top!r}")
    # A module of its own may call what stands beside it; a package, whatever it holds.
    folder = Path(spec.origin).parent
    return sorted(folder.rglob("*.py") if spec.submodule_search_locations else folder.glob("*.py"))
