"""A Ray cluster on this machine, each node made by `ray start` in processes of its own."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

STARTS_WITHIN = 120.0  # seconds
ENDS_WITHIN = 30.0


class Nodes:
    """A head and its workers on loopback, with a token of their own; use as a context manager.

    Attributes:
        address: of the head, as `runtime.address` takes it.
        environment: variables that a sweep needs to join.
    """

    def __init__(self, head_cpus: int = 1, dashboard: bool = False) -> None:
        self.folder = tempfile.mkdtemp(prefix="nodes-", dir="/tmp")  # sockets need short paths
        # Importing the sweep has set Ray's variables for a local Ray.
        own = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        self.environment = own | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self.port, self.dashboard_port = free_ports(2)
        self.address = f"127.0.0.1:{self.port}"
        self.nodes: list[subprocess.Popen[bytes]] = []
        extra = [f"--include-dashboard={str(dashboard).lower()}", f"--temp-dir={self.folder}"]
        extra += [f"--dashboard-port={self.dashboard_port}", "--dashboard-host=127.0.0.1"]
        self._start(["--head", f"--port={self.port}", *extra], head_cpus)

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *unused: object) -> None:
        for node in self.nodes[::-1]:
            kill(node)
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, cpus: int = 1, hidden: Path | None = None) -> subprocess.Popen[bytes]:
        """Add a worker node; below `hidden`, a folder that is there, it sees nothing of ours.

        Such a node runs in a mount namespace of its own, where an empty folder covers this one.
        """
        return self._start([f"--address={self.address}"], cpus, hidden)

    def _start(
        self, arguments: list[str], cpus: int, hidden: Path | None = None
    ) -> subprocess.Popen[bytes]:
        ray = [str(Path(sys.executable).with_name("ray"))]
        if hidden is not None:
            cover = f'mount -t tmpfs none {shlex.quote(str(hidden))} && exec "$@"'
            own = ["unshare", "--user", "--map-root-user", "--mount"]
            ray = [*own, "sh", "-c", cover, "sh", *ray]
        fixed = ["--block", f"--num-cpus={cpus}", "--num-gpus=0", "--node-ip-address=127.0.0.1",
                 f"--object-store-memory={100 * 1024**2}"]  # fmt: skip
        log = Path(self.folder) / f"node-{len(self.nodes)}.log"
        with log.open("wb") as output:
            node = subprocess.Popen(
                [*ray, "start", *fixed, *arguments],
                env=self.environment,
                stdout=output,
                stderr=output,
                stdin=subprocess.DEVNULL,
            )
        self.nodes.append(node)
        # One after the other: nodes that start at the same moment race for ports.
        end = time.monotonic() + STARTS_WITHIN
        while "Ray runtime started" not in log.read_text():
            assert time.monotonic() < end and node.poll() is None, log.read_text()
            time.sleep(0.1)
        return node


def actors(node: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The actors of a sweep that run on a node."""
    found = []
    for process in members(node):
        try:
            if process.name().startswith("ray::Simulator"):
                found.append(process)
        except psutil.Error:
            continue
    return found


def members(node: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """The processes of a node."""
    try:
        first = psutil.Process(node.pid)
        return [first, *first.children(recursive=True)]
    except psutil.Error:
        return []


def kill(node: subprocess.Popen[bytes]) -> None:
    """`kill -9` for every process of a node."""
    found = members(node)
    for process in found:
        try:
            process.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(found, timeout=ENDS_WITHIN)
    node.wait(timeout=ENDS_WITHIN)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
