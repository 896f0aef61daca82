"""`python -m sweep.submit` against a real Ray head with its dashboard, token authentication on."""

from __future__ import annotations

import http.server
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
import requests
from commands import LIMIT, alive, rows, sweep, wait_for
from proxy import Proxy
from ray_nodes import free_ports

from algos.errors import InputError
from sweep.submit import __main__ as submit
from sweep.submit.client import Dashboard

SMALL = ("+grid=quickstart", "tracking=none", "grid.algorithm=[dp_se]", "grid.replicates=5")
LONG = ("+grid=quickstart", "tracking=none", "grid.T=[1e4,1e7]",
        "grid.algorithm=[dp_se,{name:thompson_beta,draws:all}]",
        "grid.replicates=10", "runtime.block=1")  # fmt: skip
RAY_VARIABLES = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE", "RAY_ADDRESS",
                 "RAY_API_SERVER_ADDRESS")  # fmt: skip


@dataclass(frozen=True)
class Head:
    """A Ray head: its dashboard, the token, the folder of its sessions and its user's home."""

    url: str
    gcs: str
    token: str
    folder: Path
    home: Path

    def environment(self) -> dict[str, str]:
        """Of a client that knows the token, and has a home without one."""
        inherited = {key: v for key, v in os.environ.items() if key not in RAY_VARIABLES}
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return inherited | {
            "HOME": str(self.home),
            "XDG_CACHE_HOME": cache,
            "RAY_AUTH_TOKEN": self.token,
        }

    def get(self, path: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return requests.get(self.url + path, headers=headers, timeout=30)


@pytest.fixture(scope="module")
def head(tmp_path_factory) -> Iterator[Head]:
    """A head on loopback with two CPUs; at the end each of its processes is ended by its id."""
    folder = Path(tempfile.mkdtemp(prefix="head-", dir="/tmp"))  # short, for sockets
    gcs, dashboard, agent, client = free_ports(4)
    found = Head(
        f"http://127.0.0.1:{dashboard}",
        f"127.0.0.1:{gcs}",
        secrets.token_hex(32),
        folder,
        tmp_path_factory.mktemp("home"),
    )
    bin_folder = str(Path(sys.executable).parent)
    environment = found.environment() | {
        "RAY_AUTH_MODE": "token",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "PATH": os.pathsep.join([bin_folder, os.environ["PATH"]]),
    }
    process = subprocess.Popen(
        [f"{bin_folder}/ray", "start", "--head", "--block", "--disable-usage-stats",
         "--node-ip-address=127.0.0.1", f"--port={gcs}", "--dashboard-host=127.0.0.1",
         f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}",
         f"--ray-client-server-port={client}", "--num-cpus=2", "--object-store-memory=100000000",
         f"--temp-dir={folder}"],
        env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_for(lambda: process.poll() is not None or _agents(found), 90)
        assert process.poll() is None
        yield found
    finally:
        started = [psutil.Process(process.pid)]
        started += started[0].children(recursive=True)
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=20)
        _, left = psutil.wait_procs(started, timeout=10)
        for one in left:
            with suppress(psutil.Error):
                one.kill()
        psutil.wait_procs(left, timeout=10)
        process.wait(timeout=10)
        assert not [one for one in started if alive(one)]
        shutil.rmtree(folder, ignore_errors=True)


def _agents(head: Head) -> bool:
    """Whether the dashboard answers and knows a node that runs jobs."""
    with suppress(requests.RequestException, ValueError, KeyError):
        nodes = head.get("/api/v0/nodes").json()["data"]["result"]["result"]
        return bool(nodes) and head.get("/api/jobs/").status_code == 200
    return False


