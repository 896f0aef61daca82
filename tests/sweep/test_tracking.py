"""Tracking with the real client against a server on the loopback interface."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image
from wandb_endpoint import Endpoint, endpoint

from sweep.tracking import MAX_RUNS, Mode, RunSpec, Tracker, resolve_mode
from sweep.tracking import tracker as tracking
from sweep.tracking.items import allowed
from sweep.tracking.ledger import Ledger
from sweep.tracking.process import ORPHAN_SECONDS

KEY = "5ecre7c0ffee42" * 3
ID = "eps_transition-3f2a90bc"
SERIES = [
    RunSpec("s0", "adap_ucb K=2", {"algorithm": "adap_ucb", "K": 2}),
    RunSpec("s1", "adap_ucb T", {"algorithm": "adap_ucb"}, x_axis="T", job_type="cell"),
]
REFUSED = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No W&B settings of the machine or of the user who runs the tests."""
    for name in [name for name in os.environ if name.startswith("WANDB_") or name == "NETRC"]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.chdir(home)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with endpoint() as running:
        monkeypatch.setenv("WANDB_BASE_URL", running.url)
        monkeypatch.setenv("WANDB_API_KEY", KEY)
        yield running


def start(folder: Path, mode: Mode) -> Tracker:
    return Tracker(mode, folder, ID, {"grid": {"K": [2], "epsilon": [0.1, 1.0]}}, SERIES)


def send(tracker: Tracker, count: int = 40) -> None:
    """Progress, and `count` points of each series, the same at every call."""
    for step in range(1, 4):
        tracker.progress(step, {"cells": step, "rounds_per_second": 1e9})
    for run in SERIES:
        rows = [
            {run.x_axis: index + 1.0, "regret": 3.0 * index, "regret_low": None, "replicates": 20}
            for index in range(count)
        ]
        tracker.points(run.id, rows)


def check_arrived(server: Endpoint, count: int = 40) -> None:
    """Every point and every step of the progress is there, once and in its order."""
    for run in SERIES:
        rows = server.rows(f"{ID}-{run.id}")
        assert [row[run.x_axis] for row in rows] == [index + 1.0 for index in range(count)]
        assert [row["regret"] for row in rows] == [3.0 * index for index in range(count)]
        assert [row["_step"] for row in rows] == list(range(count))
    steps = [row["step"] for row in server.rows(ID) if "cells" in row]
    assert steps == [1, 2, 3]


def upload(note: str) -> None:
    """Run the command of a note."""
    command = shlex.split(note.split("upload with: ")[1])
    assert command[:2] == ["wandb", "sync"]
    subprocess.run([sys.executable, "-m", *command], check=True, timeout=60, capture_output=True)


def descendants() -> list[psutil.Process]:
    """This process's, without Python's own helper that lives as long as it does."""
    found = psutil.Process().children(recursive=True)
    return [
        one for one in found if "multiprocessing.resource_tracker" not in " ".join(one.cmdline())
    ]


def wait_until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return value


def service_started() -> bool:
    return any("wandb-core" in process.name() for process in descendants())


def assert_gone(processes: list[psutil.Process], seconds: float = 5.0) -> None:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    assert not alive


def test_offline_points_are_uploaded_once_by_the_command_of_the_note(
    tmp_path: Path, server: Endpoint
) -> None:
    first = start(tmp_path / "sweep", "offline")
    send(first, 15)
    first.close(20)
    assert not server.operations
    again = start(tmp_path / "sweep", "offline")
    send(again, 40)
    note = again.close(20)
    upload(note)
    check_arrived(server)
    nothing_new = start(tmp_path / "sweep", "offline")
    send(nothing_new, 40)
    assert nothing_new.close(20) == "W&B: nothing to log"


