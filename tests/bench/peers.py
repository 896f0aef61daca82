"""Cells per second: our sweep against Hydra's launchers and Ray Tune, as ratios in one run.

    python3 tests/bench/peers.py [--venvs PATH] [--only NAME …] [--repeats 3]

Every peer gets a virtual environment of its own below `--venvs` (made where it is missing, kept
for the next time). Its trial is `peers/cell.py`: a division that returns a number, nothing else.
Ours is a real cell: adap_klucb on azize_fig3 to T = 10, one replicate, its row written to a new
store and flushed to disk; the peers keep no results but where their line says so. All use the same
number of cores, and what a peer's user can turn off (logs, folders per job, the reporter, the
dashboard, the trials' result files) is off.

Each is run with few and with many cells. The time per cell is the slope between the two, so that
start-up is not in it (ours: 10,000 and 110,000, because 10,000 take less than start-up varies);
"10,000 cells" is the whole time for that many, start-up included (extrapolated by the slope for
peers). Our time ends with the last committed row: the report that
the command writes afterwards runs no cells. "Running" leaves planning out as well: from the first
rows that came back to the last commit. Medians over `--repeats` rounds; in a round everyone takes
a turn, so that noise meets all.

A peer that does not install or run is listed with its error.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from command_line import (
    CORES,
    RAY_ENVIRONMENT,
    CommandError,
    axes,
    machine,
    run,
    scratch,
    sweep,
    table,
)

HERE = Path(__file__).resolve().parent / "peers"
GOAL = 100.0
INSTALL_SECONDS = 900.0


@dataclass(frozen=True)
class Peer:
    """Another program that runs many small jobs.

    Attributes:
        environment: the name of its virtual environment.
        requirements: what pip installs; later entries are tried where earlier ones don't work.
        command: the arguments after `python` for (jobs, cores, folder).
        sizes: few and many jobs.
        variables: environment variables.
    """

    name: str
    environment: str
    requirements: tuple[tuple[str, ...], ...]
    command: Callable[[int, int, Path], list[str]]
    sizes: tuple[int, int]
    variables: Mapping[str, str] = field(default_factory=dict)


def say(line: str) -> None:
    """Progress, beside the table."""
    print(line, file=sys.stderr, flush=True)


def hydra(*launcher: str) -> Callable[[int, int, Path], list[str]]:
    """The command of a Hydra multirun without logs and without a folder per job."""

    def command(jobs: int, cores: int, folder: Path) -> list[str]:
        return [
            *(str(HERE / "hydra_app.py"), "-m", f"x=range(1,{jobs + 1})"),
            *("hydra/job_logging=disabled", "hydra/hydra_logging=disabled"),
            *("hydra.output_subdir=null", "hydra.sweep.subdir=.", f"hydra.sweep.dir={folder}"),
            *(part.format(cores=cores) for part in launcher),
        ]

    return command


def tune(kind: str, reuse: str) -> Callable[[int, int, Path], list[str]]:
    """The command of a Tune run."""
    return lambda jobs, cores, folder: [
        *(str(HERE / "tune_app.py"), kind, reuse, str(jobs), str(cores), str(folder))
    ]


TUNE = (("ray[tune]",),)
QUIET = {"RAY_AIR_NEW_OUTPUT": "0", "RAY_CHDIR_TO_TRIAL_DIR": "0"}
NO_FILES = {**QUIET, "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1"}
HYDRA_RAY = ("hydra-core", "hydra-ray-launcher")
PEERS = (
    Peer("Hydra, basic launcher", "hydra", (("hydra-core",),), hydra(), (20, 200)),
    Peer(
        "Hydra, hydra-joblib-launcher",
        "hydra-joblib",
        (("hydra-core", "hydra-joblib-launcher"),),
        hydra("hydra/launcher=joblib", "hydra.launcher.n_jobs={cores}"),
        (20, 200),
    ),
    Peer(
        "Hydra, hydra-ray-launcher",
        "hydra-ray",
        (HYDRA_RAY, (*HYDRA_RAY, "ray[default]<2.50"), (*HYDRA_RAY, "ray[default]<2.10")),
        hydra(
            "hydra/launcher=ray",
            "+hydra.launcher.ray.init.num_cpus={cores}",
            "+hydra.launcher.ray.init.include_dashboard=false",
            "+hydra.launcher.ray.init.log_to_driver=false",
        ),
        (20, 200),
    ),
    Peer("Ray Tune, reuse, class", "ray-tune", TUNE, tune("class", "yes"), (100, 1000), NO_FILES),
    Peer(
        "Ray Tune, reuse, class, result files kept",
        "ray-tune",
        TUNE,
        tune("class", "yes"),
        (100, 1000),
        QUIET,
    ),
    Peer(
        "Ray Tune, reuse, function",
        "ray-tune",
        TUNE,
        tune("function", "yes"),
        (100, 1000),
        NO_FILES,
    ),
    Peer("Ray Tune, no reuse, class", "ray-tune", TUNE, tune("class", "no"), (5, 25), NO_FILES),
    Peer(
        "Ray Tune, no reuse, function", "ray-tune", TUNE, tune("function", "no"), (5, 25), NO_FILES
    ),
)


def python_of(environment: Path, requirements: Sequence[str]) -> Path:
    """The interpreter of a virtual environment with `requirements`, made where it is missing.

    Raises:
        CommandError: pip's last line.
    """
    python = environment / "bin" / "python"
    complete = environment / "installed.txt"
    wanted = "\n".join(requirements) + "\n"
    if complete.is_file() and complete.read_text() == wanted:
        return python
    environment.parent.mkdir(parents=True, exist_ok=True)
    say(f"installing {' '.join(requirements)}")
    # Not `venv.create`: run by an interpreter of a virtual environment, it links to that one.
    make = [sys.executable, "-m", "venv", "--clear", str(environment)]
    run(make, environment.parent, INSTALL_SECONDS)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, *requirements], environment.parent, INSTALL_SECONDS)
    complete.write_text(wanted)
    return python


def versions(python: Path, requirements: Sequence[str]) -> str:
    """Names and versions of the required packages, and Ray's where it is there."""
    names = [name.split("[")[0].split("<")[0] for name in requirements]
    code = (
        "import sys; from importlib.metadata import distributions; "
        "have = {d.name.lower(): d.version for d in distributions()}; "
        "print(', '.join(f'{n} {have[n]}' for n in dict.fromkeys(sys.argv[1:]) if n in have))"
    )
    found = subprocess.run(
        [str(python), "-c", code, *names, "ray"], capture_output=True, text=True, timeout=120
    )
    return found.stdout.strip()


