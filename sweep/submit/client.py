"""What `sweep.submit` asks of a Ray dashboard, each request bounded in time."""

from __future__ import annotations

import glob
import logging
import shlex
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import requests

from algos.errors import InputError, Words
from sweep.engine import ray_auth

CONNECT, READ = 5.0, 30.0  # seconds without a connection, and without a byte
STREAM_SECONDS = 3600  # that Ray may take to send one file
DASHBOARD = "the address of a Ray dashboard, such as http://HOST:8265"


class Lost(Exception):
    """The dashboard did not answer; it may again."""


class Dashboard:
    """The dashboard at `address`, asked with the configured token if it wants one.

    Raises:
        InputError: nobody answers, what answers is no Ray dashboard, it refuses the token, or it
            runs another version of Ray.
    """

    def __init__(self, address: str) -> None:
        self.address = _url(address)
        self.headers: dict[str, str] = {}
        try:
            answer = self._get("/api/version")
            token = ray_auth.configured_token()
            if answer.status_code == 401 and token:
                self.headers = {"Authorization": f"Bearer {token}"}
                answer = self._get("/api/version")
        except Lost as error:
            raise InputError("--address", address, f"{DASHBOARD} ({error})") from None
        if answer.status_code in (401, 403):
            had = "another token than yours" if self.headers else "a token"
            raise InputError(
                "--address",
                address,
                f"a cluster that lets you in; it wants {had}: {ray_auth.WHERE}",
            )
        version = None
        with suppress(ValueError, TypeError, KeyError):
            version = str(answer.json()["ray_version"])
        if version is None:
            raise InputError("--address", address, f"{DASHBOARD} (what answers there is none)")
        _check_version(version)

    @property
    def warning(self) -> str | None:
        """A line about a token in use that others can read."""
        return ray_auth.exposed_file() if self.headers else None

    def client(self) -> Any:
        """Ray's own client, for submitting and for following the log."""
        # Not before it is needed: importing Ray takes a second.
        from sweep.engine.ray_session import ray  # noqa: F401, I001
        from ray.job_submission import JobSubmissionClient

        logging.getLogger("ray").setLevel(logging.ERROR)
        for name in ("dashboard_sdk", "job.sdk"):
            logging.getLogger(f"ray.dashboard.modules.{name}").setLevel(logging.ERROR)
        logging.getLogger("ray._private.runtime_env.packaging").setLevel(logging.ERROR)
        # They would override the address.
        with ray_auth.environment(RAY_ADDRESS=None, RAY_API_SERVER_ADDRESS=None):
            try:
                return JobSubmissionClient(self.address, headers=dict(self.headers))
            except (ConnectionError, requests.RequestException) as error:
                raise Lost(reason(error)) from None

    def job(self, job: str) -> dict[str, Any] | None:
        """What the cluster knows of a job; None for a job it does not know.

        Raises:
            Lost: no answer.
        """
        answer = self._get(f"/api/jobs/{job}")
        if answer.status_code == 404:
            return None
        return dict(self._read(answer))

    def file(self, node: str, name: str) -> Iterator[bytes] | None:
        """The bytes of a file below the log folder of a node; None where there is no such file.

        The requests are those of `ray.util.state.list_logs` and `get_log`, which themselves find
        the dashboard through a port that need not be reachable from here.

        Raises:
            Lost: no answer.
        """
        # Asked for a file that is not there, a busy Ray sends an empty one instead of an error.
        query: dict[str, Any] = {"node_id": node, "glob": glob.escape(name)}
        listed = self._read(self._get("/api/v0/logs", params=query))["data"]["result"]
        if not any(name in names for names in listed.values()):
            return None
        query = {"node_id": node, "filename": name, "lines": -1, "timeout": STREAM_SECONDS}
        answer = self._get("/api/v0/logs/file", params=query, stream=True)
        return self._chunks(self._checked(answer))

    @staticmethod
    def _chunks(answer: requests.Response) -> Iterator[bytes]:
        try:
            with answer:
                yield from answer.iter_content(1 << 20)
        except requests.RequestException as error:
            raise Lost(reason(error)) from None

    def _checked(self, answer: requests.Response) -> requests.Response:
        if answer.status_code in (401, 403):
            raise InputError(
                "--address", self.address, f"a cluster that lets you in: {ray_auth.WHERE}"
            )
        if answer.status_code != 200:
            raise Lost(f"status {answer.status_code}")
        return answer

    def _read(self, answer: requests.Response) -> Any:
        try:
            return self._checked(answer).json()
        except ValueError:  # something between here and there that says 200 for everything
            raise Lost("an answer that is not Ray's") from None

    def _get(self, path: str, **options: Any) -> requests.Response:
        try:
            return requests.get(
                self.address + path, headers=self.headers, timeout=(CONNECT, READ), **options
            )
        except requests.RequestException as error:
            raise Lost(reason(error)) from None


def _url(address: str) -> str:
    url = address if "://" in address else f"http://{address}"
    scheme, _, host = url.partition("://")
    # Ray would import a module named by any other scheme.
    if scheme not in ("http", "https") or not host.strip("/"):
        raise InputError("--address", address or Words("nothing"), DASHBOARD)
    return url.rstrip("/")


def _check_version(version: str) -> None:
    from importlib.metadata import version as installed

    ours = installed("ray")
    if version.split(".")[:2] != ours.split(".")[:2]:
        raise InputError("--address", Words(f"a cluster of Ray {version}"), f"Ray {ours}, as here")


def reason(error: BaseException) -> str:
    """Why a connection failed, in a few words."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, OSError) and seen.strerror:
            return seen.strerror
        inner = seen.args[0] if seen.args and isinstance(seen.args[0], BaseException) else None
        seen = inner or getattr(seen, "reason", None) or seen.__cause__ or seen.__context__
        if not isinstance(seen, BaseException):
            break
    text = type(error).__name__
    words = {
        "ConnectTimeout": "no answer",
        "ReadTimeout": "no answer",
        "ConnectionError": "no answer",
    }
    return words.get(text, text)


def command(address: str, *more: str) -> str:
    """The command line of `sweep.submit` for a cluster."""
    return shlex.join(["python", "-m", "sweep.submit", "--address", address, *more])
