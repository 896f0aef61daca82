"""Weights & Biases tracking of a sweep, seen from the sweep.

The client runs in a child process (`sweep.tracking.process`) that reads JSON lines. Every
method here only puts a line on a queue, which a daemon thread empties, so that neither a
slow network nor a client that hangs can hold up or fail a sweep. `Tracker.close` is the one
call that waits, for a bounded time.
"""

import json
import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

Mode = Literal["online", "offline", "none"]

MAX_RUNS = 16
"""Largest number of runs beside the sweep's own: accounts are limited to some tens of
requests a minute, and each run costs several."""

_QUEUE_LIMIT = 1000
"""Waiting lines above which live progress is dropped: later progress replaces it."""

_WANDB_MODES: dict[str, Mode] = {
    "online": "online",
    "run": "online",
    "shared": "online",
    "offline": "offline",
    "dryrun": "offline",
    "disabled": "none",
}

_HEADER_BYTES = 7
"""Size of a run's file before its first record."""

_UNWANTED = (
    "RAY_AUTH_TOKEN",
    "WANDB_SERVICE",
    "WANDB_RUN_ID",
    "WANDB_RESUME",
    "WANDB_SWEEP_ID",
    "WANDB_NAME",
    "WANDB_RUN_GROUP",
    "WANDB_JOB_TYPE",
    "WANDB_DIR",
    "WANDB_DISABLED",
)
"""Variables that would turn a sweep's runs into a run of somebody else's making."""


@dataclass(frozen=True)
class RunSpec:
    """A W&B run beside the sweep's own: a cell, or a series of cells.

    `id` is short, unique within the sweep and the same at every start; `x_axis` names the
    key of a point that W&B plots the others against; `job_type` is "cell" or "series".
    """

    id: str
    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    x_axis: str = "epsilon"
    job_type: str = "series"


def resolve_mode(setting: str) -> Mode:
    """Mode of the tracking for the value of the config key `tracking`.

    `auto` follows WANDB_MODE, then the mode kept by `wandb offline`; without either it is
    online where a key is configured, by environment, netrc or settings file as the client
    itself looks it up, and offline elsewhere. Nothing is asked and nothing is sent.

    Raises:
        ValueError: `setting`, or WANDB_MODE under `auto`, is none of the allowed values.
    """
    if setting in ("online", "offline", "none"):
        return setting  # type: ignore[return-value]
    if setting != "auto":
        raise ValueError(f"tracking={setting!r}: allowed are auto, online, offline, none")
    if chosen := os.environ.get("WANDB_MODE"):
        if chosen not in _WANDB_MODES:
            raise ValueError(f"WANDB_MODE={chosen!r}: allowed are {', '.join(_WANDB_MODES)}")
        return _WANDB_MODES[chosen]
    try:
        return _configured_mode()
    except Exception:
        # An unreadable settings file is no reason to stop: offline loses nothing.
        return "offline"


def _configured_mode() -> Mode:
    """Online or offline by what the client finds in its settings, the environment and netrc."""
    if not _may_be_configured():
        return "offline"
    # The import takes half a second: only where neither setting nor WANDB_MODE decides.
    import wandb
    from wandb.sdk.lib.wbauth import read_netrc_auth

    folder = os.environ.get("WANDB_CONFIG_DIR") or "~/.config/wandb"
    file = Path(folder).expanduser() / "settings"
    settings = wandb.Settings(silent=True, settings_system=str(file))
    settings.update_from_system_settings()
    settings.update_from_env_vars(dict(os.environ))
    if settings.mode != "online":
        return _WANDB_MODES[settings.mode]
    key = settings.api_key or settings.identity_token_file
    return "online" if key or read_netrc_auth(host=settings.base_url) else "offline"


def _may_be_configured() -> bool:
    """Whether there is anything at all that a key or a mode could come from."""
    home = Path.home()
    configured = os.environ.get("WANDB_CONFIG_DIR")
    files = [
        Path(configured).expanduser() if configured else home / ".config" / "wandb",
        home / ".netrc",
        home / "_netrc",
        Path("wandb"),
    ]
    return any(name.startswith(("WANDB_", "NETRC")) for name in os.environ) or any(
        file.exists() for file in files
    )