class Side:
    """A peer ready to run, with the seconds measured."""

    def __init__(self, peer: Peer, venvs: Path, cores: int, timeout: float) -> None:
        self.peer, self.cores, self.timeout = peer, cores, timeout
        self.seconds: dict[int, list[float]] = {size: [] for size in peer.sizes}
        self.error = ""
        self.versions = ""
        for number, requirements in enumerate(peer.requirements):
            folder = venvs / (peer.environment + (f"-{number}" if number else ""))
            try:
                self.python = python_of(folder, requirements)
                self.versions = versions(self.python, requirements)
                self.run(2)
            except (CommandError, OSError) as error:
                self.error = self.error or str(error)  # of the newest version
                continue
            self.error = ""
            return

    def run(self, jobs: int) -> float:
        """Seconds of the whole command."""
        with scratch() as folder:
            variables = {
                **RAY_ENVIRONMENT,
                **self.peer.variables,
                "RAY_TMPDIR": str(folder),
                "HYDRA_FULL_ERROR": "1",  # else its last line says nothing
            }
            arguments = self.peer.command(jobs, self.cores, folder / "results")
            return run([str(self.python), *arguments], folder, self.timeout, variables).seconds

    def measure(self) -> None:
        """Measure both sizes once more, unless the peer has failed."""
        try:
            for size in self.peer.sizes:
                if not self.error:
                    self.seconds[size].append(self.run(size))
                    say(f"{self.peer.name}: {size} jobs, {self.seconds[size][-1]:.1f} s")
        except CommandError as error:
            self.error = f"{size} jobs: {error}"

    def medians(self) -> tuple[float, float]:
        """Seconds of the few and of the many."""
        few, many = (statistics.median(self.seconds[size]) for size in self.peer.sizes)
        return few, many


@dataclass
class Ours:
    """Our own side: medians over the rounds, by number of cells."""

    cores: int
    timeout: float
    sizes: tuple[int, int]
    committed: dict[int, list[float]] = field(default_factory=dict)
    running: dict[int, list[float]] = field(default_factory=dict)
    command: dict[int, list[float]] = field(default_factory=dict)

    def run(self, cells: int) -> None:
        """One sweep into a fresh store."""
        with scratch() as folder:
            found = sweep(
                folder / "s", axes(["adap_klucb"], cells, 10, 1), self.cores, self.timeout
            )
        if found.rows != cells:
            raise CommandError(f"{found.rows} rows of {cells} are in the store")
        self.committed.setdefault(cells, []).append(found.last_row)
        self.running.setdefault(cells, []).append(found.last_row - found.first_back)
        self.command.setdefault(cells, []).append(found.command)
        say(f"this project: {cells} cells, committed after {found.last_row:.1f} s")

    def slope(self, seconds: dict[int, list[float]]) -> float:
        """Seconds per cell between the two sizes."""
        few, many = (statistics.median(seconds[size]) for size in self.sizes)
        return (many - few) / (self.sizes[1] - self.sizes[0])


