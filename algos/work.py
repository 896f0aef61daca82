"""Work: what one stream of replicates depends on, and how its replicates are played.

A block of replicates is one call of a compiled loop (`algos.blocks`), the same for every family,
with what the family's recorder keeps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from algos import checkpoints as rounds
from algos.blocks import play_block
from algos.checks import is_number
from algos.errors import InputError
from algos.families import FAMILIES, Family, Outcome
from algos.identity import environment_generator, stream_id, words
from algos.instances import Instance
from algos.random.seeding import Seeds, seeds
from algos.registry import Algorithm, Value
from algos.registry import algorithm as registered

MOST_REPLICATES = 10_000_000  # of one cell


@dataclass(frozen=True)
class Work:
    """An algorithm with everything its replicates depend on but the seed: one stream."""

    algorithm: Algorithm
    instance: Instance
    epsilon: float | None
    T: int
    parameters: Mapping[str, Value]

    @cached_property
    def stream(self) -> str:
        """The identity that, with a seed, fixes every replicate."""
        return stream_id(
            self.algorithm, self.parameters, self.instance.definition, self.epsilon, self.T
        )

    @property
    def family(self) -> Family:
        """The algorithm's family."""
        return FAMILIES[self.algorithm.family]

    @property
    def filled(self) -> Any:
        """The NamedTuple that its kernel plays."""
        return self.algorithm.fill(self.T, self.epsilon, self.parameters)

    @classmethod
    def checked(
        cls,
        algorithm: object,
        instance: Instance,
        epsilon: object,
        T: object,
        parameters: Mapping[str, Any],
    ) -> Work:
        """The work these values state.

        Raises:
            InputError: any of them is unknown or out of range.
        """
        entry = registered(algorithm)
        if entry.family not in instance.families:
            allowed = f"an instance of the family {entry.family} (for {entry.name})"
            raise InputError("instance", instance.label, allowed)
        return cls(
            entry,
            instance,
            entry.check_epsilon(epsilon),
            check_T(T, instance, FAMILIES[entry.family].least_T(instance)),
            entry.check_parameters(parameters),
        )

    def play(
        self, seed: int, replicates: Sequence[int], checkpoints: np.ndarray, horizons: np.ndarray
    ) -> Outcome:
        """Outcomes of the numbered replicates, bit for bit the same in any order or grouping.

        Args:
            seed: the sweep's seed, ≥ 0.
            replicates: their numbers, from 0.
            checkpoints: int64 (C,), ascending, containing the horizons.
            horizons: int64 (H,), ascending, the last equal to T.

        Returns:
            Each of the family's columns as (replicates, H, …), and `regret`, where the family has
            one, as (replicates, C).
        """
        recorder = self.family.recorder(self.instance, checkpoints, horizons, len(replicates))
        self.run(recorder.block, self.environments(seed, replicates), self.seeds(seed, replicates))
        return recorder.outcome()

    def seeds(self, seed: int, replicates: Sequence[int]) -> Seeds:
        """What the replicates' generators start from."""
        return seeds(seed, words(self.stream), replicates)

    def environments(self, seed: int, replicates: Sequence[int]) -> Any:
        """The environment of all replicates, or a typed list of each one's."""
        return self.instance.environments(
            environment_generator(seed, self.stream, replicate) for replicate in replicates
        )

    def run(self, block: Any, environments: Any, seeds: Any) -> None:
        """Play a block of replicates (see `algos.blocks.play_block`)."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # as compiled code
            play_block(self.filled, environments, seeds, block, self.T)

    def warm(self) -> None:
        """Compile the kernel for this instance, or load it: play the fewest rounds there are.

        Its draws don't matter, so the stream, which takes long for a large instance, isn't needed.
        """
        least = self.family.least_T(self.instance)
        T = np.array([least], np.int64)
        short = Work(self.algorithm, self.instance, self.epsilon, least, self.parameters)
        recorder = self.family.recorder(self.instance, T, T, 1)
        environments = self.instance.environments([np.random.default_rng(0)])
        short.run(recorder.block, environments, seeds(0, (), [0]))


def check_T(T: object, instance: Instance, least: int) -> int:
    """T as int64 rounds (1e7 is an integer), at least `least`.

    Raises:
        InputError: no integer, fewer rounds than the family needs, or more than can be played.
    """
    longest = rounds.LONGEST if instance.rounds is None else instance.rounds
    named = [f"{size} = {least}" for size, value in instance.sizes.items() if value == least > 1]
    allowed = f"an integer from {(*named, least)[0]} to {longest}"
    if not is_number(T) or not math.isfinite(T) or int(T) != T or not least <= T <= longest:
        raise InputError("T", T, allowed)
    return int(T)
