"""The configuration: its schema for Hydra, and the checked values the rest of the sweep uses."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.errors import ConfigCompositionException, HydraException, MissingConfigException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from algos.checks import check_count, is_number
from algos.errors import InputError, Words, unknown_name
from algos.simulate import MOST_REPLICATES
from sweep.store.places import check_root
from sweep.tracking import MAX_RUNS


@dataclass
class GridSchema:
    """`grid`: the axes, the number of replicates, and what the analysis should know."""

    algorithm: Any = None
    instance: Any = None
    epsilon: Any = None
    K: Any = None
    N: Any = None
    T: Any = None
    replicates: Any = 20
    question: str = ""
    window: Any = None


@dataclass
class RuntimeSchema:
    """`runtime`: where the work is done."""

    address: str | None = None
    actors: Any = "auto"
    block: Any = "auto"


@dataclass
class TrackingSchema:
    """`tracking`: Weights & Biases."""

    mode: str = "auto"
    project: str = "dp-bandits"
    runs: Any = 16


@dataclass
class SweepSchema:
    """The top level."""

    seed: Any = 0
    store: str = "results"
    dry_run: bool = False
    plugins: list[str] = field(default_factory=list)
    grid: GridSchema = field(default_factory=GridSchema)
    runtime: RuntimeSchema = field(default_factory=RuntimeSchema)
    tracking: TrackingSchema = field(default_factory=TrackingSchema)


CONFIGURATION_ERRORS = (HydraException, OmegaConfBaseException)

SECTIONS: dict[str, type] = {
    "": SweepSchema,
    "grid": GridSchema,
    "runtime": RuntimeSchema,
    "tracking": TrackingSchema,
}


def register_schema() -> None:
    """Make the schema known to Hydra, under the name `config.yaml` builds on."""
    ConfigStore.instance().store(name="schema", node=SweepSchema)


@dataclass(frozen=True)
class Settings:
    """A checked configuration.

    `grid` holds the axes as written; `actors` and `block` are None for auto; `resolved` is the
    whole configuration as plain data, for the record.
    """

    seed: int
    store: str
    dry_run: bool
    plugins: tuple[str, ...]
    grid: Mapping[str, Any]
    grid_name: str
    replicates: int
    window: tuple[float, float] | None
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
                raise _unknown_key(f"{section}.{key!s}" if section else str(key))
    grid, runtime, tracking = plain["grid"], plain["runtime"], plain["tracking"]
    modes = ("auto", "online", "offline", "none")
    if tracking["mode"] not in modes:
        raise unknown_name("tracking.mode", tracking["mode"], modes)
    if not plain["store"]:
        raise InputError("store", Words("nothing"), "a folder, or the URL of an object store")
    check_root(plain["store"])
    return Settings(
        seed=check_count("seed", plain["seed"], 0),
        store=plain["store"],
        dry_run=plain["dry_run"],
        plugins=tuple(plain["plugins"]),
        grid=grid,
        grid_name=grid_name,
        replicates=check_count("grid.replicates", grid["replicates"], 1, MOST_REPLICATES),
        window=_window(grid["window"]),
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


def _window(value: object) -> tuple[float, float] | None:
    if value is None:
        return None
    allowed = "two rounds [T0, T1] with 1 ≤ T0 < T1"
    if not isinstance(value, list) or len(value) != 2:
        raise InputError("grid.window", value, allowed)
    if not all(is_number(t) for t in value) or not 1 <= value[0] < value[1]:
        raise InputError("grid.window", value, allowed)
    return float(value[0]), float(value[1])


def as_input_error(error: Exception) -> InputError:
    """One line for what Hydra or OmegaConf has to say about a configuration."""
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return unknown_name(group or "configuration", name, error.options or ())
    message = " ".join(str(error).split("\n")[0].split())
    if not isinstance(error, CONFIGURATION_ERRORS):
        return InputError("command line", Words(message), "a group's option by name, +grid=NAME")
    if isinstance(cause, OmegaConfBaseException):
        key = cause.full_key or str(cause.key or "")
        if "not in" in str(cause) and key:
            return _unknown_key(key)
        allowed = str(cause.msg or cause).split("\n")[0]
        if "merge DictConfig with ListConfig" in allowed:
            allowed = "a list; write the mapping as its one item: [{…}]"
        return InputError(key or "configuration", Words("a value of another type"), allowed)
    if isinstance(error, ConfigCompositionException) and "+" in str(error):
        hint = str(error).replace("\n", " ").split("use ")[-1].strip()
        key = hint.lstrip("+").split("=")[0]
        return InputError(
            key, Words("an override of nothing that is there"), f"{hint} (with the +)"
        )
    allowed = "Hydra overrides, such as grid.epsilon=[0.1,1]"
    if "mismatched input '='" in message:  # a URL's query
        allowed += "; a value that holds = goes in two pairs of quotes: 'store=\"URL\"'"
    return InputError("command line", message, allowed)


def _unknown_key(key: str) -> InputError:
    """The error for a key that is nowhere in the schema."""
    section, _, name = key.rpartition(".")
    known = [entry.name for entry in fields(SECTIONS.get(section, SweepSchema))]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    prefix = f"{section}." if section in SECTIONS and section else ""
    closest = f"{prefix}{near[0]}" if near else None
    return InputError(key, Words("an unknown key"), ", ".join(prefix + k for k in known), closest)