class Client:
    """A running `python -m sweep.submit`; what it writes can be read while it runs."""

    def __init__(self, head: Head, arguments: Sequence[str], folder: Path) -> None:
        self.files = [Path(tempfile.mkstemp(dir=head.folder)[1]) for _ in range(2)]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "sweep.submit", *arguments],
                cwd=folder,
                env=head.environment(),
                stdout=out,
                stderr=err,
            )

    def out(self) -> str:
        return self.files[0].read_text()

    def err(self) -> str:
        return self.files[1].read_text()

    def wait_for(self, words: str) -> None:
        wait_for(lambda: words in self.out() or self.process.poll() is not None)
        assert words in self.out(), self.err()

    def finish(self) -> tuple[int, str, str]:
        """Exit status, standard output and standard error."""
        return self.process.wait(timeout=LIMIT), self.out(), self.err()

    def job(self) -> str:
        found = re.search(r"job (\S+); Ctrl-C", self.err())
        assert found, self.err()
        return found[1]


@pytest.fixture
def begin(head) -> Iterator[Callable[..., Client]]:
    """Starts clients; those that still run at the end are ended."""
    clients: list[Client] = []

    def start(arguments: Sequence[str], folder: Path) -> Client:
        clients.append(Client(head, arguments, folder))
        return clients[-1]

    yield start
    for client in clients:
        if client.process.poll() is None:
            client.process.kill()
            client.process.wait(timeout=10)


def test_a_job_runs_and_its_rows_come_back(head, begin, tmp_path):
    (tmp_path / "away").mkdir()
    process = begin(["--address", head.url, "--", *SMALL], tmp_path / "away")
    status, out, err = process.finish()
    assert status == 0, err + out
    assert "dp_se" in out and "report.html" in err
    (tmp_path / "here").mkdir()
    assert sweep(SMALL, tmp_path / "here")[0] == 0
    local, fetched = tmp_path / "here" / "results", tmp_path / "away" / "results"
    assert rows(fetched).equals(rows(local))
    [there], [here] = list((fetched / "sweeps").iterdir()), list((local / "sweeps").iterdir())
    assert there.name == here.name
    for name in ("manifest.parquet", "failures.parquet"):
        assert pq.read_table(there / name).equals(pq.read_table(here / name))
    on_head = head.home / "dp-bandit-sweep" / "results" / "sweeps" / there.name
    for path in (path for path in on_head.rglob("*") if path.is_file()):
        assert (there / path.relative_to(on_head)).read_bytes() == path.read_bytes()
    assert pq.ParquetDataset(fetched / "timings").read().num_rows
    assert not list(fetched.glob(".fetch*"))
    sent = head.get(f"/api/jobs/{process.job()}").json()["runtime_env"]
    assert len(sent["py_modules"]) == 4 and sent["working_dir"].startswith("gcs://")
    # The token is in no file of the client, the store or Ray.
    for folder in (tmp_path, head.home, head.folder):
        for path in (path for path in folder.rglob("*") if path.is_file()):
            assert head.token.encode() not in path.read_bytes(), path
    assert head.token not in out + err
    # The same command goes on where it was, and what is fetched again is there once.
    before = sorted(path.name for path in (fetched / "rows").iterdir())
    again = begin(["--address", head.url, "--attach", process.job()], tmp_path / "away")
    status, out, err = again.finish()
    assert status == 0 and "dp_se" in out
    assert sorted(path.name for path in (fetched / "rows").iterdir()) == before


@pytest.mark.slow
def test_failing_units_give_their_status(head, begin, tmp_path):
    shutil.copy(Path(__file__).with_name("coin_plugin.py"), tmp_path)
    arguments = ["+grid=quickstart", "plugins=[coin_plugin]", "grid.algorithm=[coin,crash]",
                 "grid.T=[1000]", "grid.epsilon=null", "grid.replicates=5", "tracking=none",
                 "store=other"]  # fmt: skip
    process = begin(["--address", head.url, "--into", "mine", "--", *arguments], tmp_path)
    status, out, err = process.finish()
    assert status == 1 and "1 units failed" in out and "out of luck" in out, err + out
    assert rows(tmp_path / "mine")["algorithm"].unique().to_pylist() == ["coin"]
    [folder] = (tmp_path / "mine" / "sweeps").iterdir()
    assert pq.read_table(folder / "failures.parquet").num_rows == 1
    assert (head.home / "dp-bandit-sweep" / "other" / "rows").is_dir()


