"""Every algorithm against its twin in C++, NumPy over replicates and SMPyBandits, in one run.

    python tests/bench/twins.py [--only NAME …] [--repeats 7] [--T 1e6] [--json PATH]
                                [--against PATH] [--venvs PATH]

The twins (`twins/*.cpp`) are small programs compiled here with -O3 -march=native: round by round
where an algorithm chooses in every round, in whole episodes, epochs or batches where it commits,
nothing recomputed that did not change. A twin and `algos.simulate` do the same work: replicates of
the same law, each with its own generator, regret at all default checkpoints, pulls.

Before anything is timed, means over a few hundred replicates are compared with ours, so that a
twin that plays something else is noticed (`disagreement`).

All sides share one core and take turns, so that noise meets all; sizes are set for a fraction of a
second a turn. Shown are microseconds per replicate to T: the median over the rounds and, as the
interval, order statistics that hold the true median with probability 0.95 or more (0.984 for the
extremes of seven). The ratio is formed round by round. NumPy plays 1,000 replicates; where it loops
over rounds, and so for SMPyBandits (one replicate), as many rounds as fit a turn are scaled to T.

SMPyBandits gets a virtual environment of its own below `--venvs`; if its newest form does not run
with the newest of what it needs, older versions are tried, and its error is listed.

`--json` keeps the results; `--against` names earlier ones (default: those kept in the repository)
and lists what got slower, by the ratio to the twin, in which the machine's speed cancels.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from command_line import ROOT, CommandError, run, scratch, table
from peers import python_of, say, versions

from algos import algorithms, simulate

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "twins"
KEPT = HERE / "results" / "twins.json"
sys.path.insert(0, str(SOURCES))

import vectorised  # noqa: E402

FLAGS = ("-std=c++20", "-O3", "-march=native")
EPSILON = 1.0
SLOWER = 1.2
TURN = 0.3  # seconds of a measurement
MOST = 20_000  # replicates of a measurement: what they record stays a few megabytes
VECTOR = 1000  # replicates in NumPy's arrays
FAILURE = 1e-6  # chance that an agreeing twin is said to differ, for one comparison
SMPYBANDITS = (
    ("SMPyBandits", "numba", "tqdm"),
    ("SMPyBandits", "numba", "tqdm", "scipy<1.12", "numpy<2", "pandas<2.3", "scikit-learn<1.6"),
)

SIDES = ("ours", "cpp", "numpy", "smpybandits")
LIBRARY = ("ucb1", "kl_ucb", "moss", "imed", "thompson_beta")  # what it has

Outcome = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """An algorithm on an instance; `means` is what a twin gets, `goal` the least ratio or None."""

    algorithm: str
    label: str
    instance: str | dict[str, Any]
    means: tuple[float, ...]
    goal: float = 1.0


def arms(best: float, other: float, K: int) -> tuple[float, ...]:
    """One best arm, the others alike."""
    return (best, *[other] * (K - 1))


INSTANCES: dict[str, tuple[str | dict[str, Any], tuple[float, ...]]] = {
    "azize_fig3": ("azize_fig3", arms(0.8, 0.1, 5)),
    "azize_fig3, K = 50": (
        {"name": "bernoulli", "means": list(arms(0.8, 0.1, 50))},
        arms(0.8, 0.1, 50),
    ),
    "hu_equal_gap": ("hu_equal_gap", arms(0.5, 0.4, 5)),
    "hu_equal_gap, K = 50": (
        {"name": "bernoulli", "means": list(arms(0.5, 0.4, 50))},
        arms(0.5, 0.4, 50),
    ),
    "hu_distinct": ("hu_distinct", (0.75, 0.625, 0.5, 0.375, 0.25)),
    "two_point 0.3": ({"name": "two_point", "mu": 0.3}, (0.3,)),
    "two_point -0.9": ({"name": "two_point", "mu": -0.9}, (-0.9,)),
}
# Which instances are timed, with the least ratio to the twin.
HARD = {"hu_equal_gap": 4.0, "hu_equal_gap, K = 50": 2.0}
GOALS = {
    "ucb1": {"azize_fig3": 20.0, "azize_fig3, K = 50": 20.0, **HARD},
    "kl_ucb": {"azize_fig3": 5.0, "azize_fig3, K = 50": 5.0, **HARD},
    "moss": {"azize_fig3": 5.0, "azize_fig3, K = 50": 5.0, **HARD},
    "imed": {"azize_fig3": 5.0, "azize_fig3, K = 50": 5.0, **HARD},
}


def timed(names: Sequence[str]) -> list[Case]:
    """What is timed: each algorithm on its family's instance, the index policies on four."""
    found = []
    for entry in algorithms():
        if entry.name in names:
            usual = "two_point 0.3" if entry.family == "stopping_rule" else "azize_fig3"
            for label, goal in GOALS.get(entry.name, {usual: 1.0}).items():
                found.append(Case(entry.name, label, *INSTANCES[label], goal))
    return found


