"""Ray Tune with trials that do next to nothing.

    python tune_app.py KIND REUSE TRIALS CORES FOLDER

KIND is `class` or `function`, REUSE `yes` or `no`. What a user can turn off is off: the reporter,
the result files of the trials, the changes of directory, the dashboard.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import ray
from cell import cell
from ray import tune


class Trial(tune.Trainable):
    """One step is one cell; `reset_config` allows the actor to be used again."""

    def setup(self, config: dict[str, Any]) -> None:
        """Keep the trial's parameter."""
        self.x = config["x"]

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        """Take the next trial's parameter."""
        self.x = new_config["x"]
        return True

    def step(self) -> dict[str, Any]:
        """The cell, after which the trial is done."""
        return {"value": cell(self.x / 100), "done": True}


def trial(config: dict[str, Any]) -> None:
    """The same as a function."""
    tune.report({"value": cell(config["x"] / 100)})


def main(kind: str, reuse: str, trials: int, cores: int, folder: str) -> None:
    """Run the trials and check that every one has its value."""
    ray.init(
        num_cpus=cores,
        num_gpus=0,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=512 * 1024**2,
    )
    tuner = tune.Tuner(
        Trial if kind == "class" else trial,
        param_space={"x": tune.grid_search(list(range(1, trials + 1)))},
        tune_config=tune.TuneConfig(reuse_actors=reuse == "yes", max_concurrent_trials=cores),
        run_config=tune.RunConfig(
            storage_path=folder,
            verbose=0,
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
        ),
    )
    results = tuner.fit()
    values = [(results[i].metrics or {})["value"] for i in range(len(results))]
    assert len(values) == trials and results.num_errors == 0
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
