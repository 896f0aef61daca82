"""Weights & Biases client of a sweep, in a process of its own.

Started by `sweep.tracking.Tracker` as `python -m sweep.tracking.process FD`. It reads JSON
lines from standard input; to the descriptor FD it writes one line per service it starts and,
at the end, one with a note for the terminal. Three threads: one reads, one talks to W&B and
may hang there, and the main one watches the time, so that the process ends when it has to.
When the sweep dies, standard input ends, and this process finishes by itself.
"""

import fcntl
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sweep.tracking.items import Item, allowed, constant, identity, results
from sweep.tracking.ledger import Ledger
from sweep.tracking.tracker import discard_empty_runs, sync_command

INIT_SECONDS = 20.0
"""Time the server gets to answer when a run is opened, before the run goes offline."""

ORPHAN_SECONDS = 20.0
"""Time to finish in after the sweep died."""

OWN = ""
"""Key of the sweep's own run among the runs."""


class Recorder:
    """The W&B runs of the sweep, each opened when the first thing for it arrives.

    What goes to an online run is kept in memory until the server has all of it. At the end,
    runs that could not be opened or finished online are written again, offline: the client
    flushes its own file of an online run too late to rely on it.
    """

    def __init__(self, start: dict[str, Any]) -> None:
        self.folder = Path(start["folder"])
        self.done = threading.Event()
        self.services: list[int] = []
        self._start = start
        self._specs = {spec["id"]: spec for spec in start["runs"]}
        self._online = start["mode"] == "online"
        self._given_up = False
        self._guard = threading.Lock()
        self._problems: list[str] = []
        self._ledger: Ledger | None = None
        self._runs: dict[str, Any] = {}
        self._failed: set[str] = set()
        self._items: dict[str, list[Item]] = {}
        self._first_step: dict[str, int] = {}

    def work(self, inbox: "queue.Queue[dict[str, Any] | None]") -> None:
        """Do what the sweep asks for until None arrives, then finish; sets `done`."""
        try:
            with _lock(self.folder / "tracking.log"):
                discard_empty_runs(self.folder)
                self._ledger = Ledger(self.folder / "tracking.json")
                while (message := inbox.get()) is not None:
                    try:
                        self._handle(message, self._ledger)
                    except Exception as error:
                        self._problem(error)
                self._finish(self._ledger)
        except Exception as error:
            self._problem(error)
        finally:
            self.done.set()

    def break_off(self) -> None:
        """From another thread: make `work` stop waiting for the server and go offline."""
        with self._guard:
            if self._online and not self._given_up:
                self._given_up = True
                self._problems.insert(0, "the server did not answer in time")
                self.end_services()

    def end_services(self) -> None:
        """End the services this process started, each the leader of its own group."""
        while self.services:
            with suppress(ProcessLookupError):
                os.killpg(self.services.pop(), signal.SIGKILL)

    def note(self) -> str:
        """One line for the terminal: where the runs are, and what went wrong."""
        parts = self._problems[:1]
        if not self.done.is_set():
            parts.append("not finished in time, the same command sends what is missing")
        if self._ledger is not None and self._ledger.url:
            parts.append(self._ledger.url)
        files = (self.folder / "wandb").glob("offline-run-*/*.wandb")
        if not all(file.with_suffix(".wandb.synced").exists() for file in files):
            parts.append(f"kept offline, upload with: {sync_command(self.folder)}")
        return "W&B: " + ("; ".join(parts) or "nothing to log")

    def _handle(self, message: dict[str, Any], ledger: Ledger) -> None:
        if message["op"] == "progress":
            step = message["step"]
            self._log(ledger, OWN, [(step, constant({"step": step, **message["values"]}))])
        elif message["op"] == "points":
            items: list[Item] = [(identity(row), constant(row)) for row in message["rows"]]
            self._log(ledger, message["run"], items)
        elif message["op"] == "publish":
            self._log(ledger, OWN, results(message, allowed(self._start["sweep_id"])))

    def _log(self, ledger: Ledger, key: str, items: list[Item]) -> None:
        """Log the items that are new."""
        items = [item for item in dict(items).items() if not ledger.has(key, item[0])]
        if not items:
            return
        if self._online:
            self._items.setdefault(key, []).extend(items)
        if (run := self._open(ledger, key)) is not None:
            self._write(ledger, key, run, items)

    def _write(self, ledger: Ledger, key: str, run: Any, items: list[Item]) -> None:
        entry = ledger.run(key)
        ledger.add(key, [mark for mark, _ in items if not ledger.has(key, mark)])
        ledger.save()
        for index, (mark, make) in enumerate(items):
            try:
                row = make(run)
            except Exception as error:  # a file that cannot be read, say
                ledger.remove(key, [mark])
                self._problem(error)
                continue
            if row is None:
                continue
            try:
                known = {name: value for name, value in row.items() if value is not None}
                run.log(known, step=entry["step"], commit=True)
            except Exception as error:
                if not self._online:
                    ledger.remove(key, [mark for mark, _ in items[index:]])
                    ledger.save()
                    raise
                self._failed.add(key)
                self._problem(error)
                break
            entry["step"] += 1
        ledger.save()

    def _open(self, ledger: Ledger, key: str) -> Any:
        """The run, or None when its items have to wait for the offline run."""
        if self._online and (self._given_up or key in self._failed):
            return None
        if key not in self._runs:
            try:
                self._runs[key] = self._init(ledger, key)
            except Exception as error:
                if not self._online:
                    raise
                self._failed.add(key)
                self._problem(error)
        return self._runs.get(key)

    def _init(self, ledger: Ledger, key: str) -> Any:
        import wandb

        sweep_id, own = self._start["sweep_id"], key == OWN
        spec = self._own_spec() if own else self._specs[key]
        run = wandb.init(
            project=self._start["project"],
            dir=str(self.folder),
            id=allowed(sweep_id if own else f"{sweep_id}-{key}"),
            name=spec["name"],
            group=sweep_id,
            job_type=spec["job_type"],
            config=spec["config"],
            mode="online" if self._online else "offline",
            resume="allow",
            reinit="create_new",
            # Nothing of the machine is recorded, and the cores belong to the kernels.
            settings=wandb.Settings(
                init_timeout=INIT_SECONDS,
                program="sweep",
                console="off",
                silent=True,
                symlink=False,
                save_code=False,
                disable_code=True,
                disable_git=True,
                x_disable_stats=True,
                x_disable_meta=True,
                x_disable_machine_info=True,
                x_save_requirements=False,
            ),
        )
        run.define_metric(spec["x_axis"])
        run.define_metric("*", step_metric=spec["x_axis"])
        entry = ledger.run(key)
        # The server drops a step it has; the ledger may know of more that is not uploaded yet.
        entry["step"] = max(entry["step"], run.starting_step)
        self._first_step.setdefault(key, entry["step"])
        if own and self._online:
            ledger.url = run.url or ""
        return run

    def _own_spec(self) -> dict[str, Any]:
        start = self._start
        common = {"x_axis": "step", "job_type": "sweep"}
        return {"name": start["sweep_id"], "config": start["config"], **common}

    def _finish(self, ledger: Ledger) -> None:
        """Finish all runs at once, then write offline what the server does not have."""
        complete = self._finish_runs()
        missing = {key: items for key, items in self._items.items() if key not in complete}
        if missing:
            with self._guard:
                # It still holds the runs it could not finish, and knows each id once.
                self.end_services()
                self._online = False
            _leave()
            old, self._runs = self._runs, {}
            for key, items in missing.items():
                ledger.run(key)["step"] = self._first_step.get(key, ledger.run(key)["step"])
                run = self._open(ledger, key)
                self._write(ledger, key, run, list(dict(items).items()))
                if key in old:
                    _replace(old[key], run)
            self._finish_runs()
        _leave()

    def _finish_runs(self) -> set[str]:
        """Finish the open runs; those of which nothing is missing on the server or on disk."""

        def finish(key: str) -> bool:
            try:
                self._runs[key].finish()
            except Exception as error:
                self._problem(error)
                return False
            return not (self._online and self._upload_failed(self._runs[key]))

        keys = [key for key in self._runs if key not in self._failed or not self._online]
        with ThreadPoolExecutor(max(len(keys), 1)) as pool:
            return {key for key, good in zip(keys, pool.map(finish, keys), strict=True) if good}

    def _upload_failed(self, run: Any) -> bool:
        """Whether points did not arrive; the client says so in its own log only."""
        log = Path(run.settings.log_internal).read_text("utf-8", errors="replace")
        if "failed to log artifact" in log:
            self._problems.append(f"a file was not uploaded, see {run.settings.log_internal}")
        return "filestream: fatal error" in log

    def _problem(self, error: Exception) -> None:
        """Keep the whole error in the log and a line of it, without any key, for the note."""
        traceback.print_exception(error)
        if self._given_up and self._online:
            return  # the consequence of breaking off
        text = " ".join(str(error).split()) or type(error).__name__
        text = text.replace(os.environ.get("WANDB_API_KEY") or "\0", "***")
        self._problems.append(text[:200])


