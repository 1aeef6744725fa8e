"""The Trade-off: its numbers are those of the rows, what is missing is offered, and it can be stopped."""

from __future__ import annotations

import re
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pandas as pd
import pytest
from page_figures import drawn, numbers, traces
from streamlit.testing.v1 import AppTest

from obmc.experiments import MemoryStore, run
from obmc.experiments import runner as runs
from obmc.experiments.outcomes import Refusal
from obmc.known_rows import KnownRows
from obmc.offers import CALIBRATIONS, OFFERS
from obmc.plan import Plan, curves_of
from obmc.privacy.guarantee import odds
from obmc.single import Setting
from obmc.summary import as_frame, losses, summarise
from pages.parts import background

SMALL = {"size": "20", "obs": "0.6", "points": "2", "draws": "3"}
PRIVATE = [offer for offer in OFFERS.values() if offer.private]


def choose(at: AppTest, *labels: str) -> AppTest:
    return at.pills(key="mechs").set_value(list(labels)).run()


def compute(at: AppTest, settle) -> AppTest:
    return settle(at.button(key="compute").click().run())


def chart(at: AppTest) -> dict[str, dict]:
    return traces(drawn(at)["trade-off"])


def table(at: AppTest) -> pd.DataFrame:
    return at.dataframe[-1].value


def text(at: AppTest) -> str:
    return "\n".join(part.value for part in (*at.markdown, *at.caption)).replace("\\", "")


def of(rows: pd.DataFrame, offer, calibration: str) -> pd.DataFrame:
    spec = offer.spec(calibration)
    keys = (spec.name, spec.calibration, spec.options_text)
    return rows[(rows["mechanism"] == keys[0]) & (rows["calibration"] == keys[1]) & (rows["options"] == keys[2])]


def computed(noise: str, calibrations: tuple[str, ...], metric: str = "are", epsilons=(4.0, 10.0)) -> pd.DataFrame:
    """The rows of the small chart, computed apart from the page."""
    plan = Plan(Setting(noise=noise, size=20, ratio=0.6), curves_of(PRIVATE, calibrations), epsilons, 3, metric)
    with ThreadPoolExecutor(1) as executor:
        return as_frame(row for sweep in plan.sweeps for row in run(sweep, executor))


@pytest.mark.parametrize(("calibration", "noise"), list(zip(CALIBRATIONS, ["logistic", "gaussian"], strict=True)))
def test_chart_and_table_show_the_runner_s_rows(open_page, settle, calibration, noise):
    at = open_page(cal=calibration, noise=noise, **SMALL)
    at.select_slider(key="range").set_value((4.0, 10.0))
    at = compute(choose(at, *(offer.label for offer in PRIVATE)), settle)
    rows = computed(noise, (calibration,))
    expected = summarise(rows[rows["metric"] == "are"])
    for offer in PRIVATE:
        mine = of(expected, offer, calibration).sort_values("epsilon")
        assert list(mine["count"]) == [3, 3]
        trace = chart(at)[offer.label]
        np.testing.assert_allclose(numbers(trace["x"]), [4.0, 10.0])
        np.testing.assert_allclose(numbers(trace["y"]), mine["mean"])
        shown = table(at)[table(at)["series"] == offer.label].sort_values("epsilon")
        np.testing.assert_allclose(shown[["mean", "low", "high"]], mine[["mean", "low", "high"]])
    clear = expected[(expected["mechanism"] == "Clear") & (expected["options"] == "{}")]
    np.testing.assert_allclose(numbers(chart(at)["Clear"]["y"]), clear["mean"].iloc[0])
    np.testing.assert_allclose(numbers(chart(at)["All zeros"]["y"]), 1.0)
    assert "Seed 0" in text(at)


def test_the_other_measure_both_calibrations_losses_and_draws_are_of_the_same_rows(open_page, settle):
    at = open_page(metric="Sign accuracy", both="true", loss="true", single="true", eps="5", **SMALL)
    at.select_slider(key="range").set_value((4.0, 10.0))
    at = compute(choose(at, "InP", "ObjP"), settle)
    rows = computed("logistic", ("rigorous", "paper"), "sign_accuracy")
    mine = rows[rows["metric"] == "sign_accuracy"]
    lost = losses(mine)
    for offer in (OFFERS["inp"], OFFERS["objp"]):
        for calibration in CALIBRATIONS:
            label = f"{offer.label}, {calibration}"
            expected = summarise(of(lost, offer, calibration)).sort_values("epsilon")
            np.testing.assert_allclose(numbers(chart(at)[label]["y"]), expected["mean"], atol=1e-12)
            np.testing.assert_allclose(
                numbers(chart(at)[label]["customdata"])[:, :2], expected[["low", "high"]], atol=1e-12
            )
            single = chart(at)[f"{label}, single draws"]
            order = of(lost, offer, calibration)
            assert sorted(numbers(single["y"])) == pytest.approx(sorted(order["value"]))
    np.testing.assert_allclose(numbers(chart(at)["Clear"]["y"]), 0.0)
    # The sentence at the marker, between two points: interpolated draw by draw in log epsilon.
    share = np.log(5 / 4) / np.log(10 / 4)
    draws = of(mine, OFFERS["inp"], "paper").pivot(index="repetition", columns="epsilon", values="value")
    expected = 100 * ((1 - share) * draws[4.0] + share * draws[10.0]).mean()
    found = re.search(r"between 4 and 10, InP, paper is right (\d+\.\d) %", text(at))
    assert found is not None and float(found[1]) == pytest.approx(expected, abs=0.0501)
    assert "grow at most 149-fold (epsilon = 5 for the whole output)" in text(at)