def test_online_points_arrive_once_over_two_starts(tmp_path: Path, server: Endpoint) -> None:
    folder = tmp_path / "sweep"
    tracker = start(folder, "online")
    send(tracker)
    wait_until(service_started)
    processes = descendants()
    for process in processes:
        if "wandb-core" not in process.name():
            process.send_signal(signal.SIGINT)
    assert server.url + "/tester/dp-bandits/runs/" + ID in tracker.close(30)
    assert_gone(processes)
    check_arrived(server)

    again = start(folder, "online")
    send(again, 41)
    assert again.close(30) == f"W&B: {server.url}/tester/dp-bandits/runs/{ID}"
    check_arrived(server, 41)
    assert all(server.runs[name].received == len(server.rows(name)) for name in server.runs)

    own, cell = server.runs[ID].fields, server.runs[f"{ID}-s1"].fields
    assert own["groupName"] == cell["groupName"] == ID
    assert (own["jobType"], cell["jobType"]) == ("sweep", "cell")
    assert json.loads(own["config"])["grid"]["value"]["K"] == [2]
    assert cell["displayName"] == "adap_ucb T"
    assert own["program"] == "sweep" and "host" not in own
    for file in folder.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


def test_results_are_published_once(tmp_path: Path, server: Endpoint) -> None:
    table = tmp_path / "slopes.csv"
    table.write_text("algorithm,K,slope\nadap_ucb,2,1.5\ndp_se,2,\n")
    figure = tmp_path / "regret.png"
    Image.new("L", (2, 2)).save(figure)
    for _ in range(2):
        tracker = start(tmp_path / "sweep", "online")
        tracker.publish({"slopes": table}, [figure], {"report.html": table})
        assert tracker.close(30) == f"W&B: {server.url}/tester/dp-bandits/runs/{ID}"
    rows = [[key for key in row if "/" in key] for row in server.rows(ID)]
    assert rows == [["tables/slopes"], ["figures/regret"]]
    assert server.rows(ID)[0]["tables/slopes"]["nrows"] == 2
    mine = [made for made in server.artifacts if made["artifactTypeName"] == "sweep"]
    assert len(mine) == 1
    table.write_text("algorithm,K,slope\nadap_ucb,2,1.6\n")
    tracker = start(tmp_path / "sweep", "online")
    tracker.publish({"slopes": table}, [figure], {})
    tracker.close(30)
    assert len(server.rows(ID)) == 3


def test_unreadable_result_is_named_and_loses_nothing_else(
    tmp_path: Path, server: Endpoint
) -> None:
    tracker = start(tmp_path / "sweep", "online")
    tracker.publish({"slopes": tmp_path / "missing.csv"}, [], {})
    send(tracker)
    note = tracker.close(30)
    assert "missing.csv" in note
    check_arrived(server)