def report(ours: Ours, sides: Sequence[Side]) -> str:
    """The table and the verdict; ratios say how many times our time per cell a peer needs."""
    few, many = ours.sizes
    mine, running = ours.slope(ours.committed), ours.slope(ours.running)
    whole, large = (statistics.median(ours.committed[size]) for size in ours.sizes)
    shown = [f"{few:,} / {many:,}", f"{whole:.1f} / {large:.1f}"]
    rows = [
        ["this project, rows committed", "", *shown, f"{mine * 1e3:.3f}", "1", f"{whole:.1f}", "1"],
        ["… running", "", "", "", f"{running * 1e3:.3f}", f"{mine / running:.2f}", "", ""],
    ]
    fastest: list[tuple[float, float, str]] = []
    for side in sides:
        if side.error:
            rows.append([side.peer.name, side.versions, f"failed: {side.error}", *[""] * 5])
            continue
        low, high = side.peer.sizes
        short, long = side.medians()
        each = (long - short) / (high - low)
        total = short + (few - low) * each
        fastest.append((each, total, side.peer.name))
        rows.append(
            [
                side.peer.name,
                side.versions,
                f"{low:,} / {high:,}",
                f"{short:.1f} / {long:.1f}",
                f"{each * 1e3:.1f}",
                f"{each / mine:.0f}",
                f"{total:.0f}",
                f"{total / whole:.1f}",
            ]
        )
    header = [
        *("what", "versions", "cells (few / many)", "seconds", "ms per cell", "times ours"),
        *(f"{few:,} cells, s", "times ours"),
    ]
    lines = [table(header, rows), ""]
    command = statistics.median(ours.command[few])
    lines.append(
        f"Our whole command for {few:,} cells, report included: {command:.1f} s, of which"
        f" {command - whole:.1f} s after the last committed row."
    )
    if fastest:
        each, total, name = min(fastest)
        for label, seconds in (("to the last commit", mine), ("running", running)):
            if each <= 0 or seconds <= 0:
                lines.append(f"{label}: too few cells to tell.")
                continue
            ratio = each / seconds
            verdict = "reached" if ratio >= GOAL else "missed"
            lines.append(
                f"{label}: {ratio:.0f} times the fastest peer ({name}, {each * 1e3:.1f} ms per"
                f" cell); {GOAL:.0f} times {verdict}."
            )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the flags, take turns, print the table."""
    parser = argparse.ArgumentParser(description="cells per second against other engines")
    parser.add_argument(
        "--venvs",
        type=Path,
        default=Path(tempfile.gettempdir()) / "sweep-bench-venvs",
        help="where the peers' virtual environments are made and kept",
    )
    names = sorted({peer.environment for peer in PEERS})
    parser.add_argument("--only", nargs="*", choices=names, default=names, help="the peers to run")
    parser.add_argument("--repeats", type=int, default=3, help="rounds; medians are shown")
    parser.add_argument("--cells", type=int, default=110_000, help="our large sweep")
    parser.add_argument("--few", type=int, default=10_000, help="our small sweep")
    parser.add_argument("--scale", type=float, default=1.0, help="scales the peers' sizes")
    parser.add_argument("--cores", type=int, default=CORES)
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds of one command")
    options = parser.parse_args(arguments)
    if not 0 < options.few < options.cells:
        parser.error("--few must be positive and below --cells")
    print(machine(), flush=True)
    ours = Ours(options.cores, options.timeout, (options.few, options.cells))
    with scratch() as folder:  # compiles the kernel where that has not been done
        sweep(folder / "s", axes(["adap_klucb"], 2, 10, 1), options.cores, options.timeout)
    sides = [
        Side(scaled(peer, options.scale), options.venvs.resolve(), options.cores, options.timeout)
        for peer in PEERS
        if peer.environment in options.only
    ]
    for _ in range(options.repeats):
        for size in ours.sizes:
            ours.run(size)
        for side in sides:
            side.measure()
    print(report(ours, sides))


def scaled(peer: Peer, scale: float) -> Peer:
    """The peer with other sizes; the large one stays above the small one."""
    few = max(1, round(peer.sizes[0] * scale))
    many = max(few + 1, round(peer.sizes[1] * scale))
    return Peer(
        peer.name, peer.environment, peer.requirements, peer.command, (few, many), peer.variables
    )


if __name__ == "__main__":
    main()
