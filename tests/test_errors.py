"""The checks for bad input: every refusal is one sentence with the argument's name and what is allowed."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from obmc.errors import (
    DataNotFoundError,
    RatingsError,
    check_array,
    check_choice,
    check_instance,
    check_integer,
    check_number,
    check_numbers,
    check_shape,
)


def one_sentence(message: str, name: str) -> bool:
    """Whether the message starts with the name, ends with one full stop and shows nothing internal."""
    return message.startswith(name) and message.endswith(".") and "\n" not in message and "Traceback" not in message


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1.0), np.int8(1), Fraction(1, 1), np.float64(1.0)])
def test_a_number_of_any_numeric_type_becomes_a_float(value: Any) -> None:
    number = check_number("epsilon", value, low=0.0)
    assert type(number) is float
    assert number == 1.0


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, 10**400, "1", None, True, 1j, [1.0], np.array(1.0), Decimal("1"), object(), np.nan],
)
def test_what_is_no_finite_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="epsilon") as caught:
        check_number("epsilon", value, low=0.0, high=20.0)
    assert one_sentence(str(caught.value), "epsilon")
    assert "of at least 0 and at most 20" in str(caught.value)


@pytest.mark.parametrize(
    ("limits", "inside", "outside", "words"),
    [
        ({"low": 0.0}, [0.0, 1e300], [-1e-300], "of at least 0"),
        ({"low": 0.0, "open_low": True}, [1e-300], [0.0, -0.0], "above 0"),
        ({"high": 0.5, "open_high": True}, [-1e300, 0.49], [0.5], "below 0.5"),
        ({"low": 0.0, "high": 1.0}, [0.0, 1.0], [1.0 + 1e-15], "of at least 0 and at most 1"),
        ({}, [0.0, -1e300], [math.inf], "of any finite size"),
    ],
)
def test_the_ends_of_a_range_are_kept_as_stated(limits: dict, inside: list, outside: list, words: str) -> None:
    for value in inside:
        assert check_number("x", value, **limits) == value
    for value in outside:
        with pytest.raises(ValueError, match=re.escape(words)):
            check_number("x", value, **limits)


def test_whole_numbers_of_any_type_become_ints() -> None:
    for value in (3, 3.0, np.int64(3), np.float64(3.0), np.uint8(3)):
        number = check_integer("rank", value, low=1, high=3)
        assert type(number) is int
        assert number == 3


@pytest.mark.parametrize("value", [0, 4, 1.5, math.nan, math.inf, True, "2", None, [2], 10**30])
def test_other_whole_numbers_are_refused_with_the_range(value: Any) -> None:
    with pytest.raises(ValueError, match="from 1 to 3") as caught:
        check_integer("rank", value, low=1, high=3)
    assert one_sentence(str(caught.value), "rank")


def test_a_choice_lists_what_there_is_whatever_was_given() -> None:
    assert check_choice("solver", "admm", ("admm", "spg")) == "admm"
    for value in ("ADMM", None, 3, ["admm"], np.array(["admm", "spg"]), {"admm"}):
        with pytest.raises(ValueError, match="'admm', 'spg'") as caught:
            check_choice("solver", value, ("admm", "spg"))
        assert one_sentence(str(caught.value), "solver")


@pytest.mark.parametrize("value", [None, 5, (5,), (5, 6, 7), "56", (0, 5), (5, -1), (5, 2.5), (True, 5), np.zeros(2)])
def test_what_is_no_shape_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="shape") as caught:
        check_shape("shape", value)
    assert one_sentence(str(caught.value), "shape")


def test_a_shape_may_be_a_list_of_whole_floats() -> None:
    assert check_shape("shape", [3.0, np.int64(4)]) == (3, 4)


def test_arrays_of_the_wrong_kind_are_refused() -> None:
    for values in ([[1], [2, 3]], 5, [[1.0]], None):
        with pytest.raises(ValueError, match="rows must be a one-dimensional array"):
            check_array("rows", values)
    for values in ([math.nan], [math.inf], ["1"], [1j], [None], [{}]):
        with pytest.raises(ValueError, match="labels must hold finite numbers only"):
            check_numbers("labels", values)
    with pytest.raises(ValueError, match="truth must be an array of 2 dimensions"):
        check_numbers("truth", [1.0], dimensions=2)


def test_numbers_become_floats_and_are_copied() -> None:
    values = np.arange(3.0)
    copied = check_numbers("labels", values)
    values[0] = 9.0
    assert copied.tolist() == [0.0, 1.0, 2.0]
    assert check_numbers("labels", [True, False]).dtype == np.float64


def test_a_value_of_the_wrong_type_is_named_by_its_type_alone() -> None:
    check_instance("obs", "x", str, "a text")
    with pytest.raises(ValueError, match=r"obs must be a text, got a list\.") as caught:
        check_instance("obs", ["a private rating"], str, "a text")
    assert "private" not in str(caught.value)


def test_the_packages_errors_are_the_built_in_ones_too() -> None:
    assert issubclass(RatingsError, ValueError)
    assert issubclass(DataNotFoundError, FileNotFoundError)


def test_a_long_value_is_quoted_in_part() -> None:
    with pytest.raises(ValueError, match=r"got '9{79} \.\.\.\.$"):
        check_number("epsilon", "9" * 100_000, low=0.1)