@pytest.mark.parametrize(
    "answer", ["hang", "refused", pytest.param("error", marks=pytest.mark.slow)]
)
def test_server_out_of_order_keeps_points_offline(
    tmp_path: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    if answer == "refused":
        monkeypatch.setenv("WANDB_BASE_URL", REFUSED)
    else:
        server.answer = answer
    tracker = start(tmp_path / "sweep", "online")
    send(tracker)
    wait_until(service_started)
    processes = descendants()
    begin = time.monotonic()
    note = tracker.close(6)
    assert time.monotonic() - begin < 6 + 3  # the bound close promises, not a speed
    assert "the server did not answer in time" in note
    assert_gone(processes)
    assert not descendants()
    server.answer = "ok"
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    upload(note)
    check_arrived(server)


def test_server_that_falls_silent_keeps_points_offline(tmp_path: Path, server: Endpoint) -> None:
    tracker = start(tmp_path / "sweep", "online")
    tracker.progress(1, {"cells": 1.0})
    assert server.wait_for("UpsertBucket")
    wait_until(lambda: (tmp_path / "sweep" / "tracking.json").exists())
    server.answer = "hang"
    send(tracker)
    note = tracker.close(6)
    assert not descendants()
    server.answer = "ok"
    upload(note)
    for run in SERIES:
        values = [row[run.x_axis] for row in server.rows(f"{ID}-{run.id}")]
        assert values == [index + 1.0 for index in range(40)]


def test_wrong_key_keeps_points_offline(
    tmp_path: Path, server: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "short")
    tracker = start(tmp_path / "sweep", "online")
    send(tracker)
    note = tracker.close(20)
    assert "WANDB_API_KEY invalid" in note and "short" not in note
    monkeypatch.setenv("WANDB_API_KEY", KEY)
    upload(note)
    check_arrived(server)


def test_hung_client_is_ended(tmp_path: Path, server: Endpoint) -> None:
    tracker = start(tmp_path / "sweep", "online")
    send(tracker)
    wait_until(service_started)
    processes = descendants()
    for process in processes:
        process.suspend()
    begin = time.monotonic()
    note = tracker.close(1.5)
    assert time.monotonic() - begin < 1.5 + 3  # the bound close promises, not a speed
    assert "did not finish within 1.5 s" in note and "wandb sync" in note
    assert_gone(processes)
    assert tracker.close(1.5) == note


def test_client_that_dies_is_reported(tmp_path: Path, server: Endpoint) -> None:
    tracker = start(tmp_path / "sweep", "offline")
    wait_until(descendants)
    os.kill(descendants()[0].pid, signal.SIGKILL)
    for step in range(2000):
        tracker.progress(step, {"cells": 1.0})
    assert "stopped early" in tracker.close(5)


SWEEP = """
import sys, time
from pathlib import Path
from test_tracking import send, start
tracker = start(Path(sys.argv[1]), "online")
send(tracker)
print("sent", flush=True)
time.sleep(120)
"""


@pytest.mark.parametrize("answer", ["ok", pytest.param("hang", marks=pytest.mark.slow)])
def test_killed_sweep_leaves_no_process(tmp_path: Path, server: Endpoint, answer: str) -> None:
    server.answer = answer
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")])
    sweep = subprocess.Popen(
        [sys.executable, "-c", SWEEP, str(tmp_path / "sweep")],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
    )
    try:
        assert sweep.stdout is not None and sweep.stdout.readline() == b"sent\n"
        wait_until(service_started)
        processes = psutil.Process(sweep.pid).children(recursive=True)
        assert len(processes) >= 2
    finally:
        sweep.kill()
        sweep.wait(10)
        sweep.stdout.close()  # type: ignore[union-attr]
    assert_gone(processes, ORPHAN_SECONDS + 15)
    if answer == "ok":
        check_arrived(server)


def test_listens_and_talks_on_the_loopback_interface_only(tmp_path: Path, server: Endpoint) -> None:
    tracker = start(tmp_path / "sweep", "online")
    send(tracker)
    peers: set[str] = set()
    deadline = time.monotonic() + 20
    while not (f"{ID}-s1" in server.runs and peers) and time.monotonic() < deadline:
        for process in descendants():
            try:
                connections = process.net_connections("inet")
            except psutil.Error:
                continue
            for connection in connections:
                for address in filter(None, (connection.laddr, connection.raddr)):
                    peers.add(address.ip)
    tracker.close(30)
    assert peers and peers <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_the_same_sweep_is_tracked_by_one_process(tmp_path: Path) -> None:
    first, second = start(tmp_path, "offline"), start(tmp_path, "offline")
    send(second)
    assert "by another process" in second.close(20.0)
    send(first)
    assert "wandb sync" in first.close(20.0)
    third = start(tmp_path, "offline")
    assert "by another process" not in third.close(20.0)


def test_none_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracking.subprocess, "Popen", None)
    tracker = start(tmp_path / "sweep", "none")
    send(tracker)
    tracker.publish({}, [], {"a": tmp_path / "missing"})
    assert tracker.close(0.0) == "W&B: off"
    assert not (tmp_path / "sweep").exists()


def test_client_that_cannot_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking.sys, "executable", str(tmp_path / "missing"))
    tracker = start(tmp_path / "sweep", "offline")
    send(tracker)
    assert "missing" in tracker.close(1.0)


