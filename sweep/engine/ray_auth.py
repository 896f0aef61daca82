"""Ray's token authentication: which token a session uses, and whether a cluster takes it.

Ray reads a token from RAY_AUTH_TOKEN, else from the file RAY_AUTH_TOKEN_PATH, else from
~/.ray/auth_token, once per process; whoever has it can run code as the user who started Ray.
"""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal

import grpc

TOKEN, TOKEN_PATH, MODE = "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"
WHERE = f"set {TOKEN}, or write it to ~/.ray/auth_token"
PROBE_SECONDS = 5.0
# Ray's own liveness check, which every version with authentication has.
PROBE = "/ray.rpc.NodeInfoGcsService/CheckAlive"


@contextmanager
def environment(**changes: str | None) -> Iterator[None]:
    """Set variables of this process for a while; None removes one."""
    before = {name: os.environ.get(name) for name in changes}
    try:
        _apply(changes)
        yield
    finally:
        _apply(before)


def _apply(values: dict[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def token_file() -> Path:
    """The file that Ray would read a token from."""
    return Path(os.environ.get(TOKEN_PATH) or Path.home() / ".ray" / "auth_token")


def configured_token() -> str | None:
    """The user's token, from where Ray would take it; None where there is none."""
    if found := os.environ.get(TOKEN):
        return found
    with suppress(OSError, UnicodeDecodeError):
        return token_file().read_text(encoding="utf-8").strip() or None
    return None


def exposed_file() -> str | None:
    """A line that says how to close the token file in use, if others can read it."""
    if os.environ.get(TOKEN):
        return None
    path = token_file()
    with suppress(OSError):
        if path.stat().st_mode & 0o077:
            return f"others can read Ray's token: chmod 600 {shlex.quote(str(path))}"
    return None


@cache
def local_token() -> str:
    """The token of this process's local Rays: the user's, or a random one that no file holds.

    One per process, because Ray keeps the first that it reads; so a process that runs a local
    sweep can join the user's cluster next. A token that others can read is not used.
    """
    return (configured_token() if exposed_file() is None else None) or secrets.token_hex(32)


Answer = Literal["open", "token", "refused", "silent", "unknown"]


def probe(address: str) -> Answer:
    """What the Ray at `address` (HOST:PORT) does with callers.

    Returns:
        open: takes anybody; token: takes the configured token; refused: wants another token;
        silent: does not answer; unknown: answers otherwise, so let Ray find out.
    """
    if os.environ.get("RAY_USE_TLS", "0") not in ("", "0"):
        return "unknown"
    with grpc.insecure_channel(address) as channel:
        check = channel.unary_unary(PROBE)
        code = _call(check, None)
        if code is grpc.StatusCode.UNAUTHENTICATED:
            token = configured_token()
            code = _call(check, token) if token else code
            if code is grpc.StatusCode.OK:
                return "token"
            if code is grpc.StatusCode.UNAUTHENTICATED:
                return "refused"
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return "silent"
    return "open" if code is grpc.StatusCode.OK else "unknown"


def _call(check: grpc.UnaryUnaryMultiCallable, token: str | None) -> grpc.StatusCode:
    metadata = [("authorization", f"Bearer {token}")] if token else None
    try:
        check(b"", timeout=PROBE_SECONDS, metadata=metadata)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK
