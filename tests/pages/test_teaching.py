"""The teaching notes follow the exercises, lead to views that exist, and have no number that is not computed."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from obmc import lessons
from pages.parts import learn_exercises, privacy_check_controls, share

NOTES = Path(__file__).parents[2] / "docs" / "teaching.md"
EXERCISES = learn_exercises.SHORT + learn_exercises.FURTHER
PARTS = re.findall(r"^### (\d+)–(\d+): (.*)\n((?:(?!#).*\n)*)", NOTES.read_text("utf-8"), re.M)
# What an exercise asks about: its settings, and counts of its own.
ASKED = {
    "odds": "0 1 4 10 50% 1% 100%",
    "game": "95%",
    "bridge": "400",
    "users": "1 4 65 737 0",
    "noises": "1 4 10",
    "two-probabilities": "1",
    "rare-events": "500 100000 0 2 1",
    "looks": "1 10",
    "bounds": "1 15% 80%",
}
KEYS = [exercise.key for exercise in EXERCISES]
FORMS = (".0f", ".1f", ".2f", ".3f", ".6f", ".3g", ".2g", ".1%", ".0%", ".3%")


def test_the_parts_are_the_exercises_in_their_order_and_time() -> None:
    ends = list(accumulate(exercise.minutes for exercise in EXERCISES))
    starts = [0, *ends[:-1]]
    assert [(int(low), int(high), title) for low, high, title, _ in PARTS] == [
        (low, high, exercise.title) for low, high, exercise in zip(starts, ends, EXERCISES, strict=True)
    ]


@pytest.mark.parametrize(
    ("exercise", "text"), [(exercise, part[-1]) for exercise, part in zip(EXERCISES, PARTS, strict=True)], ids=KEYS
)
def test_every_number_is_computed_or_asked_about(exercise: learn_exercises.Exercise, text: str) -> None:
    computed = dict(lessons.solve(exercise.key))
    if exercise.key == "rare-events":
        claims = lessons.claims()
        computed |= {name: claims[name] for name in ("gaussian_false_below", "gaussian_proven_from")}
    known = {format(value, form) for value in computed.values() for form in FORMS}
    known |= set(ASKED.get(exercise.key, "").split())
    plain = re.sub(r"`[^`]*`|[+−]1\b", "", text).replace(" %", "%")
    told = [number.replace(",", "") for number in re.findall(r"\d[\d,]*(?:\.\d+)?%?", plain.replace(", ", "; "))]
    assert [number for number in told if number not in known] == []
    answer = plain.partition("*Answer.*")[2]
    assert len(re.findall(r"\d", answer)) >= 2, "an answer without a number"


def test_every_address_opens_something() -> None:
    addresses = re.findall(r"`(?:http://[^/`]+)?/(\w+\?[^`]+)`", NOTES.read_text("utf-8"))
    assert len(addresses) >= len(EXERCISES)
    known = {control.key: control for control in (*share.known("synthetic"), *privacy_check_controls.SHORTCUTS)}
    for address in addresses:
        parts = urlsplit(address)
        assert (Path(share.__file__).parents[1] / f"{parts.path}.py").is_file()
        for key, texts in parse_qs(parts.query, strict_parsing=True).items():
            known[key].check(texts)
