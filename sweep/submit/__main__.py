"""`python -m sweep.submit --address URL -- +grid=NAME [key=value …]`: a sweep on a Ray cluster.

Sends the command with the working directory through Ray's Jobs API, follows the log, and brings
the report and the rows back. Only the dashboard at URL has to be reachable.

Exit status: the sweep's own (0 done, 1 some units failed, 2 bad input, 130 interrupted); 1 for a
job that was stopped or lost; 130 after Ctrl-C, which leaves the job running.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from algos.errors import InputError, Words
from algos.registry import load_plugins
from sweep.grid.compose import checked
from sweep.grid.config import Settings
from sweep.grid.planner import make_plan
from sweep.submit.client import Dashboard, Lost, command
from sweep.submit.fetch import Fetched, Unusable, fetch
from sweep.submit.files import excludes, packages
from sweep.submit.follow import Patience, follow

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
PATIENCE = 300.0  # seconds that the cluster may be out of reach
STOP_SECONDS = 60  # that a stopped job gets to commit its rows and to pack its results


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; what is wrong with it ends the process with status 2."""
    parser = argparse.ArgumentParser(
        prog="python -m sweep.submit",
        usage="%(prog)s --address URL [--into PATH] (--attach JOB | -- +grid=NAME [key=value …])",
        description="Run a sweep on a Ray cluster, through its dashboard.",
    )
    parser.add_argument("--address", help="of the dashboard, http://HOST:8265")
    parser.add_argument("--attach", metavar="JOB", help="follow a job that was submitted earlier")
    parser.add_argument("--into", default="results", metavar="PATH", help="the local store")
    parser.add_argument(
        "--patience", type=float, default=PATIENCE, metavar="SECONDS",
        help=f"how long the cluster may be out of reach (default {PATIENCE:.0f})",
    )  # fmt: skip
    parser.add_argument("overrides", nargs="*", help="as for python -m sweep")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Submit or attach, follow, fetch; returns the exit status.

    Raises:
        InputError: nothing was sent.
    """
    given = parse(arguments)
    if not given.address:
        raise InputError(
            "--address", Words("nothing"), "the address of a Ray dashboard, http://HOST:8265"
        )
    if bool(given.attach) == bool(given.overrides):
        got = Words("--attach with overrides" if given.attach else "no overrides")
        raise InputError("command line", got, "-- +grid=NAME [key=value …], or --attach JOB")
    into = Path(given.into)
    _check_writable(into)
    plan = None if given.attach else check(given.overrides)
    dashboard = Dashboard(given.address)
    if dashboard.warning:
        _say(f"warning: {dashboard.warning}")
    try:
        if plan is None:
            job = given.attach
            if dashboard.job(job) is None:
                raise InputError("--attach", job, "a job of this cluster; see ray job list")
        else:
            job = _submit(dashboard, *plan, given.overrides, into)
    except Lost as error:
        raise InputError(
            "--address", given.address, f"a Ray cluster that answers ({error})"
        ) from None
    again = command(dashboard.address, "--attach", job, "--into", str(into))
    stop = shlex.join(["ray", "job", "stop", "--address", dashboard.address, job])
    try:
        return _finish(dashboard, job, into, Patience(given.patience, _say))
    except KeyboardInterrupt:
        _say(f"detached: the job goes on; follow it again with: {again} (to stop it: {stop})")
        return INTERRUPTED
    except Lost as error:
        _say(f"out of reach ({error}): the job may go on; follow it again with: {again}")
        return FAILED


def _check_writable(into: Path) -> None:
    """Raises InputError where a store can't be: better now than when the job has ended."""
    there = next(path for path in (into.absolute(), *into.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise InputError("--into", str(into), "a folder that can be written")


def check(overrides: Sequence[str]) -> tuple[Settings, str]:
    """The settings and the name of the sweep, planned as the cluster will plan it.

    Raises:
        InputError: a value that can't be used.
    """
    settings = checked(overrides)
    load_plugins(settings.plugins)
    return settings, make_plan(settings).name(settings.grid_name)


def _submit(
    dashboard: Dashboard, settings: Settings, name: str, overrides: Sequence[str], into: Path
) -> str:
    """Send the job; returns its identity.

    Raises:
        InputError: the cluster refuses it, or there is too much to send.
    """
    folder = Path.cwd()
    store = () if "://" in settings.store else (Path(settings.store),)
    environment: dict[str, Any] = {
        "working_dir": str(folder),
        "excludes": excludes(folder, (into, *store)),
        "env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_SECONDS)},
    }
    if found := packages(folder):
        environment["py_modules"] = found
    sent = list(overrides)
    if not any(override.lstrip("+").split("=")[0] == "runtime" for override in sent):
        sent.append("runtime=cluster")
    job = f"{name}-{secrets.token_hex(3)}"
    entry = ["exec", "python", "-m", "sweep.submit.job", job, name, settings.store, *sent]
    try:
        dashboard.client().submit_job(
            entrypoint=shlex.join(entry),
            submission_id=job,
            runtime_env=environment,
            metadata={"sweep": name, "store": settings.store},
        )
    except (OSError, RuntimeError, ValueError) as error:
        why = " ".join(str(error).split())
        raise InputError("job", job, f"one that the cluster takes ({why[-300:]})") from None
    _say(f"job {job}; Ctrl-C leaves it running")
    return job


def _finish(dashboard: Dashboard, job: str, into: Path, patience: Patience) -> int:
    """Follow a job to its end and fetch what it left; returns the exit status."""
    details = follow(dashboard, job, _show, patience)
    if details is None:
        _say(f"the cluster no longer knows job {job}: Ray was started anew")
        return FAILED
    try:
        fetched = fetch(dashboard, details, job, into, patience)
    except Unusable as error:
        _say(f"not fetched: {error}")
        return FAILED
    if fetched is not None:
        _report(fetched)
    elif details.get("driver_exit_code") in (0, FAILED):
        _say("the job left nothing to fetch")
    code = details.get("driver_exit_code")
    if code is None or details["status"] == "STOPPED" or not 0 <= code < 256:
        first = str(details.get("message") or "").strip().split("\n")[0]
        _say(f"job {job} {details['status'].lower()}: {first or 'no reason given'}")
        return FAILED
    return int(code)


def _report(fetched: Fetched) -> None:
    report = fetched.folder / "report.html"
    _say(f"fetched {fetched.files} files: {report if report.exists() else fetched.folder}")
    if fetched.elsewhere:
        _say(f"the rows are in {fetched.elsewhere}")


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InputError as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
