"""Large definitions: kept once, read as arrays, checked, in a folder and in a bucket."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import object_store
import pytest
from commands import LIMIT
from stored import table

from algos.errors import InputError
from sweep.store import Store
from sweep.store.__main__ import main
from sweep.store.definitions import addresses_in, decoded, encoded, path_of
from sweep.store.verify import verify

CONTENT = {
    "name": "reward_table",
    "rewards": np.random.default_rng(0).random((300, 4)),
    "edges": np.array([[0, 1], [1, 2]]),
    "sets": [[0, 1, 2], [1]],
    "labels": ["a", "b"],
    "low": -0.5,
    "K": 4,
    "clip": True,
    "base": None,
}


def address(text: str) -> str:
    """An address as a definition of that text would have."""
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store."""
    made = Store(tmp_path / "store")
    made.open_for_writing()
    return made


@pytest.fixture(params=["folder", "bucket"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """An empty store in a folder, or in a bucket."""
    if request.param == "folder":
        yield Store(tmp_path / "store")
    else:
        with object_store.bucket(tmp_path / "cache") as url:
            yield Store(url % request.node.name.partition("[")[0])


def file_of(store: Store, name: str) -> Path:
    """The file of a definition in a local store."""
    return Path(store.root) / path_of(name)


def same(found: object, wanted: object) -> bool:
    """Whether a value is what it was: as an array where it held numbers."""
    if isinstance(wanted, list) and isinstance(wanted[0], list):
        assert isinstance(found, list)
        return all(same(a, b) for a, b in zip(found, map(np.array, wanted), strict=True))
    if isinstance(wanted, np.ndarray):
        assert isinstance(found, np.ndarray) and found.dtype == wanted.dtype
        return found.shape == wanted.shape and bool((found == wanted).all())
    return type(found) is type(wanted) and found == wanted


def test_what_is_kept_is_read(either):
    either.open_for_writing()
    either.keep_definitions({address("a"): CONTENT, address("b"): {"K": 2}})
    again = Store(either.root)
    found = again.definition(address("a"))
    assert list(found) == list(CONTENT)
    for key, value in CONTENT.items():
        assert same(found[key], value), key
    assert again.definition(address("b")) == {"K": 2}
    either.append_rows([table("x", [0], definition=address("a"))])
    found = verify(again)
    assert found.sound and found.definitions == 2


@pytest.mark.parametrize(
    "value",
    [
        np.arange(24, dtype=np.int8).reshape(2, 3, 4),
        np.arange(5.0)[::2],
        np.arange(6).reshape(2, 3).T,
        np.zeros((3, 0)),
        np.array([[True, False]]),
        np.array([1.5], np.float32),
    ],
)
def test_arrays_keep_type_and_shape(value):
    assert same(decoded(encoded({"x": value}))["x"], value)


def test_a_definition_is_written_once(store):
    store.keep_definitions({address("a"): CONTENT})
    file = file_of(store, address("a"))
    before = file.stat()
    store.keep_definitions({address("a"): {"K": 3}, address("b"): {"K": 2}})
    after = file.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert store.definition(address("a"))["K"] == 4


def test_half_a_definition_is_written_again(either):
    either.open_for_writing()
    either.keep_definitions({address("a"): CONTENT})
    path = path_of(address("a"))
    content = either.place.read(path)
    either.place.replace(path, content.slice(0, len(content) // 2))
    with pytest.raises(InputError, match=f"a sound definition {address('a')}"):
        either.definition(address("a"))
    either.keep_definitions({address("a"): CONTENT})
    assert same(either.definition(address("a"))["rewards"], CONTENT["rewards"])


def test_a_damaged_or_missing_definition_is_named(store, capsys):
    store.keep_definitions({address("a"): CONTENT, address("b"): {"K": 2}})
    rows = [table("x", range(3), definition=address(name)) for name in "abc"]
    store.append_rows([*rows, table("y", [0])])
    file = file_of(store, address("a"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match="a sound definition"):
        store.definition(address("a"))
    with pytest.raises(InputError, match="it is missing"):
        store.definition(address("c"))
    assert main(["verify", store.root]) == 1
    out = capsys.readouterr().out
    assert f"{path_of(address('a'))}: " in out and "1 definitions are sound, 2 damaged" in out
    assert f"{path_of(address('c'))}: it is missing, and rows refer to it" in out


def test_addresses_are_found_among_definitions(store):
    rows = table("x", [0]).column("instance_definition")
    assert addresses_in(rows) == []
    mixed = table("x", [0, 1], definition=address("b")).column("instance_definition")
    assert addresses_in(mixed) == [address("b")]
    assert path_of(address("b")) == f"definitions/{address('b')[7:]}.parquet"
    for text in ("", "{}", "sha256:", "sha256:../rows/x", address("b") + "\n"):
        with pytest.raises(ValueError, match="no address"):
            path_of(text)


def test_what_no_column_can_hold_is_refused(store):
    for value in ([1, "a"], object(), np.array([1j])):
        with pytest.raises(TypeError, match="x: "):
            store.keep_definitions({address("a"): {"x": value}})
    assert store.names("definitions") == []


LARGE = """
import resource, sys
import numpy as np
from sweep.store import Store
store, address = Store(sys.argv[1]), sys.argv[2]
rewards = np.random.default_rng(0).random((10**6, 10))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
store.keep_definitions({address: {"rewards": rewards}})
assert np.array_equal(store.definition(address)["rewards"], rewards)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def test_a_table_of_a_million_rounds(store):
    """80 MB of numbers take some hundreds of MB beside them, and 2 s."""
    process = subprocess.run(
        [sys.executable, "-c", LARGE, store.root, address("large")],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert process.returncode == 0, process.stderr
    assert float(process.stdout) < 800
