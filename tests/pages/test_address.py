"""What an address may hold: wrong, huge, missing or hostile, it is answered in a note and harms nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from obmc import limits
from obmc.checks import PRESETS
from obmc.experiments.jobs import JobRunner
from pages.parts import address, controls, curve_controls, share

HOME, RATIO, LEARN, CHECK, PLAYGROUND = (
    "trade_off.py",
    "observation_ratio.py",
    "learn.py",
    "privacy_check.py",
    "playground.py",
)
LONG = "9" * 10_000
EPSILON, RATIOS = limits.EPSILON_RANGE, limits.RATIO_RANGE
# Page, parameter, its texts in the address, and what the control holds after all.
HOSTILE: tuple[tuple[str, str, tuple[str, ...], Any], ...] = (
    (LEARN, "eps", ("banana",), 1.0),
    (LEARN, "eps", ("",), 1.0),
    (LEARN, "eps", ("0",), 1.0),
    (LEARN, "eps", ("nan",), 1.0),
    (LEARN, "eps", ("1,5",), 1.0),
    (LEARN, "alpha", ("-3",), 1.0),
    (LEARN, "alpha", ("2", "3"), 1.0),
    (LEARN, "alpha", ("0x10",), 1.0),
    (LEARN, "alpha", ("-inf",), 1.0),
    (LEARN, "rank", ("1000000",), 1),
    (LEARN, "rank", ("一",), 1),
    (LEARN, "rank", ("-1",), 1),
    (LEARN, "radius", ("1e999",), 1.0),
    (LEARN, "radius", (LONG,), 1.0),
    (LEARN, "radius", ("1e-300",), 1.0),
    (LEARN, "obs", ("0",), 0.15),
    (LEARN, "obs", ("1.0001",), 0.15),
    (LEARN, "obs", ("0.5\x00",), 0.15),
    (LEARN, "size", ("100000",), 100),
    (LEARN, "size", ("-0.5e2",), 100),
    (LEARN, "seed", ("-1",), 0),
    (LEARN, "seed", ("99999999999999999999",), 0),
    (LEARN, "seed", ("__import__('os').system('true')",), 0),
    (LEARN, "noise", ("poisson",), "Logistic"),
    (LEARN, "noise", ("\u202ecitsigol",), "Logistic"),
    (LEARN, "data", ("../../etc/passwd",), "Synthetic"),
    (LEARN, "data", ("file:///etc/passwd",), "Synthetic"),
    (LEARN, "cal", ("**",), "Rigorous"),
    (LEARN, "cal", ("rigorous; DROP TABLE results",), "Rigorous"),
    (LEARN, "explain", ("1",), True),
    (LEARN, "projector", ("yes",), False),
    (LEARN, "chapter", ("<script>alert(1)</script>",), "Completion"),
    (PLAYGROUND, "mech", ("<img src=x onerror=alert(1)>",), "Clear"),
    (HOME, "points", ("999",), 21),
    (HOME, "points", ("2.5",), 2),
    (HOME, "draws", ("1",), 40),
    (HOME, "draws", ("１０００",), 40),
    (HOME, "range", ("3.5", "4"), (EPSILON[0], 4.0)),
    (HOME, "range", ("5",), EPSILON),
    (HOME, "range", ("nan", "inf"), EPSILON),
    (HOME, "range", ("1", "2", "3"), EPSILON),
    (HOME, "mechs", ("InP", "{{7*7}}"), ["InP"]),
    (HOME, "mechs", ("javascript:alert(1)",), list(curve_controls.MECHANISMS.default)),
    (HOME, "metric", ("0",), "Average relative error"),
    (HOME, "metric", ("a" * 10_000,), "Average relative error"),
    (HOME, "both", ("maybe",), False),
    (HOME, "logx", ("0",), True),
    (HOME, "loss", ("None",), False),
    (HOME, "single", ("truetrue",), False),
    (HOME, "want_are", ("-5",), 1.0),
    (RATIO, "ratios", ("0.2", "0.8"), RATIOS),
    (RATIO, "reps", ("1e9",), 10),
    (RATIO, "epsilons", ("0.7", "1"), [1.0]),
    (RATIO, "epsilons", ("1",) * 30, [1.0]),
    (RATIO, "view", ("Table",), "Curve per mechanism"),
    (CHECK, "look", ("%00",), "All mechanisms"),
    (CHECK, "look", ("One attack", "Guess the rating"), "One attack"),
)
# What makes a page cheap.
CHEAP = {PLAYGROUND: {"size": "20", "obs": "0.5"}}
CONTROLS = {control.key: control for control in share.known("synthetic")}
# Those whose choice does not depend on what is pinned, chosen or read: that is known where they are drawn only.
FIXED = {key: control for key, control in CONTROLS.items() if control.read is not str and key != curve_controls.ONE}


@pytest.fixture(autouse=True)
def one_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One cheap preset in place of all."""
    kept = PRESETS["clear"]
    for key in list(PRESETS):
        monkeypatch.delitem(PRESETS, key)
    monkeypatch.setitem(PRESETS, "clear", replace(kept, check=replace(kept.check, runs=40)))