def compared(name: str) -> list[Case]:
    """What a twin is compared on: what is timed, and an instance on which more can go wrong."""
    cases = timed([name])
    harder = "two_point -0.9" if cases[0].label.startswith("two_point") else "hu_distinct"
    return [*cases, Case(name, harder, *INSTANCES[harder])]


def compiler() -> str | None:
    """$CXX, g++ or clang++, whichever is there first."""
    names = [os.environ.get("CXX", ""), "g++", "clang++"]
    return next((path for path in map(shutil.which, filter(None, names)) if path), None)


def compile_twins(folder: Path, sources: Path = SOURCES) -> dict[str, Path]:
    """The programs by the algorithms they know.

    Raises:
        CommandError: there is no compiler, or it fails.
    """
    found = {}
    command = compiler()
    if command is None:
        raise CommandError("no C++ compiler: neither g++ nor clang++ is there, and CXX is not set")
    for source in sorted(sources.glob("*.cpp")):
        program = folder / source.stem
        run([command, *FLAGS, "-o", str(program), str(source)], folder, 300.0)
        for name in run([str(program)], folder, 60.0).output.split():
            found[name] = program
    return found


def play_twin(program: Path, case: Case, T: int, replicates: int, seed: int) -> dict[str, Any]:
    """What the program prints."""
    arguments = [case.algorithm, T, replicates, seed, EPSILON, *case.means]
    return json.loads(run([str(program), *map(str, arguments)], program.parent, 600.0).output)


def play_ours(case: Case, T: int, replicates: int, seed: int) -> Outcome:
    """Every recorded column of ours, first axis the replicate."""
    found = simulate(
        case.algorithm, case.instance, epsilon=EPSILON, T=T, replicates=replicates, seed=seed
    )
    columns = {name: np.asarray(values, float) for name, values in found.outcome.items()}
    return ({"regret": found.regret} if found.regret.size else {}) | columns


def moments(outcome: Outcome) -> dict[str, dict[str, list[float]]]:
    """Mean and variance over the replicates of every recorded number; no estimate counts as 0."""
    found = {}
    for name, values in outcome.items():
        flat = np.nan_to_num(np.asarray(values, float)).reshape(len(values), -1)
        variance = flat.var(axis=0, ddof=1).tolist()
        found[name] = {"mean": flat.mean(axis=0).tolist(), "variance": variance}
    return found


def disagreement(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], replicates: tuple[int, int]
) -> tuple[float, float, str]:
    """Welch's z over all recorded numbers: the largest, the critical value, and where it is.

    The critical value is Bonferroni's for `FAILURE` over all of them, by the normal law.
    """
    largest, where, count = 0.0, "nowhere", 0
    for name, mine in ours.items():
        found = theirs[name]
        if len(mine["mean"]) != len(found["mean"]):
            return math.inf, 0.0, f"{name}: other checkpoints"
        count += len(mine["mean"])
        for i, (a, b) in enumerate(zip(mine["mean"], found["mean"], strict=True)):
            error = mine["variance"][i] / replicates[0] + found["variance"][i] / replicates[1]
            rounding = 1e-9 * (abs(a) + abs(b))
            z = abs(a - b) / math.sqrt(error) if error > 0.0 else math.inf
            if abs(a - b) > rounding and z > largest:
                largest, where = z, f"{name}[{i}]: ours {a:.6g}, twin {b:.6g}"
    critical = statistics.NormalDist().inv_cdf(1.0 - FAILURE / (2 * count))
    return largest, critical, where


