"""Compare: pins are kept with their settings, drawn from their rows, named and removed, and come in by any door."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from page_figures import drawn, numbers, traces

from obmc import pins
from obmc.experiments import jobs, run
from obmc.pins import Pin
from obmc.single import Setting
from obmc.summary import as_frame, differences

PAGE = "compare.py"
SETTING = Setting(size=20, ratio=0.6)
PINS = [Pin(f"Mine {key}", key, "rigorous", SETTING, (1.0, 10.0), 3) for key in ("inp", "objp")]


def computed(pin: Pin, store):
    with ThreadPoolExecutor(1) as executor:
        rows = as_frame(row for sweep in pin.plan.sweeps for row in run(sweep, executor, store))
    spec = pin.plan.curves[0].spec
    return rows[(rows["metric"] == "are") & (rows["mechanism"] == spec.name)]


def test_pins_of_the_address_are_drawn_and_subtracted(open_page, runner):
    rows = [computed(pin, runner.store) for pin in PINS]
    at = open_page(PAGE, settle=False, pins=pins.to_text(PINS))
    assert not at.exception and not at.warning
    chart = traces(drawn(at)["compare"])
    for pin, mine in zip(PINS, rows, strict=True):
        np.testing.assert_allclose(numbers(chart[pin.name]["y"]), mine.groupby("epsilon")["value"].mean())
    shown = at.dataframe[-1].value
    expected = differences(rows[1], rows[0])
    assert list(shown["pin"]) == ["Mine objp"] * 2 and shown["paired"].all()
    np.testing.assert_allclose(shown[["difference", "low", "high"]], expected[["difference", "low", "high"]])


def test_a_curve_is_pinned_named_and_removed(open_page, settle):
    at = open_page(size="20", obs="0.6", draws="3", points="2", settle=False)
    at.button(key="pin").click().run()
    assert any("1 in all" in caption.value for caption in at.caption)
    at = at.switch_page(PAGE).run()
    (pin,), _ = pins.from_text(at.session_state["pins"])
    assert (pin.offer, pin.setting, pin.repetitions) == ("inp", SETTING, 3)
    at.text_input(key=f"name-0-{pin.name}").set_value("A name: of | mine;").run()
    (pin,), _ = pins.from_text(at.session_state["pins"])
    assert pin.name == "A name of mine"
    at.button(key="remove-0").click().run()
    assert any("Nothing is pinned yet" in info.value for info in at.info)


def test_what_is_no_pin_is_named_and_left_out(open_page):
    at = open_page(PAGE, settle=False, pins=f"{pins.to_text(PINS[:1])}|name:x;mech:nothing;eps:1;draws:3")
    assert not at.exception
    assert any("Pin 2 was left out" in warning.value for warning in at.warning)
    assert any("runs are missing" in info.value for info in at.info)


def test_while_a_pin_is_computed_its_progress_is_told_and_the_end_is_seen(open_page, settle, busy):
    with busy():
        at = open_page(PAGE, settle=False, pins=pins.to_text(PINS[:1]))
        at.button(key="compare-compute").click().run()
        # The button's own run ends with the job begun; the next shows how far it is.
        at.run()
        assert any("runs are missing" in info.value for info in at.info)
        assert len(at.get("progress")) == 1
    settle(at)
    assert not at.info and not at.get("progress")
    assert set(traces(drawn(at)["compare"])) >= {PINS[0].name}


def test_what_is_computed_can_be_cancelled_and_begun_again(open_page, settle, busy, runner):
    at = open_page(PAGE, settle=False, pins=pins.to_text(PINS[:1]))
    with busy():
        at.button(key="compare-compute").click().run()
        assert "of 12 runs" in at.get("progress")[0].proto.text
        at.button(key="cancel").click().run()
        assert not any(button.label == "Cancel" for button in at.button)
    for job in runner.statuses():
        runner.wait(job.key, "a test", 30)
    at.run()
    assert any("Cancelled after" in caption.value for caption in at.caption)
    at = settle(at.button(key="compare-compute").click().run())
    assert PINS[0].name in traces(drawn(at)["compare"])


def test_a_computation_that_fails_says_why(open_page, runner, monkeypatch):
    def failing(*_):
        raise ValueError("out of cheese")

    monkeypatch.setattr(jobs, "run", failing)
    at = open_page(PAGE, settle=False, pins=pins.to_text(PINS[:1]))
    at.button(key="compare-compute").click().run()
    for job in runner.statuses():
        runner.wait(job.key, "a test", 30)
    at.run()
    assert not at.exception
    assert any("out of cheese" in error.value for error in at.error)
