"""The settings file: what is written comes back, and what comes from elsewhere is bounded, named and harmless."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

from obmc import settings
from obmc.limits import read_number, written
from obmc.pins import MAX_PINS, Pin
from obmc.single import Setting

PIN = Pin("Mine", "inp", "rigorous", Setting(), (1.0, 2.5), 3)

values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)


def texts_of(value: Any) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [written(item) for item in several]


@effort(max_examples=25, deadline=None)
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,10}", fullmatch=True), st.one_of(values, st.lists(values, max_size=5))))
def test_whatever_is_written_is_read(given_values):
    text = settings.write("trade_off", given_values, [PIN])
    found = settings.read(text.encode())
    assert found.texts == {key: texts_of(value) for key, value in given_values.items()}
    assert (found.page, found.pins, found.notes) == ("trade_off", [PIN], [])


def test_half_a_character_is_none():
    found = settings.read(rb'{"settings": {"user": "a\ud800", "\uDFFF": "1", "whole": "\ud83d\ude00"}}')
    assert found.texts == {"user": ["a?"], "?": ["1"], "whole": ["\U0001f600"]}


@effort(max_examples=25, deadline=None)
@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers()))
def test_a_number_s_text_is_exact(value):
    assert read_number(written(value)) == value


def test_a_file_without_pins_leaves_them_alone_and_one_with_a_mark_is_read():
    found = settings.read(b'\xef\xbb\xbf{"settings": {"eps": 2}}')
    assert found.texts == {"eps": ["2"]} and found.pins is None and found.page == ""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"[1, 2]", "neither settings nor"),
        (b"null", "neither settings nor"),
        (b'{"settings": 3, "pins": "x"}', "neither settings nor"),
        (b'{"settings": {"seed": ' + b"9" * 5_000 + b"}}", "beyond all bounds"),
        (b'{"settings": {"a": ' + b"[" * 50_000, "beyond all bounds"),
        (b'{"a": ' * 15_000, "beyond all bounds"),
        (b"\x00\x01\x02", "not valid JSON"),
        (b"\xff", "not text in UTF-8"),
        (b"x" * (settings.MAX_BYTES + 1), "at most 100,000"),
        (b"PK\x03\x04" + bytes(range(256)), "not text in UTF-8"),
    ],
)
def test_what_is_no_settings_file_is_refused_in_a_sentence(content, message):
    with pytest.raises(ValueError, match=message) as caught:
        settings.read(content)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["{}", "null", "[[1], [2]]", '[{"a": 1}]', str(list(range(200)))])
def test_a_value_that_no_setting_has_is_left_out(value):
    found = settings.read(f'{{"settings": {{"eps": {value}, "seed": 3}}}}'.encode())
    assert found.texts == {"seed": ["3"]}
    assert found.notes == ["The file has 'eps' with a value that no setting has. It was left out."]


def test_what_is_there_twice_is_named_and_the_last_counts():
    found = settings.read(b'{"settings": {"eps": 2, "eps": 3, "eps": 4, "seed": 1}, "settings": {"eps": 5}}')
    assert found.texts == {"eps": ["5"]}
    assert found.notes == [
        f"The file has '{key}' more than once in one place: the last one counts." for key in ("eps", "settings")
    ]


def test_numbers_that_are_none_stay_texts_for_the_controls_to_refuse():
    found = settings.read(b'{"settings": {"a": Infinity, "b": NaN, "c": true, "d": 1e300, "e": 1e999}}')
    assert found.texts == {"a": ["inf"], "b": ["nan"], "c": ["true"], "d": ["1e+300"], "e": ["inf"]}


def test_bad_pins_and_parts_are_named_and_the_rest_stays():
    pins = [1, "x", {"name": "A"}, {"name": "B", "mech": "inp", "eps": [1], "draws": 3, "shell": "rm"}]
    found = settings.read(json.dumps({"pins": pins, "run": "x", "page": 7}).encode())
    assert found.pins == [] and found.page == "" and len(found.notes) == 5
    assert "'run', which is no part of a settings file" in found.notes[0]
    assert "Pin 1 was left out: it has no keys." in found.notes and "'shell' is no part of a pin" in found.notes[-1]
    assert settings.read(settings.write("compare", {"eps": 1.0}).encode()).pins is None
    many = settings.write("compare", {}, [PIN] * (MAX_PINS + 5))
    assert len(settings.read(many.encode()).pins or []) == MAX_PINS