def horizon(case: Case) -> int:
    """Rounds of a comparison: few where a side plays them one by one."""
    return 2_000 if case.algorithm in vectorised.BY_ROUND else 100_000


def compare_twin(program: Path, case: Case, replicates: int = 400) -> tuple[float, float, str]:
    """How far the twin's means are from ours, as `disagreement` says it."""
    T = horizon(case)
    ours = moments(play_ours(case, T, replicates, 0))
    return disagreement(ours, play_twin(program, case, T, replicates, 0), (replicates, replicates))


def compare_numpy(case: Case, replicates: int = 400) -> tuple[float, float, str]:
    """The same for the arrays."""
    T = horizon(case)
    ours = moments(play_ours(case, T, replicates, 0))
    theirs = vectorised.play(case.algorithm, list(case.means), T, EPSILON, replicates, 1)
    return disagreement(ours, moments(theirs), (replicates, replicates))


def interval(values: Sequence[float]) -> dict[str, float]:
    """The median and order statistics around it that hold the true one with probability 0.95.

    The extremes where fewer than six values cannot do that.
    """
    ordered, n = sorted(values), len(values)
    out, beyond = 0, 1.0
    while 2 * (out + 1) < n and 2.0 * (beyond + math.comb(n, out + 1)) / 2.0**n <= 0.05:
        out += 1
        beyond += math.comb(n, out)
    return {"median": statistics.median(ordered), "low": ordered[out], "high": ordered[-1 - out]}


class Side:
    """One way to play a case.

    `seconds(size, seed)` measures; `scale(size)` is what a second of that stands for, in seconds
    per replicate to T. The size is set at the start so that a turn takes `TURN`.
    """

    def __init__(
        self,
        seconds: Callable[[int, int], float],
        scale: Callable[[int], float],
        least: int = 1,
        most: int = MOST,
    ) -> None:
        self.seconds, self.scale = seconds, scale
        self.values: list[float] = []
        self.error = ""
        self.size = least
        try:
            seconds(least, 0)  # compiles, fills caches
            took = seconds(least, 0)
            while took < TURN / 4 and self.size < most:
                self.size = min(4 * self.size, most)
                took = seconds(self.size, 0)
            self.size = int(min(max(self.size * TURN / took, least), most))
        except (CommandError, OSError) as error:
            self.error = str(error)

    def turn(self, seed: int) -> None:
        """Measure once more, unless the side has failed."""
        if self.error:
            return
        try:
            self.values.append(self.seconds(self.size, seed) * self.scale(self.size) * 1e6)
        except (CommandError, OSError) as error:
            self.error = str(error)

    def result(self) -> dict[str, Any]:
        """What is kept: microseconds per replicate, or the error."""
        if self.error:
            return {"error": self.error}
        return {**interval(self.values), "size": self.size}


def our_side(case: Case, T: int) -> Side:
    """`algos.simulate` in this process."""

    def seconds(replicates: int, seed: int) -> float:
        start = time.perf_counter()
        simulate(
            case.algorithm, case.instance, epsilon=EPSILON, T=T, replicates=replicates, seed=seed
        )
        return time.perf_counter() - start

    return Side(seconds, lambda replicates: 1.0 / replicates)


def twin_side(program: Path, case: Case, T: int) -> Side:
    """The program, which measures itself."""
    return Side(
        lambda replicates, seed: play_twin(program, case, T, replicates, seed)["seconds"],
        lambda replicates: 1.0 / replicates,
    )


