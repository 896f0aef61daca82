"""What of `sweep.submit` needs no cluster: what is sent, what is accepted, how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from commands import LIMIT

from algos.errors import InputError
from sweep.grid.compose import checked, quoted
from sweep.submit import files as submit_files
from sweep.submit.fetch import Unusable, _index

SMALL = ("+grid=quickstart", "tracking=none", "grid.algorithm=[dp_se]", "grid.replicates=5")


def test_the_command_line_gives_status_2(tmp_path):
    command = [
        sys.executable,
        "-m",
        "sweep.submit",
        "--address",
        "http://127.0.0.1:1",
        "--",
        *SMALL,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2 and done.stderr.startswith("error: --address: got")
    assert len(done.stderr.splitlines()) == 1 and not list(tmp_path.iterdir())


GOOD = {"name": "a.part", "place": "rows/a.parquet", "bytes": 1, "sha256": "0" * 64}
OUTSIDE = ["rows/../a", "/etc/passwd", "sweeps/other/a", "sweeps/s-1", "rows/a/b", ".ssh/a", "a",
           "sweeps/s-1/../../a", "rows/", "rows/.hidden", "sweeps/s-1/a\x00"]  # fmt: skip


def test_an_index_names_places_in_a_store_only():
    index = {"sweep": "s-1", "elsewhere": None, "files": [GOOD]}
    assert _index(json.dumps(index).encode()) == index
    changed = [{"place": place} for place in OUTSIDE]
    changed += [{"name": "../../x"}, {"bytes": "1"}, {"sha256": "x"}]
    for change in changed:
        with pytest.raises(Unusable):
            _index(json.dumps(index | {"files": [GOOD | change]}).encode())
    for raw in (b"", b"[]", b"{}", json.dumps(index | {"sweep": 1}).encode()):
        with pytest.raises(Unusable):
            _index(raw)


def test_what_is_sent(tmp_path, monkeypatch):
    def write(name: str, size: int = 10) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)

    for name in ("mine.py", "data/kept.csv", ".git/objects/a", "env/pyvenv.cfg", "env/lib/a.py",
                 "runs/rows/a.parquet", "runs/sweeps/a", "out/a", "data/large.csv"):  # fmt: skip
        write(name)
    (tmp_path / "data" / ".rayignore").write_text("large.csv\n")
    patterns = submit_files.excludes(tmp_path, (tmp_path / "out",))
    assert {"/env", "/runs", "/out", ".git"} <= set(patterns)
    sent = {path.name for path in submit_files._files(tmp_path, patterns)}
    assert sent == {"mine.py", "kept.csv", ".rayignore"}
    monkeypatch.setattr(submit_files, "LARGEST", 20)
    with pytest.raises(InputError, match="name what the sweep does not need"):
        submit_files.excludes(tmp_path, (tmp_path / "out",))
    names = sorted(Path(path).name for path in submit_files.packages(tmp_path))
    assert names == ["algos", "analysis", "conf", "sweep"]
    assert submit_files.packages(Path(submit_files.__file__).parents[2]) == []


@pytest.mark.parametrize("text", ["a b", "it's", "a,b", "x=1", "[a]", "a\\b", "a\\'b", "a\\"])
def test_any_path_is_one_override(text):
    assert checked([*SMALL, quoted("store", text)]).store == text
