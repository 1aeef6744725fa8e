"""Take it away: files hold what the page draws and are made when asked for; settings leave and come back whole."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pandas as pd
import pytest
from page_figures import drawn, numbers, traces
from streamlit.testing.v1 import AppTest

from obmc import limits, pins, settings
from obmc.experiments import run
from obmc.export import EXPORTS
from obmc.pins import Pin
from obmc.single import Setting
from pages.parts import (
    controls,
    curve_controls,
    pinning,
    privacy_check_controls,
    reproduction_controls,
    settings_file,
    share,
    taking,
)

SMALL = {"size": "20", "obs": "0.6", "points": "2", "draws": "3", "mechs": ["InP"]}
PINS = (Pin("Émile 😀", "inp", "rigorous", Setting(size=20, ratio=0.6, sigma=0.1234567), (1.0, 10.0), 3),)
Files = Callable[[str], bytes]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Files:
    """The file behind the button of a format as the page has drawn it last, made when this is called."""
    known: dict[str, Any] = {}
    draw = taking.st.download_button

    def recorded(label: str, data: Any, *args: Any, **kwargs: Any) -> bool:
        known[kwargs["key"]] = (label, data, kwargs["help"], args)
        return draw(label, data, *args, **kwargs)

    monkeypatch.setattr(taking.st, "download_button", recorded)

    def made(key: str) -> bytes:
        label, data, help_, (file, media) = known[f"take-{key}"]
        export = EXPORTS[key]
        assert (label, help_, media) == (export.label, export.help, export.media_type) and file.endswith(export.ending)
        return data()

    return made


def buttons(at: AppTest) -> list[dict[str, Any]]:
    """The buttons that the browser draws."""
    found = [json.loads(element.proto.json) for element in at.get("bidi_component")]
    return next(data["buttons"] for data in found if "buttons" in data)


def table(content: bytes) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(content), keep_default_na=False, na_values=[""])


def test_every_format_has_its_button_and_holds_what_the_chart_draws(open_page, settle, files, monkeypatch):
    made = []
    exhibit = taking.Exhibit
    monkeypatch.setattr(taking, "Exhibit", lambda *args: made.append(args) or exhibit(*args))
    at = open_page(loss="true", **SMALL)
    at = settle(at.button(key="compute").click().run())
    assert made == []
    found = {key: files(key) for key, export in EXPORTS.items() if export.make is not None}
    assert len(made) == len(found)
    assert {button["label"] for button in buttons(at)} == {EXPORTS["svg"].label, EXPORTS["png"].label}
    assert all(button["chart"] == "trade-off" and button["help"] for button in buttons(at))
    chart = traces(drawn(at)["trade-off"])["InP"]
    shown = table(found["csv"])
    inp = shown[shown["series"] == "InP"]
    np.testing.assert_array_equal(inp["mean"], numbers(chart["y"]))
    np.testing.assert_array_equal(inp[["low", "high"]], numbers(chart["customdata"])[:, :2])
    assert set(inp["quantity"]) == {"loss against Clear"} and set(inp["seed"]) == {0}
    drawn_in_table = at.dataframe[-1].value
    np.testing.assert_array_equal(drawn_in_table["mean"], shown["mean"])
    assert '"loss": true' in found["settings"].decode() and b"loss=True" in found["script"]
    assert b"loss=true" in found["report"]


def test_the_heat_map_and_the_playground_are_taken_away_as_drawn(open_page, settle, files):
    small = {"size": "20", "reps": "3", "epsilons": ["1", "5"], "ratios": ["40%", "50%"], "mechs": ["InP"]}
    at = open_page("observation_ratio.py", settle=False, view="Heat map", **small)
    settle(at.button(key="compute").click().run())
    heat, _ = drawn(at)["heat-map"]["data"]
    cells = table(files("csv")).pivot_table(index="ratio", columns="epsilon", values="mean")
    np.testing.assert_array_equal(cells.to_numpy(), numbers(heat["z"]))
    assert {button["chart"] for button in buttons(at)} == {"heat-map"}
    at = settle(at.switch_page("playground.py").run())
    score = table(files("csv")).set_index("series")["mean"]
    assert at.metric[0].value == f"{score['Clear']:.3f}"
    assert {button["chart"] for button in buttons(at)} == {f"picture-{place}" for place in range(4)}
    assert not any(button.key == "take-draws" for button in at.download_button)


def test_compare_is_taken_away_with_its_differences(open_page, runner, files):
    two = (*PINS, Pin("B", "objp", "paper", Setting(size=20, ratio=0.6), (1.0, 10.0), 3))
    with ThreadPoolExecutor(1) as executor:
        for pin in two:
            for sweep in pin.plan.sweeps:
                list(run(sweep, executor, runner.store))
    at = open_page("compare.py", settle=False, pins=pins.to_text(two), minus="B")
    chart = traces(drawn(at)["compare"])
    shown = table(files("csv"))
    for pin in two:
        np.testing.assert_array_equal(shown[shown["series"] == pin.name]["mean"], numbers(chart[pin.name]["y"]))
    assert b"Each pin minus B" in files("report")
    assert 'base="B"' in files("script").decode()


# One state ------------------------------------------------------------------------------------------------------------

_GRID = {
    curve_controls.RANGE.key: limits.CURVE_GRID,
    curve_controls.RATIOS.key: limits.RATIO_GRID,
    curve_controls.EPSILONS.key: limits.CURVE_GRID,
    curve_controls.MECHANISMS.key: tuple(curve_controls.MECHANISMS.default),
    privacy_check_controls.EPSILON.key: limits.EPSILON_GRID,
    reproduction_controls.EPSILON.key: limits.RATIO_EPSILONS,
}


def random_state(rng: np.random.Generator, data: str) -> dict[str, Any]:
    """A value for every control of all pages, none at its default where there is another one."""
    found: dict[str, Any] = {pinning.TEXT.key: pins.to_text(PINS)}
    for control in share.known(data):
        if control.key == controls.PROJECTOR.key or control.read is str:
            # Large type has nothing to do with it, and what these may hold depends on the data or on the pins.
            continue
        if control is controls.DATA:
            found[control.key] = controls.DATA.titles[data]
        elif control.bound is not None:
            low, high = control.bound.low, control.bound.high
            whole = control.bound.whole
            found[control.key] = int(rng.integers(low, high + 1)) if whole else float(rng.uniform(low, high))
        elif control.key in _GRID:
            count = {(1, 1): 1, (2, 2): 2}.get(control.counts, 3)
            places = sorted(rng.choice(len(_GRID[control.key]), count, replace=False))
            picked = [_GRID[control.key][place] for place in places]
            found[control.key] = {1: picked[0], 2: tuple(picked)}.get(count, picked)
        elif control.titles:
            others = [title for title in control.titles.values() if title != control.default]
            found[control.key] = others[rng.integers(len(others))] if others else control.default
        else:
            assert isinstance(control.default, bool), control
            found[control.key] = not control.default
    return found


def held(at: AppTest) -> dict[str, Any]:
    """What the widgets of a page hold, by their keys, several values as a list."""
    found = {widget.key: widget.value for kind in WIDGETS for widget in at.get(kind)}
    return {key: list(value) if isinstance(value, list | tuple) else value for key, value in found.items()}


@pytest.mark.parametrize(
    ("page", "data", "seed"),
    [
        ("trade_off.py", "synthetic", 1),
        ("observation_ratio.py", "rc", 2),
        ("compare.py", "ml-100k", 3),
    ],
)
def test_the_link_carries_every_control(open_page, page, data, seed):
    state = random_state(np.random.default_rng(seed), data)
    first = open_page(page, settle=False)
    for key, value in state.items():
        first.session_state[key] = value
    first.run()
    link = parse_qs(urlsplit(first.code[-1].value).query, keep_blank_values=True)
    second = open_page(page, settle=False, **link)
    assert not second.exception and not second.warning
    shown = {key: value for key, value in held(second).items() if key in state}
    assert len(shown) > 10 and shown == {key: value for key, value in held(first).items() if key in state}
    wanted = {key: value for key, value in state.items() if key in shown}
    if page != "compare.py":
        # There the pins decide which measures there are.
        assert shown == {key: list(value) if isinstance(value, tuple) else value for key, value in wanted.items()}
    # What belongs to other pages is in the link too, whether or not a widget of this page has read it.
    for control in share.known(data):
        if control.key in state and state[control.key] != control.default:
            several = state[control.key] if isinstance(state[control.key], list | tuple) else [state[control.key]]
            assert link[control.key] == [control.form(value) for value in several]


WIDGETS = (
    *("selectbox", "slider", "select_slider", "number_input", "toggle", "multiselect", "radio", "button_group"),
    *("text_input", "pills"),
)


def upload(at: AppTest, content: bytes) -> AppTest:
    at.file_uploader(key="open-settings").set_value(("a.json", content, "application/json")).run()
    return at.button(key="use-settings").click().run()


def test_a_settings_file_brings_back_every_control_on_its_page(open_page):
    state = random_state(np.random.default_rng(5), "rc")
    first = open_page("observation_ratio.py", settle=False)
    for key, value in state.items():
        first.session_state[key] = value
    first.run()
    text = first.session_state["_taken"].settings()
    found = settings.read(text.encode())
    assert (found.page, found.pins, found.notes) == ("observation_ratio", list(PINS), [])
    other = upload(open_page("compare.py", settle=False, eps="7"), text.encode())
    assert not other.exception and [warning.value for warning in other.warning] == []
    assert [link.label for link in other.get("page_link")] == ["Observation ratio"]
    other.switch_page("observation_ratio.py").run()
    assert held(other) == held(first) and other.session_state["eps"] == state["eps"]
    assert other.session_state["_taken"].settings() == text
    other.button(key="settings-back").click().run()
    assert other.session_state["eps"] == 7.0


@pytest.mark.parametrize("text", [r'{"user": "\ud800"}', r'{"minus": "\uD800"}', r'{"\ud800": "1", "eps": 5}'])
def test_half_a_character_in_a_file_ends_no_page(open_page, text):
    at = upload(open_page("compare.py", settle=False, eps="7"), f'{{"settings": {text}}}'.encode())
    assert not at.exception
    assert any("?" in warning.value for warning in at.warning) or "user" in text or "minus" in text
    for page in ("trade_off.py", "playground.py", "observation_ratio.py"):
        at.switch_page(page).run()
        assert not at.exception
    assert at.button(key="settings-back") is not None


BAD: tuple[tuple[bytes, str], ...] = (
    (b"eps = 3", "not valid JSON"),
    (b"\xff\xfe\x00", "not text in UTF-8"),
    (b'{"settings": {"seed": ' + b"9" * 5_000 + b"}}", "beyond all bounds"),
)


def test_a_file_that_is_none_changes_nothing(open_page):
    at = open_page("compare.py", settle=False, eps="7", seed="5")
    for content, said in BAD:
        at = upload(at, content)
        (note,) = [warning.value.replace("\\", "") for warning in at.warning]
        assert said in note and note.endswith("Nothing was changed.")
        assert (at.session_state["eps"], at.session_state["seed"]) == (7.0, 5)


ODD: tuple[tuple[str, list[str], Any, str], ...] = (
    ("eps", ["banana"], 1.0, "must be a number"),
    ("eps", ["1e999"], 1.0, "must be a finite number"),
    ("eps", ["nan"], 1.0, "must be a finite number"),
    ("eps", ["1", "2"], 1.0, "may be there once"),
    ("eps", [], 1.0, "may be there once"),
    ("seed", ["-1"], 0, "whole number"),
    ("seed", ["true"], 0, "whole number"),
    ("size", ["1000000000"], 100, "from 20 to 500"),
    ("data", ["../../etc/passwd"], "Synthetic", "must be one of"),
    ("noise", ["<script>alert(1)</script>"], "Logistic", "must be one of"),
    ("cal", ["__import__('os')"], "Rigorous", "must be one of"),
    ("mechs", ["InP", "DROP TABLE"], list(curve_controls.MECHANISMS.default), "must be one of"),
    ("range", ["4"], limits.EPSILON_RANGE, "may be there twice"),
    ("range", ["10", "4"], (4.0, 10.0), ""),
    ("ratios", ["0.2", "0.8"], limits.RATIO_RANGE, "must be one of"),
    ("epsilons", [], [], ""),
    ("epsilons", ["1", "1", "1"], list(curve_controls.EPSILONS.default), "names one of them twice"),
    ("view", ["Table"], "Curve per mechanism", "must be one of"),
    ("loss", ["yes"], False, "must be one of"),
    ("metric", ["Speed"], "Average relative error", "must be one of"),
    ("measure", ["🐟" * 5_000], "Average relative error", "must be one of"),
    ("one", ["InP, paper"], "InP, paper", ""),
    ("want_are", ["-5"], 1.0, "finite number"),
)


@pytest.mark.parametrize(("key", "texts", "value", "said"), ODD)
def test_a_value_that_no_control_takes_falls_back_with_a_note(key, texts, value, said):
    notes: list[str] = []
    state = settings_file.state_of({key: texts}, notes)
    assert state[key] == value
    mine = [note for note in notes if note.startswith(f"{key} in the file")]
    assert (said in mine[0] and "Used instead" in mine[0] and len(mine[0]) < 900) if said else mine == []
    (missing,) = [note for note in notes if note.startswith("The file does not have")]
    assert "what these are at first is used" in missing
    assert all(
        state[control.key] == control.default for control in (controls.ALPHA, controls.RANK) if control.key != key
    )


def test_what_is_no_setting_is_named_and_without_settings_only_pins_are_taken():
    notes: list[str] = []
    settings_file.state_of({"x" * 500: ["1"], "eps": ["2"]}, notes)
    assert notes[0].startswith("The file has xxx") and len(notes[0]) < 120
    found = settings.read(json.dumps({"pins": [pin.to_dict() for pin in PINS]}).encode())
    assert found.texts is None and found.pins == list(PINS)
