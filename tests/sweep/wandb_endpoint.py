"""A small W&B server on the loopback interface, for tests of the tracking.

It answers the GraphQL operations and the file stream that the real client needs to create,
resume and finish a run, keeps what arrives, and can refuse to answer on demand.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_OPERATION = re.compile(r"\b(?:query|mutation)\s+(\w+)")
_STREAM = re.compile(r"/files/[^/]+/([^/]+)/([^/]+)/file_stream")


@dataclass
class Run:
    """What the server holds of one run; the history is a list of lines, as W&B stores it."""

    project: str
    fields: dict[str, Any] = field(default_factory=dict)
    lines: dict[int, str] = field(default_factory=dict)
    received: int = 0
    complete: bool = False

    def history(self) -> list[dict[str, Any]]:
        """Rows of the history in the order of their offsets."""
        return [json.loads(self.lines[offset]) for offset in sorted(self.lines)]


class Endpoint:
    """The server. `answer` is ok, hang (accepts, never answers) or error (HTTP 500)."""

    def __init__(self) -> None:
        self.answer = "ok"
        self.operations: list[str] = []
        self.runs: dict[str, Run] = {}
        self.uploads: list[str] = []
        self.artifacts: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, reply = endpoint._reply(self.command, self.path, body)
                payload = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_PUT = _serve

            def log_message(self, format: str, *args: object) -> None:
                """Stay silent."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that was ended in the middle of a request is part of the tests."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let the hanging requests go and stop listening."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def rows(self, run_id: str) -> list[dict[str, Any]]:
        """History rows of a run; empty when the run never arrived."""
        with self._lock:
            return self.runs[run_id].history() if run_id in self.runs else []

    def wait_for(self, operation: str, seconds: float = 20.0) -> bool:
        """Whether a GraphQL operation of that name arrived within the time."""
        deadline = time.monotonic() + seconds
        while operation not in self.operations:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def _reply(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        request: dict[str, Any] = {}
        if path == "/graphql":
            request = json.loads(body)
            match = _OPERATION.search(request["query"])
            with self._lock:
                self.operations.append(match.group(1) if match else "")
        if self.answer == "hang":
            self._closing.wait()
            return 503, {}
        if self.answer == "error":
            return 500, {"error": "out of order"}
        with self._lock:
            if path == "/graphql":
                return self._graphql(self.operations[-1], request.get("variables") or {})
            if stream := _STREAM.fullmatch(path):
                return self._file_stream(stream.group(2), json.loads(body))
            if method == "PUT":
                self.uploads.append(path)
            return 200, {}

    def _graphql(self, operation: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation == "Viewer":
            data: dict[str, Any] = {
                "viewer": {"id": "viewer", "entity": "tester", "username": "tester", "flags": "{}"}
            }
        elif operation == "ServerFeaturesQuery":
            data = {"serverInfo": {"features": []}}
        elif operation == "RunResumeStatus":
            data = {"model": self._project(given["project"])}
            run = self.runs.get(given["name"])
            data["model"]["bucket"] = None if run is None else self._resume(given["name"], run)
        elif operation == "UpsertBucket":
            known = given["name"] in self.runs
            run = self.runs.setdefault(given["name"], Run(given["project"] or "uncategorized"))
            run.fields.update({key: value for key, value in given.items() if value is not None})
            bucket = {
                "id": given["name"],
                "name": given["name"],
                "displayName": run.fields.get("displayName") or given["name"],
                "description": "",
                "config": run.fields.get("config", "{}"),
                "sweepName": None,
                "project": self._project(run.project),
                "historyLineCount": len(run.lines),
            }
            data = {"upsertBucket": {"bucket": bucket, "inserted": not known}}
        elif operation == "CreateRunFiles":
            files = [
                {"name": name, "uploadUrl": f"{self.url}/upload/{given['run']}/{name}"}
                for name in given["files"]
            ]
            data = {"createRunFiles": {"runID": given["run"], "uploadHeaders": [], "files": files}}
        elif operation == "ArtifactType":
            data = {"project": {"artifact": None}}
        elif operation == "CreateArtifact":
            # A committed artifact is one the server has already: no file has to follow.
            self.artifacts.append(given["input"])
            created = {"id": "artifact", "state": "COMMITTED", "artifactSequence": {}}
            data = {"createArtifact": {"artifact": created}}
        else:
            return 200, {"errors": [{"message": f"unknown operation {operation}"}], "data": None}
        return 200, {"data": data}

    @staticmethod
    def _project(name: str) -> dict[str, Any]:
        return {"id": name, "name": name, "entity": {"id": "tester", "name": "tester"}}

    @staticmethod
    def _resume(name: str, run: Run) -> dict[str, Any]:
        tail = run.history()[-1:]
        return {
            "id": name,
            "name": name,
            "summaryMetrics": "{}",
            "displayName": run.fields.get("displayName") or name,
            "logLineCount": 0,
            "historyLineCount": len(run.lines),
            "eventsLineCount": 0,
            "historyTail": json.dumps([json.dumps(row) for row in tail]),
            "eventsTail": "[]",
            "config": run.fields.get("config", "{}"),
            "tags": [],
            "notes": None,
            "wandbConfig": json.dumps({"t": {}}),
        }

    def _file_stream(self, name: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        run = self.runs[name]
        history = (body.get("files") or {}).get("wandb-history.jsonl")
        if history:
            run.received += len(history["content"])
            for index, line in enumerate(history["content"]):
                run.lines[history["offset"] + index] = line
        run.complete = run.complete or bool(body.get("complete"))
        return 200, {}


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """A running `Endpoint`, stopped at the end."""
    server = Endpoint()
    try:
        yield server
    finally:
        server.close()