def test_what_has_no_epsilon_can_be_chosen_alone_and_is_a_line(open_page, settle):
    at = compute(choose(open_page(**SMALL), "Clear with effects"), settle)
    shown = table(at).set_index("series")
    assert set(shown.index) == {"Clear", "Clear with effects", "All zeros"}
    np.testing.assert_allclose(numbers(chart(at)["Clear with effects"]["y"]), shown.loc["Clear with effects", "mean"])
    assert shown["epsilon"].isna().all()


def test_the_chart_has_words_that_state_its_numbers(open_page, settle):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    low = table(at)[(table(at)["series"] == "InP") & (table(at)["epsilon"] == 1.0)].iloc[0]
    words = drawn(at)["trade-off"]["alt"]
    assert f"InP: {low['mean']:.3f} at epsilon 1" in words
    assert "All zeros 1.000" in words
    assert f"At epsilon = 1, InP has a mean average relative error of {low['mean']:.3f}" in text(at)


def test_how_to_read_it_says_of_epsilon_and_delta_what_their_definition_says(open_page, settle):
    at = compute(open_page(mechs="InP", **SMALL), settle)
    said = text(at)
    # Rounded up, and of no guarantee but a proven one without a delta.
    assert f"{odds(10.0)}-fold at 10" in said and float(odds(10.0).replace(",", "")) >= np.exp(10.0)
    assert "proven for the whole output without a delta, the odds" in said
    assert "as likely under one sign as under the other, plus at most delta" in said


def test_the_epsilon_for_a_wanted_error_is_read_off_the_curve(open_page, settle):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    mine = table(at)[table(at)["series"] == "InP"].sort_values("epsilon")
    first, last = mine["mean"]
    wanted = round((first + last) / 2, 2)
    at.number_input(key="want_are").set_value(wanted).run()
    found = re.search(rf"InP reaches {wanted:g} from epsilon = ([\d.]+) on", text(at))
    assert found is not None
    assert float(found[1]) == pytest.approx(10 ** ((first - wanted) / (first - last)), rel=0.06)
    at.number_input(key="want_are").set_value(0.0).run()
    assert "InP does not reach 0 up to epsilon = 10." in text(at)


def test_without_a_mechanism_a_sentence_says_what_to_do(open_page):
    at = choose(open_page(**SMALL))
    assert [error.value for error in at.error] == ["Choose at least one mechanism."]


def test_what_is_missing_is_offered_with_its_time_and_only_that_is_computed(open_page, settle):
    at = choose(open_page(**SMALL), "InP")
    assert at.button(key="compute").label == "Compute the missing 12 runs"
    assert re.search(r"0 of the 12 runs .* are there. The rest takes about [\d.]+ \w+ on one worker", text(at))
    at = choose(compute(at, settle), "InP", "ObjP")
    assert at.button(key="compute").label == "Compute the missing 6 runs"
    assert "12 of the 18 runs" in text(at)
    at = compute(at, settle)
    assert not any(button.key == "compute" for button in at.button)


def test_a_sweep_can_be_cancelled_and_keeps_what_is_there(open_page, settle, busy):
    at = choose(open_page(**SMALL), "InP")
    with busy():
        at.button(key="compute").click().run()
        assert "of 12 runs" in at.get("progress")[0].proto.text
        at.button(key="cancel").click().run()
    end = time.monotonic() + 30
    while "Cancelled after" not in text(at.run()):
        assert time.monotonic() < end
    assert not any(button.label == "Cancel" for button in at.button)
    at = compute(at, settle)
    assert list(table(at)["count"]) == [3, 3, 3, 3]


def test_controls_that_move_change_the_chart_and_the_computation_goes_on(open_page, settle, busy):
    at = choose(open_page(**SMALL), "InP")
    with busy():
        at.button(key="compute").click().run()
        at.number_input(key="seed").set_value(7).run()
        assert "With other settings, 0 of" in text(at)
        at.number_input(key="seed").set_value(0).run()
        assert "of 12 runs" in at.get("progress")[0].proto.text
    at = settle(at)
    assert list(table(at)["count"]) == [3, 3, 3, 3]