def numpy_side(case: Case, T: int) -> Side | None:
    """Arrays of 1,000 replicates in this process; the size is the rounds of one play."""
    if case.algorithm not in vectorised.BY_ROUND | vectorised.BY_BLOCK:
        return None

    def seconds(rounds: int, seed: int) -> float:
        start = time.perf_counter()
        vectorised.play(case.algorithm, list(case.means), rounds, EPSILON, VECTOR, seed)
        return time.perf_counter() - start

    least = min(T, 200) if case.algorithm in vectorised.BY_ROUND else T
    return Side(seconds, lambda rounds: T / rounds / VECTOR, least, T)


class SMPyBandits:
    """The library in a process of its own; `error` is what its newest form says, if it fails."""

    def __init__(self, venvs: Path) -> None:
        self.error, self.versions = "", ""
        self.process: subprocess.Popen[str] | None = None
        for number, requirements in enumerate(SMPYBANDITS):
            try:
                python = python_of(venvs / f"smpybandits-{number}", requirements)
                command = [str(python), str(SOURCES / "smpybandits.py")]
                run(command, venvs, 300.0)  # imports, reads nothing, ends
            except (CommandError, OSError) as error:
                self.error = self.error or re.sub(r" \(/.*\)", "", str(error))
                continue
            needed = [name.lower() for name in requirements]  # as `versions` knows them
            self.versions = versions(python, [*needed, "scipy", "numpy"])
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            return

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def seconds(self, algorithm: str, T: int, seed: int, means: Sequence[float]) -> float:
        """Of one replicate.

        Raises:
            CommandError: the process has ended.
        """
        assert self.process is not None and self.process.stdin and self.process.stdout
        with suppress(BrokenPipeError):
            print(algorithm, T, seed, *means, file=self.process.stdin, flush=True)
        for line in self.process.stdout:
            if line.startswith("{"):  # the library talks, too
                return float(json.loads(line)["seconds"])
        raise CommandError(f"ended without an answer to {algorithm}")

    def side(self, case: Case, T: int) -> Side | None:
        """One replicate of as many rounds as fit; nothing for algorithms it lacks."""
        if self.process is None or case.algorithm not in LIBRARY:
            return None
        return Side(
            lambda rounds, seed: self.seconds(case.algorithm, rounds, seed, case.means),
            lambda rounds: T / rounds,
            min(T, 200),
            T,
        )


def measure(
    case: Case, program: Path, library: SMPyBandits, T: int, repeats: int
) -> dict[str, Any]:
    """All sides of a case in turn; what is kept of it."""
    sides = {
        "ours": our_side(case, T),
        "cpp": twin_side(program, case, T),
        "numpy": numpy_side(case, T),
        "smpybandits": library.side(case, T),
    }
    present = {name: side for name, side in sides.items() if side is not None}
    for seed in range(1, repeats + 1):
        for side in present.values():
            side.turn(seed)
    kept: dict[str, Any] = {"algorithm": case.algorithm, "instance": case.label, "goal": case.goal}
    kept |= {name: side.result() for name, side in present.items()}
    pairs = zip(present["cpp"].values, present["ours"].values, strict=False)
    ratios = [cpp / ours for cpp, ours in pairs]
    if ratios:
        kept["ratio"] = interval(ratios)
    return kept


def shown(found: Mapping[str, Any] | None, digits: int = 1) -> str:
    """`median [low, high]`."""
    if found is None:
        return ""
    if "error" in found:
        return "failed"
    numbers = (found[key] for key in ("median", "low", "high"))
    middle, low, high = (f"{number:,.{digits}f}" for number in numbers)
    return f"{middle} [{low}, {high}]"