def _replace(old: Any, new: Any) -> None:
    """Let the offline run stand for the online one, of which a part may be on the server.

    The state beside a run's file holds the step at which the server's history began: with
    it, an upload repeats the steps that arrived instead of appending them.
    """
    state = Path(old.settings.sync_file + ".syncstate")
    if state.exists():
        shutil.copy(state, new.settings.sync_file + ".syncstate")
    shutil.rmtree(old.settings.sync_dir, ignore_errors=True)


def _leave() -> None:
    """Disconnect from the service; when it was ended, the client asks for the process to exit."""
    if "wandb" in sys.modules:
        with suppress(Exception, SystemExit):
            sys.modules["wandb"].teardown()


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold the file: the process of a sweep that died may still be finishing its work."""
    end = time.monotonic() + ORPHAN_SECONDS + 10
    with open(path, "ab") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise RuntimeError("another process still tracks this sweep") from None
                time.sleep(0.1)
            except OSError:
                break  # a file system without locks
        yield


def _report(descriptor: int, **message: Any) -> None:
    with suppress(OSError):
        os.write(descriptor, json.dumps(message).encode() + b"\n")


def _record_services(recorder: Recorder, descriptor: int) -> None:
    """Learn of the services the client starts: whoever ends this process must end them too."""

    class Recorded(subprocess.Popen[Any]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            if options.get("start_new_session"):
                recorder.services.append(self.pid)
                _report(descriptor, service=self.pid)

    vars(subprocess)["Popen"] = Recorded


def main(descriptor: int) -> None:
    """Track the sweep that writes to standard input, and end the process."""
    # Ctrl-C is the sweep's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.set_inheritable(descriptor, False)
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    sweep = os.getppid()
    first = lines.readline()
    if not first:
        os._exit(0)
    recorder = Recorder(json.loads(first))
    _record_services(recorder, descriptor)
    inbox: queue.Queue[dict[str, Any] | None] = queue.Queue()
    closing = threading.Event()
    seconds = ORPHAN_SECONDS

    def read() -> None:
        nonlocal seconds
        # A line that was cut off ends the input, as the death of the sweep does.
        with suppress(ValueError):
            for line in lines:
                message = json.loads(line)
                if message["op"] == "close":
                    seconds = message["seconds"]
                    break
                inbox.put(message)
        closing.set()

    threading.Thread(target=read, daemon=True).start()
    threading.Thread(target=recorder.work, args=(inbox,), daemon=True).start()
    while not closing.wait(1.0) and os.getppid() == sweep:
        pass
    inbox.put(None)
    end = time.monotonic() + 0.85 * seconds
    reserve = min(6.0, 0.5 * seconds)
    if not recorder.done.wait(end - reserve - time.monotonic()):
        recorder.break_off()
        recorder.done.wait(max(end - time.monotonic(), 0.0))
    recorder.end_services()
    discard_empty_runs(recorder.folder)
    _report(descriptor, note=recorder.note())
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