@pytest.fixture
def opened(open_page) -> Callable[..., AppTest]:
    """Open a page at an address, made cheap."""

    def open_cheaply(page: str, **parameters: Sequence[str]) -> AppTest:
        at = open_page(page, settle=False, **{**CHEAP.get(page, {}), **parameters})
        assert not at.exception, at.exception[0].value
        return at

    return open_cheaply


def said(at: AppTest) -> list[str]:
    return [warning.value.replace("\\", "") for warning in at.warning]


def batches() -> list[tuple[str, dict[str, tuple[tuple[str, ...], Any]]]]:
    """The table in as few addresses as possible: each with a parameter once, and no more than are answered singly."""
    made: list[tuple[str, dict[str, tuple[tuple[str, ...], Any]]]] = []
    for page, key, texts, kept in HOSTILE:
        fitting = (found for of, found in made if of == page and key not in found and len(found) < address.MOST_NOTES)
        found = next(fitting, None)
        if found is None:
            found = {}
            made.append((page, found))
        found[key] = (texts, kept)
    return made


@pytest.mark.parametrize(("page", "parameters"), batches())
def test_what_no_control_can_take_falls_back_and_is_said(opened, runner: JobRunner, page, parameters):
    at = opened(page, **{key: list(texts) for key, (texts, _) in parameters.items()})
    notes = said(at)
    for key, (texts, kept) in parameters.items():
        (note,) = [note for note in notes if note.startswith(f"The address has {key}=")]
        assert f" Used instead, as {CONTROLS[key].label}: " in note
        assert len(note) < 600 and note.isprintable(), texts
        assert at.session_state[key] == kept
    assert len(notes) == len(parameters)
    assert not runner.statuses()


@pytest.mark.parametrize("control", FIXED.values(), ids=FIXED)
def test_every_control_refuses_what_it_does_not_know_and_takes_what_it_writes(control):
    least, most = control.counts
    for text in ("no such thing", "<b>", "nan", LONG, "\x00", "'"):
        with pytest.raises(ValueError, match=r"must be|may be there"):
            control.check([text] * max(least, 1))
    with pytest.raises(ValueError, match=f"{control.key} may be there .*, and is there {most + 1} times"):
        control.check(["1"] * (most + 1))
    default = control.default if isinstance(control.default, tuple) else (control.default,)
    assert tuple(control.check([control.form(value) for value in default])) == default


def test_a_page_that_is_left_without_a_choice_has_one(opened):
    for page, key in ((LEARN, "chapter"), (CHECK, "look"), (PLAYGROUND, "mech")):
        (note,) = said(opened(page, **{key: [""]}))
        assert note.endswith(f"Used instead, as {CONTROLS[key].label}: {CONTROLS[key].default}.")


def test_what_belongs_to_no_page_is_named_once(opened):
    at = opened(LEARN, chapter=["Glossary"], epsilon=["3"])
    assert said(at) == ["The address has epsilon, which is no setting of any page: without effect."]
    at.number_input(key="seed").set_value(3).run()
    assert said(at) == []
    many = {f"k{order}\n<b>": ["x" * 1000] for order in range(300)}
    at = opened(LEARN, chapter=["Glossary"], **many)
    (note,) = said(at)
    assert note.endswith("and 297 more, which are no settings of any page: without effect.") and len(note) < 300


def test_of_many_notes_a_few_are_shown(opened):
    keys = ("noise", "cal", "eps", "alpha", "rank", "radius", "obs", "size", "seed", "explain", "projector", "data")
    at = opened(LEARN, chapter=["Glossary"], **{key: ["?"] for key in keys})
    assert len(at.warning) == address.MOST_NOTES + 1
    assert said(at)[-1] == f"And {len(keys) - address.MOST_NOTES} more parameters of the address cannot be taken."


def test_a_shortcut_that_leads_nowhere_is_answered_until_a_control_is_moved(opened):
    at = opened(CHECK, preset=["<b>nothing</b>"], open=["Everything"])
    first = said(at)
    assert [re.match(r"The address has (\w+)=", note).group(1) for note in first] == ["preset", "open"]
    at.run()
    assert said(at) == first
    at.number_input(key="seed").set_value(3).run()
    assert said(at) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see www.example.org or a@b.c", r"see www\.example.org or a\@b.c"),
        ("https://x.y <b>**1**</b> `$x$`", r"https\://x.y \<b\>\*\*1\*\*\</b\> \`\$x\$\`"),
    ],
)
def test_a_quoted_text_makes_no_link_and_no_form(text, shown):
    assert controls.as_text(text) == shown
