"""Bad input: one line, exit status 2, no traceback, nothing left behind."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sweep.__main__ import main

QUICK = "+grid=quickstart"

BAD = [
    ((QUICK, "grid.epsilon=[-1]"), "grid.epsilon: got -1; allowed: numbers > 0"),
    ((QUICK, "grid.epsilon=[nan]"), "grid.epsilon: got nan"),
    (("+grid=quickstrat",), "grid: got 'quickstrat'", "closest: quickstart"),
    (("grid=quickstart",), "+grid=quickstart"),
    ((QUICK, "grid.algorithm=[adap_ukb]"), "grid.algorithm: got 'adap_ukb'", "closest: adap_ucb"),
    ((QUICK, "grid.instance=[azize_fig4]"), "grid.instance: got", "closest: azize_fig3"),
    ((QUICK, "grid.instance=[{name:bernoulli,means:[0.5,1.2]}]"), "means: got 1.2", "[0, 1]"),
    ((QUICK, "grid.T=[4]"), "grid.T: got 4", "K = 5"),
    ((QUICK, "grid.epsilonn=[1]"), "grid.epsilonn: got an unknown key", "closest: grid.epsilon"),
    ((QUICK, "+grid.epsilonn=[1]"), "grid.epsilonn: got an unknown key", "closest: grid.epsilon"),
    ((QUICK, "sede=1"), "sede: got an unknown key", "closest: seed"),
    ((QUICK, "+sede=1"), "sede: got an unknown key", "closest: seed"),
    ((QUICK, "runtime.actor=1"), "runtime.actor: got an unknown key", "closest: runtime.actors"),
    ((), "grid.algorithm: got nothing", "+grid=NAME"),
    ((QUICK, "grid.algorithm=[]"), "grid.algorithm: got []"),
    ((QUICK, "grid.epsilon=[]"), "grid.epsilon: got []"),
    ((QUICK, "grid.instance=[]"), "grid.instance: got []"),
    ((QUICK, "grid.T=[]"), "grid.T: got []"),
    ((QUICK, "store=/dev/null/store"), "store: got '/dev/null/store'"),
    ((QUICK, "store="), "store"),
    ((QUICK, "tracking=ofline"), "tracking: got 'ofline'", "closest: offline"),
    ((QUICK, "tracking.mode=ofline"), "tracking.mode: got 'ofline'", "closest: offline"),
    ((QUICK, "tracking.runs=-1"), "tracking.runs: got -1"),
    ((QUICK, "runtime=clusterr"), "runtime: got 'clusterr'", "closest: cluster"),
    ((QUICK, "runtime.actors=0"), "runtime.actors: got 0", "auto"),
    ((QUICK, "runtime.address=127.0.0.1:9", "store=s"), "runtime.address: got '127.0.0.1:9'"),
    ((QUICK, "runtime.block=1.5"), "runtime.block: got 1.5", "auto"),
    ((QUICK, "plugins=[no.such.module]"), "plugins: got 'no.such.module'"),
    ((QUICK, "dry_run=perhaps"), "dry_run"),
    ((QUICK, "seed=-1"), "seed: got -1"),
    ((QUICK, "grid.replicates=0"), "grid.replicates: got 0"),
    ((QUICK, "grid.epsilon=["), "command line"),
    ((QUICK, "--no-such-flag"), "no-such-flag"),
    (("+grid=null",), "command line", "+grid=NAME"),
    ((QUICK, "grid=5"), "command line", "+grid=NAME"),
    ((QUICK, "~seed"), "seed: got nothing"),
    ((QUICK, "grid.replicates=1e12"), "grid.replicates: got", "at most 10000000"),
    ((QUICK, "grid.T=[{powers:[10,3,400]}]"), "grid.T powers"),
    ((QUICK, "grid.T=[{powers:[0,-3,4]}]"), "base > 0"),
    ((QUICK, "grid.epsilon=[{logspace:[0.01,1,1e9]}]"), "at most 1000000"),
    ((QUICK, "grid.epsilon=[1e-320]"), "grid.epsilon", "1e-100"),
    ((QUICK, "grid.epsilon={logspace:[0.1,1,9]}"), "grid.epsilon", "a list"),
    ((QUICK, "store=nonsense://x/y"), "store: got 'nonsense://x/y'", "s3://"),
    ((QUICK, "store=s3://me:hush@bucket/x"), "store: got", "key or a password (not shown)"),
    ((QUICK, "store=s3://bucket/x?region=y"), "command line", "two pairs of quotes"),
    ((QUICK, "grid.window=[true,5]"), "grid.window"),
    ((QUICK, "grid.instance=[{name:bernoulli}]"), "grid.instance bernoulli.means: got nothing"),
    ((QUICK, "grid.instance=[{name:equal_gap,gap:0.1,best:0.5}]", "grid.K=[1e12]"), "grid.K"),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: " ".join(case[0]) or "nothing")
def test_bad_input_is_one_line(case, tmp_path, monkeypatch, capsys):
    arguments, *words = case
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sweep", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    line = err.strip().splitlines()[-1]
    if arguments[-1:] != ("--no-such-flag",):  # argparse adds its usage
        assert len(err.strip().splitlines()) == 1 and line.startswith("error: ")
    assert out == "" and "Traceback" not in err
    for word in words:
        assert word in line
    assert os.listdir(tmp_path) == []


def test_the_same_from_a_shell(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "sweep", QUICK, "grid.epsilon=[-1]"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "error: grid.epsilon: got -1; allowed: numbers > 0, or inf\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("arguments", [("--help",), (QUICK, "--cfg", "job"), (QUICK, "--info")])
def test_hydras_own_flags_work(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sweep", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    assert "store: results" in capsys.readouterr().out
    assert os.listdir(tmp_path) == []


def test_a_dry_run_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sweep", "+grid=eps_transition", "dry_run=true"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    err = capsys.readouterr().err
    assert "860 cells" in err and "0 in the store, 344,000 to simulate" in err
    assert os.listdir(tmp_path) == []


def test_multirun_plans_each_grid(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    arguments = ["sweep", "-m", "+grid=quickstart,baselines", "dry_run=true"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 0
    err = capsys.readouterr().err
    assert "sweep quickstart-" in err and "sweep baselines-" in err
    assert os.listdir(tmp_path) == []
