"""Ray for the length of a sweep: a local one on loopback, or a running cluster joined.

This module sets what must be set before Ray is imported, so import Ray through it only.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from algos.errors import InputError

# Ray's servers bind to every interface unless this is set before the import; on Linux the
# variable has no other effect.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_DISABLE_IMPORT_WARNING", "1")
# Ray would announce every actor that dies among the findings; what matters of it is recorded.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")

import ray

from sweep.engine import ray_auth, ray_private
from sweep.engine.machine import cores

OBJECT_STORE = 512 * 1024**2  # bytes; units pass through it one at a time
PREFIX = "sweep-ray-"  # of Ray's temporary folder, followed by the sweep's process id
LONGEST_PARENT = 14  # letters: below the folder Ray makes sockets, whose paths may have 107
CONNECT_SECONDS = 5.0
QUIET: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
GRACE = 10.0  # seconds that Ray's processes get to end by themselves


@contextmanager
def session(address: str | None, actors: int | None, shared: int = 0) -> Iterator[int]:
    """Start or join Ray; yields how many actors to run; ends all that was started here.

    Args:
        address: None for a local Ray, else what `ray.init` takes (`auto`, HOST:PORT).
        actors: how many are wanted; None for one per CPU.
        shared: bytes of what actors share through the object store of a local Ray.

    Raises:
        InputError: there is no cluster at `address`.
    """
    if address is not None:
        _join(address)
        try:
            yield actors or max(1, int(ray.cluster_resources().get("CPU", 1)))
        finally:
            ray.shutdown()
        return
    wanted = actors or cores()
    _remove_stale()
    parent = tempfile.gettempdir()
    if len(parent) > LONGEST_PARENT:
        parent = "/tmp"
    folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=parent)
    try:
        # Ray's processes inherit the token; later ones of this process (W&B's) don't. Without a
        # mode, Ray turns authentication on for a Ray that it starts.
        with ray_auth.environment(RAY_AUTH_TOKEN=ray_auth.local_token(), RAY_AUTH_MODE=None):
            ray.init(
                "local",  # whatever RAY_ADDRESS says
                num_cpus=max(wanted, cores()),
                num_gpus=0,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE + 2 * shared,
                _temp_dir=f"{folder}/r",  # Ray opens it to everybody, so it is inside ours
                **QUIET,
            )
        yield wanted
    finally:
        started: list[psutil.Process] = []
        for pid in ray_private.servers():
            with suppress(psutil.Error):
                server = psutil.Process(pid)
                started += [server, *server.children(recursive=True)]
        ray.shutdown()
        _end(started)
        shutil.rmtree(folder, ignore_errors=True)


def _join(address: str) -> None:
    """Connect to the cluster at `address`, with the configured token if it wants one.

    Raises:
        InputError: there is no cluster, or it refuses the token, or it runs another version.
    """
    exact = _found_by_ray() or address if address == "auto" else address
    host, _, port = exact.rpartition(":")
    answer: ray_auth.Answer = "unknown"
    if host and port.isdigit():
        _check_reachable(address, host.strip("[]"), int(port))
        answer = ray_auth.probe(exact)
    if answer == "silent":
        raise _no_cluster(address, "what answers there is no Ray")
    if answer == "refused":
        raise _refused(address)
    mode = {"open": "disabled", "token": "token"}.get(answer, os.environ.get(ray_auth.MODE))
    try:
        with ray_auth.environment(RAY_AUTH_MODE=mode):
            ray_private.notice_mode()
            ray.init(address=exact, **QUIET)
    except ray.exceptions.AuthenticationError:
        raise _refused(address) from None
    except (ConnectionError, ValueError, RuntimeError) as error:
        why = " ".join(str(error).split())
        hint = f"; if it wants a token: {ray_auth.WHERE}" if answer == "unknown" else ""
        raise _no_cluster(address, why + hint) from None
    if answer != "open" and (warning := ray_auth.exposed_file()):
        print(f"warning: {warning}", file=sys.stderr)


def _found_by_ray() -> str | None:
    """HOST:PORT of the cluster that `auto` means, if it can be told; Ray knows more ways."""
    if named := os.environ.get("RAY_ADDRESS"):
        return named
    with suppress(OSError, ValueError):
        noted = Path(os.environ.get("RAY_TMPDIR", "/tmp"), "ray", "ray_current_cluster").read_text()
        host, _, port = noted.strip().rpartition(":")
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        return noted.strip()
    return None


def _no_cluster(address: str, reason: str) -> InputError:
    return InputError(
        "runtime.address", address, f"the address of a running Ray cluster ({reason})"
    )


def _refused(address: str) -> InputError:
    had = "another token than yours" if ray_auth.configured_token() else "a token"
    return InputError(
        "runtime.address", address, f"a cluster that lets you in; it wants {had}: {ray_auth.WHERE}"
    )


def _check_reachable(address: str, host: str, port: int) -> None:
    """Ray itself tries an address that nobody answers for two minutes.

    Raises:
        InputError: HOST:PORT takes no connection.
    """
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise _no_cluster(address, error.strerror or "no answer") from None


def _remove_stale() -> None:
    """Remove Ray's temporary folders of sweeps that were killed."""
    folders = {Path(parent) for parent in (tempfile.gettempdir(), "/tmp")}
    for folder in (found for parent in folders for found in parent.glob(f"{PREFIX}*")):
        owner = folder.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _end(processes: list[psutil.Process]) -> None:
    """Wait for Ray's own processes to end, and end those that don't."""
    _, alive = psutil.wait_procs(processes, timeout=GRACE)
    for process in alive:
        with suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=GRACE)