def report(results: Mapping[str, Any]) -> str:
    """The table, what failed, and the goals missed."""
    rows, missed = [], []
    failed = [f"{name}: {text}" for name, text in results["failed"].items()]
    for case in results["cases"]:
        ratio = case.get("ratio")
        label = f"{case['algorithm']}, {case['instance']}"
        if ratio and ratio["median"] < case["goal"]:
            missed.append(f"{label}: {ratio['median']:.2f} times, goal {case['goal']:g}")
        agreement = case["agreement"]
        if agreement["z"] > agreement["critical"]:
            failed.append(f"{label}: the twin plays something else, {agreement['where']}")
        for side in SIDES:
            if "error" in case.get(side, {}):
                failed.append(f"{label}, {side}: {case[side]['error']}")
        cells = [shown(case.get(side)) for side in SIDES]
        row = [f"`{case['algorithm']}`", case["instance"], *cells, shown(ratio, 2)]
        rows.append([*row, f"{case['goal']:g}"])
    header = ["algorithm", "instance", "ours, µs", "C++, µs", "NumPy, µs", "SMPyBandits, µs"]
    facts = {**results["machine"], **results["versions"], **results["settings"]}
    lines = [", ".join(f"{name} {value}" for name, value in facts.items()), ""]
    lines += [table([*header, "C++ / ours", "goal"], rows), ""]
    lines += [f"failed: {line}" for line in failed]
    lines += [f"below the goal: {line}" for line in missed] or ["every goal reached"]
    return "\n".join(lines)


def slower(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The cases whose ratio to the twin fell by more than `SLOWER` since the earlier results."""
    if old["settings"] != new["settings"]:
        return [f"not comparable: {old['settings']} before, {new['settings']} now"]
    before = {(case["algorithm"], case["instance"]): case.get("ratio") for case in old["cases"]}
    found = []
    for case in new["cases"]:
        was, now = before.get((case["algorithm"], case["instance"])), case.get("ratio")
        if was and now and was["median"] > SLOWER * now["median"]:
            apart = "" if now["high"] < was["low"] else " (the intervals overlap)"
            found.append(
                f"slower than in {old['commit']}: {case['algorithm']}, {case['instance']}:"
                f" {now['median']:.2f} times the twin's speed, was {was['median']:.2f}{apart}"
            )
    return found


def machine() -> dict[str, Any]:
    """The processor and its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return {"cpu": model, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2)}


def commit() -> str:
    """The clone's commit, with a + where files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    found = subprocess.run(command, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def pin() -> None:
    """This process and all it starts on one core, where the system lets us."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the flags, compare the twins with ours, take turns, print and keep the results."""
    names = [entry.name for entry in algorithms()]
    parser = argparse.ArgumentParser(description="kernels against their twins")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=7, help="rounds of turns; 7 or more")
    parser.add_argument("--T", type=float, default=1e6, help="rounds of a replicate")
    parser.add_argument("--json", type=Path, help=f"keep the results here (those kept: {KEPT})")
    parser.add_argument("--against", type=Path, default=KEPT, help="earlier results")
    parser.add_argument(
        "--venvs",
        type=Path,
        default=Path(tempfile.gettempdir()) / "sweep-bench-venvs",
        help="where SMPyBandits' virtual environment is made and kept",
    )
    options = parser.parse_args(arguments)
    T = int(options.T)
    old = json.loads(options.against.read_text()) if options.against.is_file() else None
    pin()
    library = SMPyBandits(options.venvs.resolve())
    failed = {"SMPyBandits with today's versions": library.error} if library.error else {}
    results: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": commit(),
        "machine": machine(),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba.__version__,
            "smpybandits": library.versions or "none",
        },
        "settings": {"T": T, "epsilon": EPSILON, "flags": " ".join(FLAGS)},
        "repeats": options.repeats,
        "failed": failed,
        "cases": [],
    }
    with scratch() as folder:
        programs = compile_twins(folder)
        command = [str(compiler()), "--version"]
        results["versions"]["c++"] = run(command, folder, 60.0).output.splitlines()[0]
        for name in options.only:
            if name not in programs:
                failed[name] = "has no twin"
                continue
            found = [compare_twin(programs[name], case) for case in compared(name)]
            z, critical, where = max(found, key=lambda one: one[0] - one[1])
            agreement = {"z": round(z, 2), "critical": round(critical, 2), "where": where}
            for case in timed([name]):
                kept = measure(case, programs[name], library, T, options.repeats)
                results["cases"].append(kept | {"agreement": agreement})
                say(f"{name}, {case.label}: {shown(kept.get('ratio'), 2)} times the twin's speed")
    library.stop()
    print(report(results))
    if old is not None:
        print("\n".join(slower(old, results) or ["nothing got slower"]))
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