def test_damaged_ledger_logs_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "tracking.json").write_text('{"runs": ')
    tracker = start(tmp_path, "offline")
    send(tracker)
    assert "tracking.json" in tracker.close(20)
    assert not (tmp_path / "wandb").exists()


def test_ledger_keeps_marks_and_the_largest_step(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "tracking.json")
    ledger.add("s0", ["a", "b"])
    ledger.add("", [7, 5])
    ledger.remove("s0", ["b"])
    ledger.save()
    again = Ledger(tmp_path / "tracking.json")
    assert again.has("s0", "a") and not again.has("s0", "b") and not again.has("s1", "a")
    assert again.has("", 6) and again.has("", 7) and not again.has("", 8)
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["tracking.json"]


def test_ids_are_allowed_and_distinct() -> None:
    assert allowed(ID) == ID
    names = ["a/b", "a-b", "a:b", "x" * 64, "x" * 65, "x" * 66, "mü ? # %"]
    made = [allowed(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(0 < len(name) <= 64 and not set(name) & set("/\\#?%: ,;'") for name in made)


def test_number_of_runs_is_bounded(tmp_path: Path) -> None:
    many = [RunSpec(str(index), "") for index in range(MAX_RUNS + 1)]
    with pytest.raises(ValueError, match="at most 16"):
        Tracker("none", tmp_path, ID, {}, many)
    with pytest.raises(ValueError, match="distinct"):
        Tracker("none", tmp_path, ID, {}, [many[0], many[0]])


@pytest.mark.parametrize(
    ("setting", "variables", "netrc", "settings", "mode"),
    [
        ("online", {"WANDB_MODE": "offline"}, "", "", "online"),
        ("offline", {"WANDB_API_KEY": KEY}, "", "", "offline"),
        ("none", {"WANDB_API_KEY": KEY}, "", "", "none"),
        ("auto", {}, "", "", "offline"),
        ("auto", {"WANDB_API_KEY": KEY}, "", "", "online"),
        ("auto", {"WANDB_API_KEY": KEY, "WANDB_MODE": "offline"}, "", "", "offline"),
        ("auto", {"WANDB_API_KEY": KEY, "WANDB_MODE": "dryrun"}, "", "", "offline"),
        ("auto", {"WANDB_API_KEY": KEY, "WANDB_MODE": "disabled"}, "", "", "none"),
        ("auto", {"WANDB_MODE": "online"}, "", "", "online"),
        ("auto", {}, "api.wandb.ai", "", "online"),
        ("auto", {}, "elsewhere.example", "", "offline"),
        ("auto", {"WANDB_BASE_URL": "http://wandb.example"}, "wandb.example", "", "online"),
        ("auto", {"WANDB_BASE_URL": "http://wandb.example"}, "api.wandb.ai", "", "offline"),
        ("auto", {}, "wandb.example", "base_url = http://wandb.example", "online"),
        ("auto", {"WANDB_API_KEY": KEY}, "", "mode = offline", "offline"),
    ],
)
def test_resolve_mode(
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    variables: dict[str, str],
    netrc: str,
    settings: str,
    mode: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    home = Path(os.environ["HOME"])
    if netrc:
        (home / ".netrc").write_text(f"machine {netrc}\n  login user\n  password {KEY}\n")
        (home / ".netrc").chmod(0o600)
    if settings:
        (home / ".config" / "wandb").mkdir(parents=True)
        (home / ".config" / "wandb" / "settings").write_text(f"[default]\n{settings}\n")
    assert resolve_mode(setting) == mode


@pytest.mark.parametrize(
    ("setting", "variable", "named"), [("of", "", "tracking='of'"), ("auto", "of", "WANDB_MODE")]
)
def test_resolve_mode_names_the_bad_value(
    monkeypatch: pytest.MonkeyPatch, setting: str, variable: str, named: str
) -> None:
    monkeypatch.setenv("WANDB_MODE", variable)
    with pytest.raises(ValueError, match=named):
        resolve_mode(setting)
