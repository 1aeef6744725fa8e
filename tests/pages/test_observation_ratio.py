"""The Observation ratio: its three views show the same rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from page_figures import drawn, numbers, traces
from streamlit.testing.v1 import AppTest

from obmc.experiments import run
from obmc.offers import OFFERS
from obmc.plan import Plan, curves_of
from obmc.single import Setting
from obmc.summary import as_frame, summarise

PAGE = "observation_ratio.py"
SMALL = {"size": "20", "reps": "3"}
RATIOS = (0.4, 0.5)
EPSILONS = (1.0, 5.0)


def opened(open_page, settle, **address: str) -> AppTest:
    at = open_page(PAGE, settle=False, **SMALL, **address)
    at.select_slider(key="ratios").set_value((RATIOS[0], RATIOS[1]))
    at.multiselect(key="epsilons").set_value(list(EPSILONS))
    at.pills(key="mechs").set_value(["InP", "ObjP"]).run()
    return settle(at.button(key="compute").click().run())


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    curves = curves_of([OFFERS["inp"], OFFERS["objp"]], ("rigorous",))
    plan = Plan(Setting(size=20), curves, EPSILONS, 3, "are", RATIOS)
    with ThreadPoolExecutor(1) as executor:
        rows = as_frame(row for sweep in plan.sweeps for row in run(sweep, executor))
    keys = ("mechanism", "calibration", "options", "epsilon")
    return summarise(rows[rows["metric"] == "are"], "ratio", keys)


def of(table: pd.DataFrame, mechanism: str, epsilon: float) -> pd.DataFrame:
    return table[(table["mechanism"] == mechanism) & (table["epsilon"] == epsilon)].sort_values("ratio")


def test_all_views_show_the_rows(open_page, settle, expected):
    at = opened(open_page, settle)
    chart = traces(drawn(at)["observation-ratio"])
    for name in ("InP", "ObjP"):
        np.testing.assert_allclose(numbers(chart[name]["x"]), RATIOS)
        np.testing.assert_allclose(numbers(chart[name]["y"]), of(expected, name, 1.0)["mean"])
    np.testing.assert_allclose(numbers(chart["Clear"]["y"]), of(expected, "Clear", np.inf)["mean"])
    np.testing.assert_allclose(numbers(chart["All zeros"]["y"]), 1.0)

    at = settle(at.get("button_group")[-1].set_value("Curve per epsilon").run())
    chart = traces(drawn(at)["observation-ratio"])
    for epsilon in EPSILONS:
        np.testing.assert_allclose(numbers(chart[f"epsilon = {epsilon:g}"]["y"]), of(expected, "InP", epsilon)["mean"])


def test_the_heat_map_has_every_epsilon_and_ratio(open_page, settle, expected):
    at = opened(open_page, settle, view="Heat map")
    heat, _ = drawn(at)["heat-map"]["data"]
    assert heat["x"] == ["1", "5"] and heat["y"] == ["40%", "50%"]
    for place, epsilon in enumerate(EPSILONS):
        np.testing.assert_allclose(numbers(heat["z"])[:, place], of(expected, "InP", epsilon)["mean"])
    assert "at epsilon" in drawn(at)["heat-map"]["alt"]


def test_without_epsilons_or_mechanisms_a_sentence_says_so(open_page, settle):
    at = open_page(PAGE, settle=False, **SMALL)
    at.pills(key="mechs").set_value([]).run()
    assert [error.value for error in at.error] == ["Choose at least one mechanism."]
    at.pills(key="mechs").set_value(["InP"])
    at.multiselect(key="epsilons").set_value([]).run()
    assert [error.value for error in at.error] == ["Choose at least one epsilon."]
