"""The configuration of a command line, composed without running anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf, open_dict

from algos.errors import InputError
from sweep.grid.config import Settings, settings
from sweep.grid.hydra_errors import CONFIGURATION_ERRORS, as_input_error
from sweep.grid.schema import register_schema


def checked(overrides: Sequence[str]) -> Settings:
    """The settings that `python -m sweep OVERRIDES` would run with.

    Raises:
        InputError: an override that can't be used, a flag of Hydra's among them.
    """
    for override in overrides:
        if override.startswith("-"):
            raise InputError("command line", override, "overrides only, such as +grid=NAME")
    register_schema()
    GlobalHydra.instance().clear()
    try:
        with initialize_config_module("conf", version_base="1.3"):
            config = compose("config", list(overrides), return_hydra_config=True)
            chosen = OmegaConf.select(config, "hydra.runtime.choices.grid") or "grid"
            with open_dict(config):
                del config["hydra"]
            return settings(config, str(chosen))
    except InputError:
        raise
    except (*CONFIGURATION_ERRORS, ValueError) as error:  # Hydra raises both
        raise as_input_error(error, overrides) from None


def quoted(key: str, value: str) -> str:
    """The override KEY=VALUE for any text, in Hydra's grammar."""
    # A backslash is one, unless a quote follows.
    escaped = re.sub(r"(\\*)'", r"\1\1\'", value)
    escaped = re.sub(r"(\\+)$", r"\1\1", escaped)
    return f"{key}='{escaped}'"
