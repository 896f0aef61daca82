"""Parameters that are words: checked by name, kept as words, passed to kernels as numbers."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import pytest

from algos import InputError, Parameter, algorithm
from algos.identity import canonical

SHAPE = Parameter("shape", "round", choices=("flat", "round", "deep2.5"), meaning="of a bonus")


class Shaped(NamedTuple):
    """A form with it."""

    shape: int


ENTRY = dataclasses.replace(algorithm("ucb1"), name="shaped", form=Shaped, parameters=(SHAPE,))


def test_a_word_is_kept_and_the_kernel_gets_its_place():
    for given, place in (({}, 1), ({"shape": "flat"}, 0), ({"shape": "deep2.5"}, 2)):
        checked = ENTRY.check_parameters(given)
        assert ENTRY.fill(100, None, checked) == Shaped(place)
        assert checked["shape"] in SHAPE.choices
    assert canonical(ENTRY.check_parameters({})) == '{"shape":"round"}'
    assert SHAPE.range == "one of flat, round, deep2.5"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("rond", "shape: got 'rond'; allowed: deep2.5, flat, round; closest: round"),
        (1, "shape: got 1; allowed: deep2.5, flat, round"),
        (None, "shape: got None; allowed: deep2.5, flat, round"),
        (float("nan"), "shape: got nan; allowed: deep2.5, flat, round"),
    ],
)
def test_anything_else_is_one_clear_line(value, says):
    with pytest.raises(InputError) as caught:
        ENTRY.check_parameters({"shape": value})
    assert str(caught.value).startswith(says)