def test_ctrl_c_detaches_a_cut_line_is_mended_and_attaching_fetches(head, begin, tmp_path):
    proxy = Proxy(int(head.url.rpartition(":")[2]))
    through = f"http://127.0.0.1:{proxy.port}"
    first = begin(["--address", head.url, "--", *LONG], tmp_path)
    try:
        first.wait_for("starting actors on Ray")
        first.process.send_signal(signal.SIGINT)
        status, _, err = first.finish()
        assert status == 130 and "Traceback" not in err, err
        job = first.job()
        assert f"--attach {job}" in err and "ray job stop" in err
        assert not (tmp_path / "results").exists()
        second = begin(["--address", through, "--attach", job], tmp_path)
        impatient = ["--address", through, "--attach", job, "--patience", "1"]
        third = begin(impatient, tmp_path)
        second.wait_for("cells ")
        third.wait_for("cells ")
        assert head.get(f"/api/jobs/{job}").json()["status"] == "RUNNING"
        proxy.cut()
        status, _, err = third.finish()
        assert status == 1 and "out of reach" in err and f"--attach {job}" in err, err
        proxy.listen(proxy.port)
        status, out, err = second.finish()
        assert status == 0, err
        assert err.count("connection lost") == 1
        log = head.get(f"/api/jobs/{job}/logs").json()["logs"]
        assert out == log and "report.html" in log
    finally:
        proxy.cut()
    (tmp_path / "here").mkdir()
    assert sweep(LONG, tmp_path / "here")[0] == 0
    assert rows(tmp_path / "results").equals(rows(tmp_path / "here" / "results"))


