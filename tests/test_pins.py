"""Pins come back from their text and their file as they were, and bad ones are named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from obmc import pins
from obmc.offers import OFFERS
from obmc.pins import MAX_PINS, Pin
from obmc.single import Setting

SETTING = Setting(data="rc", noise="gaussian", sigma=0.5, alpha=2.0, rank=3, radius=0.4, seed=7)
ALL = [Pin(f"Pin of {key}", key, "paper", SETTING, (0.1, 2.5, 20.0), 12) for key in OFFERS if OFFERS[key].calibrated]


def test_text_and_file_give_the_same_pins_back() -> None:
    assert pins.from_text(pins.to_text(ALL)) == (ALL, [])
    assert pins.from_entries(json.loads(json.dumps([pin.to_dict() for pin in ALL]))) == (ALL, [])
    assert pins.from_text("") == ([], [])


def test_names_and_numbers_come_back_to_the_last_digit() -> None:
    odd = Pin('É😀 "quoted" \\ \x7f', "inp", "paper", replace(SETTING, sigma=1 / 3), (0.1 + 0.2,), 12)
    assert pins.from_text(pins.to_text([odd])) == ([odd], [])
    assert pins.from_entries([odd.to_dict()]) == ([odd], [])


def test_defaults_are_left_out() -> None:
    assert pins.to_text([Pin("A", "inp+", "rigorous", Setting(), (1.0,), 40)]) == "name:A;mech:inp+;eps:1;draws:40"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name:A;mech:best;eps:1;draws:3", "mechanism must be one of"),
        ("name:A;mech:inp;eps:x;draws:3", "epsilon must be a number"),
        ("name:A;mech:inp;eps:99;draws:3", "epsilon must be a finite number"),
        ("name:A;mech:inp;eps:1;draws:2", "repetitions must be"),
        ("name:A;mech:inp;eps:1", "a pin must have draws"),
        ("name:A;mech:inp;eps:1;draws:3;colour:red", "'colour' is no part of a pin"),
        ("name:A;mech:inp;eps:1;draws:3;data:moon", "data must be one of"),
        ("name:A;mech:inp;eps:1;eps:2;draws:3", "'eps' is there more than once"),
        ("name:A;mech:inp;eps:nan;draws:3", "epsilon must be a finite number"),
        ("name:A;mech:inp;eps:-1;draws:3", "epsilon must be a finite number"),
        ("name:A;mech:inp;eps:1,,2;draws:3", "epsilon must be a number"),
        ("name:A;mech:inp;eps:1,1;draws:3", "must name every value of epsilon once"),
        ("name:A;mech:inp;eps:" + "1," * 5_000 + "1;draws:3", "1 to 21 values"),
        ("name:A;mech:inp;eps:1;draws:3;seed:1e400", "seed must be a whole number"),
        ("name:A;mech:inp;eps:1;draws:3;size:" + "9" * 10_000, "size must be a whole number"),
        ("name:A;mech:../../etc/passwd;eps:1;draws:3", "mechanism must be one of"),
        ("name:" + "<b>" * 5_000 + ";mech:inp;eps:1;draws:3", "a pin's name must have 1 to 60"),
        ("\x00", "is no part of a pin"),
        ("\u202e" * 10_000, "is no part of a pin"),
    ],
)
def test_a_bad_pin_is_named_and_the_others_stay(text: str, message: str) -> None:
    found, notes = pins.from_text(f"{pins.to_text(ALL[:1])}|{text}")
    assert found == ALL[:1]
    assert len(notes) == 1 and notes[0].startswith("Pin 2 was left out: ") and message in notes[0]
    assert len(notes[0]) < 500


def test_of_very_many_pins_a_few_are_looked_at() -> None:
    found, notes = pins.from_text(pins.to_text(ALL[:1]) + "|x" * 100_000)
    assert found == ALL[:1]
    assert len(notes) == MAX_PINS and notes[-1] == "Only the first 12 of 100,001 pins were taken."


def test_names_stay_apart_and_pins_few() -> None:
    found: list[Pin] = []
    for _ in range(MAX_PINS):
        found = pins.with_pin(found, ALL[0])
    assert len({pin.name for pin in found}) == MAX_PINS
    with pytest.raises(ValueError, match="12 pins already"):
        pins.with_pin(found, ALL[0])
