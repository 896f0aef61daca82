"""The configuration, checked: the values that the rest of a sweep uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from omegaconf import OmegaConf

from algos.checks import check_count
from algos.errors import InputError, Words, unknown_name
from algos.work import MOST_REPLICATES
from sweep.grid.schema import EXECUTORS, MODES, SECTIONS, unknown_key
from sweep.store.places import check_root
from sweep.store.sweeps import check_window
from sweep.tracking import MAX_RUNS


@dataclass(frozen=True)
class Settings:
    """A checked configuration.

    `grid` holds the axes as written; `actors` and `block` are None for auto; `resolved` is the
    whole configuration as plain data, for the record.
    """

    seed: int
    store: str
    dry_run: bool
    report: bool
    plugins: tuple[str, ...]
    chapters: tuple[str, ...]
    grid: Mapping[str, Any]
    grid_name: str
    replicates: int
    executor: str
    address: str | None
    actors: int | None
    block: int | None
    tracking: str
    project: str
    tracked_runs: int
    resolved: Mapping[str, Any]


def settings(config: Any, grid_name: str) -> Settings:
    """The checked settings of a composed configuration; `grid_name` is the chosen grid's.

    Raises:
        InputError: a value that can't be used.
    """
    plain: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    # Hydra's + adds keys past the schema, its ~ takes some away.
    for section, schema in SECTIONS.items():
        for entry in fields(schema):
            if entry.name not in (plain[section] if section else plain):
                key = f"{section}.{entry.name}" if section else entry.name
                raise InputError(key, Words("nothing"), "a value; leave out the ~ for the default")
        for key in plain[section] if section else plain:
            if key not in {entry.name for entry in fields(schema)}:
                raise unknown_key(f"{section}.{key!s}" if section else str(key))
    grid, runtime, tracking = plain["grid"], plain["runtime"], plain["tracking"]
    for key, value, known in (
        ("tracking.mode", tracking["mode"], MODES),
        ("runtime.executor", runtime["executor"], EXECUTORS),
    ):
        if value not in known:
            raise unknown_name(key, value, known)
    if runtime["executor"] == "inline" and runtime["address"] is not None:
        raise InputError(
            "runtime.executor", "inline", "auto or ray where runtime.address names a cluster"
        )
    check_window(grid["window"])
    if not plain["store"]:
        raise InputError("store", Words("nothing"), "a folder, or the URL of an object store")
    check_root(plain["store"])
    return Settings(
        seed=check_count("seed", plain["seed"], 0),
        store=plain["store"],
        dry_run=plain["dry_run"],
        report=plain["report"],
        plugins=tuple(plain["plugins"]),
        chapters=tuple(plain["chapters"]),
        grid=grid,
        grid_name=grid_name,
        replicates=check_count("grid.replicates", grid["replicates"], 1, MOST_REPLICATES),
        executor=runtime["executor"],
        address=runtime["address"],
        actors=_auto("runtime.actors", runtime["actors"]),
        block=_auto("runtime.block", runtime["block"]),
        tracking=tracking["mode"],
        project=tracking["project"],
        tracked_runs=check_count("tracking.runs", tracking["runs"], 0, MAX_RUNS),
        resolved=plain,
    )


def _auto(key: str, value: object) -> int | None:
    if value == "auto":
        return None
    try:
        return check_count(key, value, 1)
    except InputError as error:
        raise InputError(key, value, f"auto, or {error.allowed}") from None
