"""A local Ray: who can reach it, and with which token."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from commands import LOOPBACK, as_ss_says, end, family, finish, start, wait_for

from sweep.engine import ray_auth

# A session with two actors that say where they are, held until standard input ends.
HELD = """
import sys
import tempfile
from sweep.engine.ray_session import ray, session

@ray.remote
class Actor:
    def ready(self):
        return 1

with session(None, 2) as actors:
    held = [Actor.remote() for _ in range(actors)]
    print("ready", sum(ray.get([one.ready.remote() for one in held])), flush=True)
    sys.stdin.read()
"""
PLAIN = """
import os, sys
os.environ.pop("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", None)
os.environ["RAY_AUTH_TOKEN"] = "0" * 64
import ray

options = {"include_dashboard": False, "object_store_memory": 10**8, "_temp_dir": sys.argv[1]}
ray.init("local", num_cpus=1, **options)
print("ready", flush=True)
sys.stdin.read()
"""


def listeners(members: dict[int, psutil.Process]) -> set[str]:
    """Addresses (without ports) on which processes listen."""
    found = set()
    for one in members.values():
        with suppress(psutil.Error):
            found |= {c.laddr.ip for c in one.net_connections("tcp") if c.status == "LISTEN"}
    return found


def held(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Run code in a new process until it says that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if "ready" not in line:
        end(process)
        pytest.fail(f"it said {line!r}, {process.communicate()[1]}")
    return process


def test_with_the_setting_everything_listens_on_loopback(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (ray_auth.TOKEN, ray_auth.TOKEN_PATH, ray_auth.MODE):
        monkeypatch.delenv(name, raising=False)
    process = held(HELD)
    try:
        members = family(process.pid)
        names = {one.name() for one in members.values()}
        assert {"raylet", "gcs_server"} <= names and any("Actor" in name for name in names), names
        assert any("RuntimeEnv" in name for name in names), names
        found = listeners(members)
        assert found and found <= set(LOOPBACK), found
        if shutil.which("ss"):
            said = as_ss_says(set(members))
            assert said and said <= set(LOOPBACK), said
        [token] = raylet_tokens(members)
        assert len(token) == 64 and token_of(psutil.Process(process.pid)) is None
        process.communicate(timeout=60)
        assert process.returncode == 0 and not (tmp_path / ".ray").exists()
    finally:
        end(process)


def test_ray_still_needs_the_setting():
    """If this fails, Ray listens on loopback by itself: the variable can go."""
    folder = Path(tempfile.mkdtemp(prefix="plain-", dir="/tmp"))  # short, for sockets
    process = held(PLAIN, str(folder))
    try:
        members = family(process.pid)
        assert listeners(members) - set(LOOPBACK)
        process.communicate(timeout=60)
    finally:
        end(process)
        for one in members.values():
            with suppress(psutil.Error):
                one.kill()
        shutil.rmtree(folder, ignore_errors=True)


def token_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(ray_auth.TOKEN)
    except psutil.Error:
        return None


def raylet_tokens(members: dict[int, psutil.Process]) -> set[str]:
    found = set()
    for one in members.values():
        with suppress(psutil.Error):
            if one.name() == "raylet" and (token := token_of(one)):
                found.add(token)
    return found


def holding(folder: Path, secret: str) -> list[Path]:
    """Files below a folder that contain a text."""
    found = []
    for path in folder.rglob("*"):
        with suppress(OSError):
            if path.is_file() and secret.encode() in path.read_bytes():
                found.append(path)
    return found


def test_a_sweeps_token_is_in_no_file_and_not_with_wandb(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv(ray_auth.TOKEN, token := secrets.token_hex(32))
    folder = tmp_path / "work"
    folder.mkdir()
    given = ["+grid=quickstart", "grid.T=[1e4,3e6]", "grid.replicates=40", "runtime.actors=2"]
    process = start([*given, "runtime.block=1", "tracking=offline"], folder)
    wandb: list[str | None] = []
    try:
        rows = folder / "results" / "rows"
        wait_for(lambda: rows.is_dir() and any(rows.iterdir()))
        members = family(process.pid)
        assert raylet_tokens(members) == {token}
        for one in members.values():
            with suppress(psutil.Error):
                if "sweep.tracking.process" in one.cmdline():
                    wandb.append(token_of(one))
        assert wandb == [None]
        [session] = Path("/tmp").glob(f"sweep-ray-{process.pid}-*")
        assert session.stat().st_mode & 0o077 == 0
        assert holding(session, token) == []
        for one in members.values():
            with suppress(psutil.Error):
                assert token not in " ".join(one.cmdline())
        status, out, err = finish(process)
    finally:
        end(process)
    assert status == 0 and token not in out + err
    assert holding(folder, token) == []
    assert not (home / ".ray").exists()


def test_the_token_in_use_and_a_warning_where_others_can_read_it(tmp_path, monkeypatch):
    path = tmp_path / ".ray" / "auth_token"
    path.parent.mkdir()
    path.write_text("secret\n")
    path.chmod(0o644)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in (ray_auth.TOKEN, ray_auth.TOKEN_PATH):
        monkeypatch.delenv(name, raising=False)
    assert ray_auth.configured_token() == "secret"
    assert ray_auth.exposed_file() == f"others can read Ray's token: chmod 600 {path}"
    drawn: Callable[[], str] = ray_auth.local_token.__wrapped__
    assert drawn() not in ("secret", drawn())
    path.chmod(0o600)
    assert ray_auth.exposed_file() is None and drawn() == "secret"
    monkeypatch.setenv(ray_auth.TOKEN, "mine")
    path.chmod(0o644)
    assert ray_auth.exposed_file() is None and drawn() == "mine"
    monkeypatch.delenv(ray_auth.TOKEN)
    monkeypatch.setenv(ray_auth.TOKEN_PATH, str(tmp_path / "absent"))
    assert ray_auth.configured_token() is None