def test_any_bytes_come_through_the_dashboard_unchanged(head, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", head.token)
    [node] = head.get("/api/v0/nodes").json()["data"]["result"]["result"]
    dashboard = Dashboard(head.url)
    data = bytes(range(256)) * 1000 + b"\x1b[31m\r\n" + os.urandom(20_000_000)
    logs = (head.folder / "session_latest" / "logs").resolve()
    (logs / "sweeps").mkdir(exist_ok=True)
    for content in (data, b""):
        (logs / "sweeps" / "any.bin").write_bytes(content)
        chunks = dashboard.file(node["node_id"], "sweeps/any.bin")
        assert chunks is not None and b"".join(chunks) == content
    # More than once: Ray's answer to a request for the missing file itself is a matter of timing.
    for _ in range(500):
        assert dashboard.file(node["node_id"], "sweeps/none.bin") is None
    assert dashboard.job("nonesuch") is None


@pytest.mark.slow
def test_a_stopped_job_brings_what_it_has(head, begin, tmp_path):
    more = [*LONG, "grid.T=[1e4,1e8]", "grid.replicates=40"]
    process = begin(["--address", head.url, "--", *more], tmp_path)
    process.wait_for("starting actors on Ray")
    job = process.job()
    store = head.home / "dp-bandit-sweep" / "results" / "rows"
    had = len(list(store.glob("*.parquet")))
    wait_for(lambda: len(list(store.glob("*.parquet"))) > had)
    headers = {"Authorization": f"Bearer {head.token}"}
    requests.post(f"{head.url}/api/jobs/{job}/stop", headers=headers, timeout=60)
    status, out, err = process.finish()
    assert status == 1 and "stopped" in err, err
    assert "are kept in" in out
    assert rows(tmp_path / "results").num_rows > 0


def failing(monkeypatch, head: Head, arguments: Sequence[str], **environment: str | None) -> str:
    """The one line with which a command fails before anything is sent."""
    for name in RAY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(head.home))
    for name, value in environment.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    with pytest.raises(InputError) as caught:
        submit.main(arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_token_that_is_missing_or_wrong(head, tmp_path, monkeypatch):
    before = head.get("/api/jobs/").json()
    command = ["--address", head.url, "--", *SMALL]
    line = failing(monkeypatch, head, command)
    assert "it wants a token" in line and "RAY_AUTH_TOKEN" in line and "~/.ray/auth_token" in line
    line = failing(monkeypatch, head, command, RAY_AUTH_TOKEN="wrong")
    assert "another token than yours" in line
    assert head.get("/api/jobs/").json() == before


def test_a_cluster_is_joined_with_its_token_only(head, tmp_path):
    given = [*SMALL, "runtime=cluster", f"runtime.address={head.gcs}"]
    command = [sys.executable, "-m", "sweep", *given]
    token = tmp_path / "token"
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": LIMIT}
    for value, word in ((None, "wants a token"), ("wrong", "another token than yours")):
        environment = head.environment()
        del environment["RAY_AUTH_TOKEN"]
        if value:
            environment["RAY_AUTH_TOKEN"] = value
        done = subprocess.run(command, env=environment, **options)
        assert done.returncode == 2 and word in done.stderr and "RAY_AUTH_TOKEN" in done.stderr
        assert len(done.stderr.splitlines()) == 1 and not list(tmp_path.iterdir())
    token.write_text(head.token)
    token.chmod(0o644)
    environment = head.environment() | {"RAY_AUTH_TOKEN_PATH": str(token)}
    del environment["RAY_AUTH_TOKEN"]
    done = subprocess.run(command, env=environment, **options)
    assert done.returncode == 0, done.stderr
    assert f"chmod 600 {token}" in done.stderr and head.token not in done.stderr + done.stdout
    assert rows(tmp_path / "results").num_rows


@pytest.fixture
def other_server() -> Iterator[Callable[[object], str]]:
    """Starts web servers that answer everything with one piece of JSON; gives their addresses."""
    servers = []

    def begin_server(answer: object) -> str:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *unused: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield begin_server
    for server in servers:
        server.shutdown()
        server.server_close()


def test_other_addresses(head, other_server, monkeypatch):
    def line(address: str) -> str:
        return failing(monkeypatch, head, ["--address", address, "--", *SMALL])

    [port] = free_ports(1)
    assert "Connection refused" in line(f"127.0.0.1:{port}")
    assert "what answers there is none" in line(other_server(["hello"]))
    assert "a cluster of Ray 1.0.0" in line(other_server({"ray_version": "1.0.0"}))
    assert "http://HOST:8265" in line("ray://127.0.0.1:10001")
    silent = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr("sweep.submit.client.READ", 0.5)
    try:
        assert "no answer" in line(f"127.0.0.1:{silent.getsockname()[1]}")
    finally:
        silent.close()


BAD = [
    (["--", *SMALL, "grid.epsilon=[-1]"], "grid.epsilon: got -1"),
    (["--", "+grid=quickstrat"], "closest: quickstart"),
    (["--", *SMALL, "grid.algorithm=[adap_ukb]"], "closest: adap_ucb"),
    (["--", *SMALL, "-m"], "command line: got '-m'"),
    ([], "no overrides"),
    (["--attach", "a", "--", *SMALL], "--attach with overrides"),
    (["--into", "/dev/null/store", "--", *SMALL], "--into: got '/dev/null/store'"),
    (["--attach", "nonesuch"], "--attach: got 'nonesuch'"),
]


@pytest.mark.parametrize("arguments, words", BAD)
def test_bad_input_is_one_line_and_nothing_is_sent(head, monkeypatch, arguments, words):
    before = head.get("/api/jobs/").json()
    arguments = ["--address", head.url, *arguments]
    assert words in failing(monkeypatch, head, arguments, RAY_AUTH_TOKEN=head.token)
    assert head.get("/api/jobs/").json() == before
