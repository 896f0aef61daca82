"""What a result is of, as columns: of a row, and of a sweep's manifest, made piece by piece."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from algos.families import FAMILIES
from algos.identity import canonical, parameters_text
from algos.instances import Instance
from algos.work import Work
from sweep.grid.plan import Cell, Plan
from sweep.store.columns import MANIFEST

PIECE = 10_000  # cells held at once


def identity_columns(work: Work, seed: int, cell: str) -> dict[str, Any]:
    """What a result is of; the instance under the name that follows from its definition alone."""
    entry, instance = work.algorithm, work.instance
    axes = FAMILIES[entry.family].axes
    return {
        "cell": cell,
        "stream": work.stream,
        "seed": seed,
        "family": entry.family,
        "algorithm": entry.name,
        "version": entry.version,
        "parameters": parameters_text(work.parameters),
        "instance": instance.row_label,
        "instance_definition": instance.definition,
        "epsilon": work.epsilon,
        "K": instance.sizes["K"] if "K" in axes else None,
        "N": instance.sizes["N"] if "N" in axes else None,
        "T": work.T,
    }


def describe(cell: Cell, instance: Instance, replicates: int) -> dict[str, Any]:
    """A cell as a row of the manifest, its instance under the label it is shown with."""
    entry = cell.work.algorithm
    return identity_columns(cell.work, cell.seed, cell.id) | {
        "instance": instance.label,
        "replicates": replicates,
        "guarantee": entry.guarantee,
        "anytime": entry.anytime,
        "uses_epsilon": entry.uses_epsilon,
        "doubling": entry.doubling,
        "source": entry.source,
        "noiseless": entry.noiseless,
        "distribution": instance.kind,
        "means": None if instance.means is None else list(instance.means),
        "sizes": canonical(dict(instance.sizes)),
        "instance_generator": instance.generator,
    }


def manifest(plan: Plan, targets: np.ndarray) -> Iterator[pa.Table]:
    """The cells of a plan in its order, a row under each label; `targets` are their replicates."""
    rows = (
        describe(cell, instance, int(target))
        for cell, target in zip(plan, targets, strict=True)
        for instance in plan.labelled(cell)
    )
    while piece := list(itertools.islice(rows, PIECE)):
        yield pa.Table.from_pylist(piece, schema=MANIFEST)


def families(plan: Plan) -> dict[str, dict[str, Any]]:
    """What the manifest says of the families in a plan, by name."""
    names = sorted({section.algorithm.family for section in plan.sections})
    return {name: FAMILIES[name].describe() for name in names}
