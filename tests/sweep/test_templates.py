"""The templates for SLURM and KubeRay, as far as one machine can check them."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from commands import alive, rows, wait_for

import sweep

TEMPLATES = Path(sweep.__file__).parent / "templates"
CONSTRAINTS = Path(__file__).parents[2] / "constraints.txt"
SBATCH = TEMPLATES / "sweep.sbatch"
GIVEN = ["+grid=quickstart", "tracking=none", "grid.algorithm=[dp_se]", "grid.replicates=3"]

# What the stubs share: each writes its name, arguments and Ray's variables as a line of JSON.
RECORD = """#!{python}
import json, os, sys, time
name, given = os.path.basename(sys.argv[0]), sys.argv[1:]
ray = {{key: value for key, value in os.environ.items() if key.startswith("RAY_")}}
calls = {calls!r}
with open(calls, "a") as file:
    print(json.dumps([name, given, ray, os.umask(0o077)]), file=file)
"""
SCONTROL = """print("node1\\nnode2\\nnode3")"""
# As srun does, it hands signals on and ends with what it started.
SRUN = """
command = given[next(i for i, word in enumerate(given) if not word.startswith("-")):]
if command[0] == "hostname":
    print("127.0.0.1 ::1")
    sys.exit()
os.execvp(command[0], command)
"""
RAY = """
if given[0] == "health-check":
    sys.exit()
time.sleep(600)
"""
PYTHON = """
import signal, subprocess
if given[0] == "-c":
    sys.exit(subprocess.call([{python!r}, *given]))
if given[0] == "-":
    while "JOIN" not in os.environ and open(calls).read().count('["ray", ["start"') < int(given[2]):
        time.sleep(0.05)
    sys.exit(int(os.environ.get("JOIN", "0")))
def stop(*unused):
    sys.exit(130)
signal.signal(signal.SIGTERM, stop)
print("sweeping", flush=True)
if "STATUS" in os.environ:
    sys.exit(int(os.environ["STATUS"]))
time.sleep(600)
"""


@pytest.fixture
def allocation(tmp_path):
    """A folder of stand-ins for SLURM, Ray and Python, and the list of the calls they got."""
    calls, folder = tmp_path / "calls", tmp_path / "bin"
    folder.mkdir()
    stubs = {"scontrol": SCONTROL, "srun": SRUN, "ray": RAY, "python": PYTHON}
    for name, body in stubs.items():
        text = RECORD.format(python=sys.executable, calls=str(calls))
        path = folder / name
        path.write_text(text + body.replace("{python!r}", repr(sys.executable)))
        path.chmod(0o755)
    return folder, calls


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    return kept | {
        "PATH": os.pathsep.join([str(folder), os.environ["PATH"]]),
        "SLURM_JOB_NODELIST": "node[1-3]",
        "SLURM_CPUS_ON_NODE": "2",
        **more,
    }


def recorded(calls: Path) -> list[tuple[str, list[str], dict[str, str], int]]:
    return [json.loads(line) for line in calls.read_text().splitlines()]


def shellcheck() -> str:
    beside = Path(sys.executable).with_name("shellcheck")
    return str(beside) if beside.exists() else shutil.which("shellcheck") or "shellcheck"


def test_shellcheck_finds_nothing():
    done = subprocess.run([shellcheck(), str(SBATCH)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("status", [0, 1, 2])
def test_the_sbatch_script_starts_ray_then_the_sweep_and_gives_its_status(allocation, status):
    folder, calls = allocation
    command = ["bash", str(SBATCH), *GIVEN, "store=/shared/a b"]
    variables = environment(folder, STATUS=str(status))
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    found = recorded(calls)
    names = [name for name, *_ in found]
    assert names[0] == "scontrol" and names.index("ray") < len(names) - 1
    # Each node has one step; the head is the first node's.
    steps = [given for name, given, *_ in found if name == "srun" and "hostname" not in given]
    nodes = [word for given in steps for word in given if word.startswith("--nodelist=")]
    assert sorted(nodes) == [f"--nodelist=node{i}" for i in (1, 2, 3)]
    assert all("--head" in given for given in steps if "--nodelist=node1" in given)
    starts = [given for name, given, *_ in found if name == "ray" and given[0] == "start"]
    [head] = [given for given in starts if "--head" in given]
    assert {"--node-ip-address=127.0.0.1", "--port=6379", "--num-cpus=2"} <= set(head)
    # The nodes are waited for, and the sweep's own words come through as they were given.
    joins = [given for name, given, *_ in found if name == "python" and given[0] == "-"]
    assert joins == [["-", "127.0.0.1:6379", "3", "300"]]
    last = ["runtime=cluster", "runtime.address=127.0.0.1:6379"]
    assert found[-1][1] == ["-m", "sweep", *GIVEN, "store=/shared/a b", *last]
    # One token, in the environment of what follows its making, on no command line.
    [token] = {ray["RAY_AUTH_TOKEN"] for *_, ray, _ in found if "RAY_AUTH_TOKEN" in ray}
    assert re.fullmatch("[0-9a-f]{64}", token)
    assert not any(token in word for _, given, *_ in found for word in given)
    assert token not in done.stdout + done.stderr
    for name, given, ray, mask in found:
        if name == "ray" or given[:1] in (["-m"], ["-"]):
            assert ray["RAY_AUTH_TOKEN"] == token and ray["RAY_AUTH_MODE"] == "token"
            assert mask == 0o077


def test_a_signal_before_the_time_limit_stops_the_sweep_then_ray(allocation):
    folder, _ = allocation
    process = subprocess.Popen(
        ["bash", str(SBATCH), *GIVEN], env=environment(folder), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "sweeping\n"
    members = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 130
    wait_for(lambda: not any(alive(one) for one in members), 30)


def test_nodes_that_do_not_join_end_the_job(allocation):
    folder, calls = allocation
    done = subprocess.run(
        ["bash", str(SBATCH), *GIVEN], env=environment(folder, JOIN="1"), timeout=60
    )
    assert done.returncode == 1 and not any("-m" in given for _, given, *_ in recorded(calls))


def test_without_a_sweep_nothing_is_started(allocation):
    folder, calls = allocation
    done = subprocess.run(["bash", str(SBATCH)], env=environment(folder), capture_output=True)
    assert done.returncode == 2 and b"usage" in done.stderr and not calls.exists()


@pytest.mark.slow
def test_the_sbatch_script_with_a_real_ray(allocation, tmp_path):
    """One node, on loopback; only SLURM's commands are stand-ins."""
    folder, _ = allocation
    (folder / "ray").unlink()
    (folder / "python").unlink()
    (folder / "scontrol").write_text("#!/bin/sh\necho node1\n")
    temporary = tempfile.mkdtemp(prefix="s-", dir="/tmp")  # short, for sockets
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = environment(
        folder,
        PATH=path,
        SWEEP_RAY_PORT=port,
        SWEEP_RAY_SECONDS="100",
        RAY_TMPDIR=temporary,
        RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0",
    )
    command = ["bash", str(SBATCH), *GIVEN]
    try:
        process = subprocess.Popen(
            command, env=variables, cwd=tmp_path, stderr=subprocess.PIPE, text=True
        )
        members: dict[int, psutil.Process] = {}
        while process.poll() is None:
            for one in psutil.Process(process.pid).children(recursive=True):
                members[one.pid] = one
            with_timeout(process)
        assert process.stderr is not None
        assert process.returncode == 0, process.stderr.read()
        assert rows(tmp_path / "results").num_rows
        wait_for(lambda: not any(alive(one) for one in members.values()), 60)
    finally:
        for one in members.values():
            if alive(one):
                one.kill()
        shutil.rmtree(temporary, ignore_errors=True)


