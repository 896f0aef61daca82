"""The configuration: its keys, their types and defaults, as Hydra checks them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore

from algos.errors import InputError, Words

MODES = ("auto", "online", "offline", "none")  # of tracking
EXECUTORS = ("auto", "ray", "inline")


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

    executor: str = "auto"
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
    report: bool = True
    plugins: list[str] = field(default_factory=list)
    chapters: list[str] = field(default_factory=list)
    grid: GridSchema = field(default_factory=GridSchema)
    runtime: RuntimeSchema = field(default_factory=RuntimeSchema)
    tracking: TrackingSchema = field(default_factory=TrackingSchema)


SECTIONS: dict[str, type] = {
    "": SweepSchema,
    "grid": GridSchema,
    "runtime": RuntimeSchema,
    "tracking": TrackingSchema,
}


def register_schema() -> None:
    """Make the schema known to Hydra, under the name `config.yaml` builds on."""
    ConfigStore.instance().store(name="schema", node=SweepSchema)


def unknown_key(key: str) -> InputError:
    """The error for a key that is nowhere in the schema."""
    section, _, name = key.rpartition(".")
    known = [entry.name for entry in fields(SECTIONS.get(section, SweepSchema))]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    prefix = f"{section}." if section in SECTIONS and section else ""
    closest = f"{prefix}{near[0]}" if near else None
    return InputError(key, Words("an unknown key"), ", ".join(prefix + k for k in known), closest)
