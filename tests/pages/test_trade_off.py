"""The Trade-off: its numbers are those of the runner's rows, and it can be stopped."""

from __future__ import annotations

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from obmc.experiments import run
from obmc.limits import epsilons_between
from obmc.offers import CALIBRATIONS, OFFERS
from obmc.single import Setting
from obmc.summary import as_frame, summarise

SMALL = {"size": "20", "obs": "0.6", "points": "2", "draws": "3"}
PRIVATE = [offer for offer in OFFERS.values() if offer.private]


def choose(at: AppTest, *labels: str) -> AppTest:
    return at.pills(key="mechs").set_value(list(labels)).run()


def compute(at: AppTest, settle) -> AppTest:
    return settle(at.button(key="compute").click().run())


def traces(at: AppTest) -> dict[str, dict]:
    (chart,) = at.get("plotly_chart")
    return {trace["name"]: trace for trace in json.loads(chart.proto.spec)["data"]}


def values(array) -> np.ndarray:
    if isinstance(array, dict):
        return np.frombuffer(base64.b64decode(array["bdata"]), dtype=array["dtype"])
    return np.asarray(array, dtype=float)


@pytest.mark.parametrize(("calibration", "noise"), list(zip(CALIBRATIONS, ["logistic", "gaussian"], strict=True)))
def test_chart_and_table_show_the_runner_s_rows(open_page, settle, calibration, noise):
    at = open_page(cal=calibration, noise=noise, **SMALL)
    at.select_slider(key="range").set_value((4.0, 10.0))
    at = compute(choose(at, *(offer.label for offer in PRIVATE)), settle)
    setting = Setting(noise=noise, size=20, ratio=0.6)
    parts = setting.sweeps([offer.spec(calibration) for offer in PRIVATE], epsilons_between(4.0, 10.0, 2), 3)
    with ThreadPoolExecutor(1) as executor:
        expected = summarise(as_frame(row for part in parts for row in run(part, executor)))
    table = at.dataframe[-1].value
    for offer in PRIVATE:
        spec = offer.spec(calibration)
        rows = expected[
            (expected["mechanism"] == spec.name)
            & (expected["calibration"] == spec.calibration)
            & (expected["options"] == spec.options_text)
        ].sort_values("epsilon")
        assert list(rows["count"]) == [3, 3]
        trace = traces(at)[offer.label]
        np.testing.assert_allclose(values(trace["x"]), [4.0, 10.0])
        np.testing.assert_allclose(values(trace["y"]), rows["mean"])
        shown = table[table["series"] == offer.label].sort_values("epsilon")
        np.testing.assert_allclose(shown[["mean", "low", "high"]], rows[["mean", "low", "high"]])
    clear = expected[(expected["mechanism"] == "Clear") & (expected["options"] == "{}")]
    np.testing.assert_allclose(values(traces(at)["Clear"]["y"]), clear["mean"].iloc[0])
    np.testing.assert_allclose(values(traces(at)["All zeros"]["y"]), 1.0)
    assert any("Seed 0" in caption.value for caption in at.caption)


def test_what_has_no_epsilon_can_be_chosen_alone_and_is_a_line(open_page, settle):
    at = compute(choose(open_page(**SMALL), "Clear with effects"), settle)
    table = at.dataframe[-1].value.set_index("series")
    assert list(table.index) == ["Clear", "Clear with effects", "All zeros"]
    np.testing.assert_allclose(values(traces(at)["Clear with effects"]["y"]), table.loc["Clear with effects", "mean"])
    assert table["epsilon"].isna().all()


def test_the_chart_has_words_that_state_its_numbers(open_page, settle):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    (chart,) = at.get("plotly_chart")
    table = at.dataframe[-1].value
    low = table[(table["series"] == "InP") & (table["epsilon"] == 0.5)].iloc[0]
    assert f"InP: {low['mean']:.3f} at epsilon 0.5" in chart.proto.alt
    assert "All zeros 1.000" in chart.proto.alt


def test_without_a_mechanism_a_sentence_says_what_to_do(open_page):
    at = choose(open_page(**SMALL))
    assert [error.value for error in at.error] == ["Choose at least one mechanism."]


def test_a_sweep_can_be_cancelled_and_keeps_what_is_there(open_page, settle, runner):
    at = choose(open_page(**SMALL), "InP")
    free = Event()
    runner.executor.submit(free.wait, 30)
    try:
        at.button(key="compute").click().run()
        assert "of 9 runs" in at.get("progress")[0].proto.text
        at.button(key="cancel").click().run()
    finally:
        free.set()
    settle(at)
    assert at.get("progress")[0].proto.text.startswith("Cancelled after")
    assert not any(button.label == "Cancel" for button in at.button)
    assert compute(at, settle).get("progress")[0].proto.text.startswith("Done: 9 runs")


def test_the_chart_stays_when_controls_move_and_says_so(open_page, settle):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    before = values(traces(at)["InP"]["y"])
    at.number_input(key="seed").set_value(7).run()
    np.testing.assert_array_equal(values(traces(at)["InP"]["y"]), before)
    assert any("something else" in caption.value for caption in at.caption)
    after = values(traces(compute(at, settle))["InP"]["y"])
    assert np.abs(after - before).max() > 1e-3
    assert not any("something else" in caption.value for caption in at.caption)


def test_the_job_survives_a_change_of_page(open_page, settle):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    before = values(traces(at)["InP"]["y"])
    settle(at.switch_page("playground.py").run())
    assert at.title[0].value == "Playground"
    settle(at.switch_page("trade_off.py").run())
    np.testing.assert_array_equal(values(traces(at)["InP"]["y"]), before)


@pytest.mark.parametrize("address", [{"points": "1"}, {"draws": "x"}, {"range": "a"}, {"mechs": "nothing"}])
def test_a_wrong_address_falls_back(open_page, address):
    at = open_page(**address)
    assert not at.exception and at.button(key="compute").label == "Compute"


@pytest.mark.data
def test_restaurants_have_the_majority_class_as_a_line(open_page, settle):
    at = compute(choose(open_page(data="rc", points="2", draws="3"), "InP"), settle)
    table = at.dataframe[-1].value
    majority = table[table["series"] == "Majority class"].iloc[0]
    assert isinstance(table, pd.DataFrame) and 0.5 < majority["mean"] < 0.7 and majority["count"] == 3
    np.testing.assert_allclose(values(traces(at)["Majority class"]["y"]), majority["mean"])