def with_timeout(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        return


# What KubeRay's custom resource definition of a RayJob (ray.io/v1) and its validation require.
REQUIRED = [
    "entrypoint", "rayClusterSpec", "rayClusterSpec.rayVersion", "rayClusterSpec.headGroupSpec",
    "rayClusterSpec.headGroupSpec.template.spec.containers", "rayClusterSpec.workerGroupSpecs",
]  # fmt: skip
REQUIRED_OF_WORKERS = ["groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams",
                       "template.spec.containers"]  # fmt: skip


def inside(tree: Mapping[str, Any], path: str) -> Any:
    for key in path.split("."):
        tree = tree[key]
    return tree


def test_the_rayjob_has_what_kuberay_requires():
    job = yaml.safe_load((TEMPLATES / "rayjob.yaml").read_text())
    assert job["apiVersion"] == "ray.io/v1" and job["kind"] == "RayJob" and job["metadata"]["name"]
    spec = job["spec"]
    for path in REQUIRED:
        assert inside(spec, path), path
    assert spec["submissionMode"] in ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
    assert spec["shutdownAfterJobFinishes"] is True and spec["ttlSecondsAfterFinished"] >= 0
    assert spec["activeDeadlineSeconds"] > 0 and spec["backoffLimit"] == 0
    cluster = spec["rayClusterSpec"]
    assert f"ray=={cluster['rayVersion']}" in CONSTRAINTS.read_text().split()
    assert cluster["enableInTreeAutoscaling"] is True
    assert cluster["authOptions"] == {"mode": "token", "secretName": "sweep-ray-token"}
    for group in cluster["workerGroupSpecs"]:
        for path in REQUIRED_OF_WORKERS:
            assert inside(group, path) is not None, path
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
        pod = group["template"]["spec"]
        volumes = {volume["name"] for volume in pod.get("volumes", [])}
        for container in pod["containers"]:
            assert container["name"] and container["image"]
            for kind in ("requests", "limits"):
                assert set(container["resources"][kind]) == {"cpu", "memory"}
            mounts = {mount["name"] for mount in container.get("volumeMounts", [])}
            assert mounts <= volumes
    [head] = cluster["headGroupSpec"]["template"]["spec"]["containers"]
    [mount] = head["volumeMounts"]
    words = spec["entrypoint"].split()
    assert words[:3] == ["python", "-m", "sweep"] and "runtime=cluster" in words
    [store] = [word.partition("=")[2] for word in words if word.startswith("store=")]
    assert store.startswith(mount["mountPath"] + "/")


def test_no_key_is_in_a_template():
    for path in TEMPLATES.iterdir():
        assert not re.search(r"[0-9a-f]{32}", path.read_text())