def test_rows_that_are_gone_after_their_job_was_done_can_be_computed_again(open_page, settle, runner):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    assert not any(button.key == "compute" for button in at.button)
    runner.store = background.known().store = MemoryStore()
    background.known.clear()
    at.run()
    assert any("None of these points" in info.value for info in at.info)
    at = compute(at, settle)
    assert list(table(at)["count"]) == [3, 3, 3, 3]


def test_what_was_refused_is_not_offered_again(open_page, settle, runner, monkeypatch):
    def refusing(points, metrics):
        return [Refusal("out of cheese") if point.spec.is_private else outcome(point, metrics) for point in points]

    def outcome(point, metrics):
        return whole([point], metrics)[0]

    whole = runs.run_points
    monkeypatch.setattr(runs, "run_points", refusing)
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    assert any("out of cheese" in warning.value for warning in at.warning)
    assert not any(button.key == "compute" for button in at.button)


def test_runs_that_end_while_the_page_reads_the_rows_are_shown(open_page, settle, runner, monkeypatch):
    at = choose(open_page(**SMALL), "InP")
    free = Event()
    runner.executor.submit(free.wait, 30)
    read = KnownRows.find

    def slow(known: KnownRows, plan: Plan):
        found = read(known, plan)
        free.set()
        for job in runner.statuses():
            runner.wait(job.key, "a test", 30)
        return found

    at.button(key="compute").click().run()
    monkeypatch.setattr(KnownRows, "find", slow)
    at = settle(at.run())
    assert list(table(at)["count"]) == [3, 3, 3, 3]


@pytest.mark.parametrize("noise", ["logistic", "gaussian"])
def test_what_the_calibrations_change_is_told_for_the_chosen_mechanisms(open_page, noise):
    at = choose(open_page(noise=noise, **SMALL), "InP", "OutP", "InP+")
    (box,) = [part for part in at.expander if part.label.startswith("What the rigorous calibration changes")]
    (text,) = box.markdown
    shown = text.value.replace("\\", "").split("\n\n")
    curves = [curve for curve in curves_of(PRIVATE, ["paper"]) if curve.label in ("InP", "OutP")]
    plan = Plan(Setting(noise=noise, size=20, ratio=0.6), tuple(curves), (1.0,), 3, "are")
    assert box.label.endswith("epsilon = 1")
    assert shown == [f"**{curve.label}.** {plan.guarantee(curve, 1.0).rigorous_change}" for curve in curves]


def test_the_result_survives_a_change_of_page(open_page, settle):
    at = compute(choose(open_page(**SMALL), "InP"), settle)
    before = numbers(chart(at)["InP"]["y"])
    settle(at.switch_page("playground.py").run())
    assert at.title[0].value == "Playground"
    settle(at.switch_page("trade_off.py").run())
    np.testing.assert_array_equal(numbers(chart(at)["InP"]["y"]), before)


@pytest.mark.parametrize(
    "address", [{"points": "1"}, {"draws": "x"}, {"range": "a"}, {"mechs": "nothing"}, {"metric": "?"}, {"both": "7"}]
)
def test_a_wrong_address_falls_back(open_page, address):
    at = open_page(**address)
    assert not at.exception and at.button(key="compute").label.startswith("Compute the missing")


def test_a_results_file_that_cannot_be_used_is_a_note_and_results_stay_in_memory(
    tmp_path, monkeypatch, open_page, settle
):
    bad = tmp_path / "bad.sqlite3"
    bad.write_text("this is no database, and long enough for one to be looked for in it" * 20)
    monkeypatch.setenv("OBMC_RESULTS", str(bad))
    at = open_page(**SMALL)
    assert any("in memory only" in warning.value and "damaged" in warning.value for warning in at.warning)
    at = compute(choose(at, "InP"), settle)
    assert len(numbers(chart(at)["InP"]["y"])) == 2


@pytest.mark.data
def test_restaurants_have_the_majority_class_as_a_line(open_page, settle):
    at = compute(choose(open_page(data="rc", points="2", draws="3"), "InP"), settle)
    majority = table(at)[table(at)["series"] == "Majority class"].iloc[0]
    assert 0.5 < majority["mean"] < 0.7 and majority["count"] == 3
    np.testing.assert_allclose(numbers(chart(at)["Majority class"]["y"]), majority["mean"])


def test_without_the_data_a_chart_says_how_to_get_them(open_page, empty_data_home):
    at = open_page(data="rc")
    assert not at.exception and not any(button.key == "compute" for button in at.button)
    assert any("the data have to be on this machine" in info.value for info in at.info)
