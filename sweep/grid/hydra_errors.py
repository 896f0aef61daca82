"""One line for what Hydra or OmegaConf has to say about a configuration.

Relied on are the types of their errors, what these carry (`missing_cfg_file`, `options`,
`override`, `full_key`), that Hydra raises OmegaConf's error as the cause of its own, and Hydra's
own parser of overrides. No text of theirs is looked at, and of it only the first line is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    ConfigTypeError,
    OmegaConfBaseException,
)

from algos.errors import InputError, Words, unknown_name
from sweep.grid.schema import SECTIONS, unknown_key

CONFIGURATION_ERRORS = (HydraException, OmegaConfBaseException)
GRAMMAR = "Hydra overrides, such as grid.epsilon=[0.1,1]"


def as_input_error(error: Exception, overrides: Sequence[str]) -> InputError:
    """The error as a user of the command line `overrides` can mend it."""
    cause = error.__cause__ if isinstance(error.__cause__, OmegaConfBaseException) else error
    if isinstance(error, OverrideParseException):
        allowed = GRAMMAR
        if error.override.count("=") > 1:  # a URL's query
            allowed += "; a value that holds = goes in two pairs of quotes: 'store=\"URL\"'"
        return InputError("command line", _first_line(error), allowed)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file:
        group, _, name = error.missing_cfg_file.rpartition("/")
        return unknown_name(group or "configuration", name, error.options or ())
    if isinstance(cause, OmegaConfBaseException):
        return _of_omegaconf(cause, overrides)
    return _of_group(error, overrides)


def _of_omegaconf(error: OmegaConfBaseException, overrides: Sequence[str]) -> InputError:
    """A key that is not there, or a value of another type."""
    key = error.full_key or str(error.key or "")
    given = next((one for one in _parsed(overrides) if one.key_or_group == key), None)
    if given is not None and given.is_delete():
        return InputError(key, Words("nothing"), "a value; leave out the ~ for the default")
    if isinstance(error, ConfigAttributeError | ConfigKeyError) and key:
        return unknown_key(key)
    allowed = str(error.msg or error).split("\n")[0]
    if isinstance(error, ConfigTypeError) and given is not None and isinstance(given.value(), dict):
        allowed = "a list; write the mapping as its one item: [{…}]"
    return InputError(key or "configuration", Words("a value of another type"), allowed)


def _of_group(error: Exception, overrides: Sequence[str]) -> InputError:
    """A group of options without its +, or with something that is no option's name."""
    for given in _parsed(overrides):
        group, value = given.key_or_group, given.value()
        if group in SECTIONS and isinstance(value, str) and not given.is_add():
            hint = f"+{group}={value}"
            return InputError(
                group,
                Words("an override of a group that is not chosen yet"),
                f"{hint} (with the +)",
            )
    return InputError("command line", Words(_first_line(error)), "an option by name, +grid=NAME")


def _parsed(overrides: Sequence[str]) -> Iterator[Override]:
    parser = OverridesParser.create()
    for override in overrides:
        with suppress(HydraException):  # a flag, or a flag's value
            yield from parser.parse_overrides([override])


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split("\n")[0].split())