class Tracker:
    """The W&B runs of one sweep; every method returns at once, except `close`.

    The sweep is one run, `runs` are up to `MAX_RUNS` more. Starting again over the same
    folder continues the same runs; what was logged before is not logged again.

    Args:
        mode: from `resolve_mode`; with "none" nothing starts and every method does nothing.
        folder: local folder of the sweep; gets wandb/, tracking.json and tracking.log.
        sweep_id: identity of the sweep, from which the ids of its runs are made.
        config: what W&B shows as the configuration of the sweep's own run.
        runs: the other runs.
        project: W&B project, unless the variable WANDB_PROJECT names one.

    Raises:
        ValueError: more than `MAX_RUNS` runs, or two with one id.
    """

    def __init__(
        self,
        mode: Mode,
        folder: Path,
        sweep_id: str,
        config: Mapping[str, Any],
        runs: Sequence[RunSpec] = (),
        project: str = "dp-bandits",
    ) -> None:
        if len(runs) > MAX_RUNS or len({run.id for run in runs}) < len(runs):
            raise ValueError(f"runs: at most {MAX_RUNS} with distinct ids, got {len(runs)}")
        self._folder = Path(folder).absolute()
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._process: subprocess.Popen[bytes] | None = None
        self._services: list[int] = []
        self._report: str | None = None
        self._reported = threading.Event()
        self._note = "W&B: off"
        if mode == "none":
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Two of the same sweep at once would log everything twice; the other one goes on.
            self._lock = FileLock(self._folder / ".tracking.lock", blocking=False)
            self._lock.acquire()
            self._process = self._start(mode)
        except Timeout:
            self._note = "W&B: off, the same sweep is being tracked by another process"
            return
        except OSError as error:
            self._note = f"W&B: off, {error}"
            return
        self._put(
            op="start",
            mode=mode,
            folder=str(self._folder),
            sweep_id=sweep_id,
            project=os.environ.get("WANDB_PROJECT") or project,
            config=dict(config),
            runs=[asdict(run) for run in runs],
        )

    def progress(self, step: int, values: Mapping[str, float]) -> None:
        """Live progress of the sweep's own run; `step` grows, and one seen before is skipped."""
        if self._queue.qsize() < _QUEUE_LIMIT:
            self._put(op="progress", step=step, values=dict(values))

    def points(self, run_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Points of the run with that `RunSpec.id`, in the order they are to be plotted."""
        self._put(op="points", run=run_id, rows=[dict(row) for row in rows])

    def publish(
        self,
        tables: Mapping[str, Path],
        figures: Sequence[Path],
        files: Mapping[str, Path],
    ) -> None:
        """Results of the sweep, to its own run.

        `tables` are CSV files with a header, `figures` PNG files; `files` go into one
        artifact of type "sweep" under their keys. What has not changed is not sent again.
        """
        self._put(
            op="publish",
            tables={name: str(path) for name, path in tables.items()},
            figures=[str(path) for path in figures],
            files={name: str(path) for name, path in files.items()},
        )

    def close(self, timeout: float) -> str:
        """Finish the runs, waiting at most `timeout` seconds; one line for the terminal.

        The line says where the runs are, or what went wrong and how to upload what is kept.
        """
        process, self._process = self._process, None
        if process is None:
            return self._note
        note = self._finish(process, timeout)
        self._lock.release()
        return note

    def _finish(self, process: "subprocess.Popen[bytes]", timeout: float) -> str:
        self._send(op="close", seconds=timeout)
        self._queue.put(None)
        ended = self._reported.wait(timeout)
        if self._report is not None:
            self._note = self._report
            # What is said last is said on the way out.
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
        if process.returncode is None:
            self._end(process)
        if self._report is None and ended:
            self._note = f"W&B: the client stopped early, see {self._folder / 'tracking.log'}"
        elif self._report is None:
            self._note = (
                f"W&B: the client did not finish within {timeout:g} s and was ended; what it had"
                f" is kept, upload it with: {sync_command(self._folder)}"
            )
        return self._note

    def _start(self, mode: Mode) -> "subprocess.Popen[bytes]":
        environment = {key: text for key, text in os.environ.items() if key not in _UNWANTED}
        root = str(Path(__file__).resolve().parents[2])
        paths = [root, *filter(None, [environment.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        # Files of an artifact are staged until they are uploaded: keep them in the folder too.
        environment["WANDB_DATA_DIR"] = str(self._folder / "wandb")
        environment["WANDB_MODE"] = mode
        environment["WANDB_ERROR_REPORTING"] = "false"
        reading, writing = os.pipe()
        try:
            with open(self._folder / "tracking.log", "ab") as log:
                process = subprocess.Popen(
                    [sys.executable, "-m", "sweep.tracking.process", str(writing)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    pass_fds=(writing,),
                    # A session of its own: Ctrl-C reaches the sweep alone.
                    start_new_session=True,
                )
        except OSError:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        threading.Thread(target=self._write, args=(process,), daemon=True).start()
        threading.Thread(target=self._read, args=(reading,), daemon=True).start()
        return process

    def _put(self, **message: Any) -> None:
        if self._process is not None:
            self._send(**message)

    def _send(self, **message: Any) -> None:
        self._queue.put(json.dumps(message, default=_plain))

    def _write(self, process: "subprocess.Popen[bytes]") -> None:
        """Empty the queue into the child; a child that is gone takes what it was sent along."""
        assert process.stdin is not None
        with suppress(OSError), process.stdin as pipe:
            while (line := self._queue.get()) is not None:
                pipe.write(line.encode() + b"\n")
                pipe.flush()

    def _read(self, descriptor: int) -> None:
        """Keep what the child says: the processes it started, at the end its report."""
        with open(descriptor, encoding="utf-8") as pipe:
            for line in pipe:
                message = json.loads(line)
                if "service" in message:
                    self._services.append(message["service"])
                else:
                    self._report = message["note"]
                    self._reported.set()
        self._reported.set()

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        """End the child and what it started: each leads a process group of its own."""
        for leader in (process.pid, *self._services):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(leader, signal.SIGKILL)
        process.wait()
        discard_empty_runs(self._folder)


def sync_command(folder: Path) -> str:
    """Shell command that uploads the offline runs under the folder of a sweep."""
    return f"wandb sync {shlex.quote(str(folder / 'wandb'))}"


def discard_empty_runs(folder: Path) -> None:
    """Remove runs that hold nothing but the header of their file, from a client that was ended.

    `wandb sync` of the whole folder stops at the first of them.
    """
    for file in (folder / "wandb").glob("*run-*/*.wandb"):
        if file.stat().st_size <= _HEADER_BYTES:
            shutil.rmtree(file.parent, ignore_errors=True)


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as Python values; anything else as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
