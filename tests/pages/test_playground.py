"""The Playground: what it shows for every mechanism and data set, and how it answers wrong input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from page_figures import drawn, numbers
from streamlit.testing.v1 import AppTest

from obmc import single
from obmc.datasets.registry import find_data_home
from obmc.errors import DataNotFoundError
from obmc.experiments import draws
from obmc.experiments.executors import WorkerDiedError
from obmc.offers import CALIBRATIONS, OFFERS
from obmc.privacy import Guarantee
from obmc.privacy.guarantee import FACTS_WITHHELD
from obmc.single import Setting, find_problem, run
from pages.parts import data_offer, waiting

PAGE = "playground.py"
# Where the data are outside the tests that hide them.
DATA_HOME = find_data_home()
SMALL = {"size": "20", "obs": "0.6"}


def scores(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def setting_of(at: AppTest) -> Setting:
    return at.session_state["_playground_shown"][1]


def pictures(at: AppTest) -> list[np.ndarray]:
    """The values of the heat maps, in the order of the page, without the colour key."""
    return [numbers(chart["data"][0]["z"]) for name, chart in drawn(at).items() if name != "colour-key"]


CASES = [
    (key, noise, calibration)
    for key, offer in OFFERS.items()
    for noise in ("logistic", "gaussian")
    for calibration in (CALIBRATIONS if offer.calibrated else CALIBRATIONS[:1])
]


@pytest.mark.parametrize(("key", "noise", "calibration"), CASES)
def test_every_mechanism_shows_its_own_numbers(open_page, key, noise, calibration):
    at = open_page(PAGE, mech=key, noise=noise, cal=calibration, eps="2", **SMALL)
    setting = setting_of(at)
    offer = OFFERS[key]
    assert (setting.noise, setting.epsilon, setting.mechanism) == (noise, 2.0, offer.spec(calibration))
    again = run(setting)
    expected = {"Clear (no noise)": f"{run(setting.clear()).score:.3f}", "All zeros": "1.000"}
    if key != "clear":
        expected[offer.label] = f"{again.score:.3f}"
    assert scores(at) == expected
    problem = find_problem(setting)
    truth, signs, estimate, error = pictures(at)
    np.testing.assert_allclose(truth, problem.truth, atol=1e-6)
    np.testing.assert_array_equal(np.nan_to_num(signs), problem.train.to_dense())
    np.testing.assert_array_equal(estimate, again.estimate)
    np.testing.assert_allclose(error, again.estimate - problem.truth, atol=1e-5)


@pytest.mark.parametrize("key", OFFERS)
def test_the_guarantee_is_told_in_its_own_words(open_page, key):
    at = open_page(PAGE, mech=key, **SMALL)
    guarantee: Guarantee = setting_of(at).guarantee
    shown = " ".join(text.value for text in at.markdown).replace("\\", "")
    assert guarantee.headline in shown
    for topic, text in guarantee.sentences("student"):
        assert f"**{topic}.** {text}" in shown
    at.segmented_control(key="audience").set_value("In formulas").run()
    shown = " ".join(text.value for text in at.markdown)
    for topic, text in guarantee.sentences("expert"):
        assert f"**{topic}.** {text}" in shown


def test_facts_that_the_noise_does_not_cover_are_not_told(open_page):
    at = open_page(PAGE, mech="outp", cal="paper", **SMALL)
    facts = at.table[-1].value["Value"]
    assert facts["Iterations"] == "–" and facts["Certified gap"] == "–" and facts["Seconds"] == "–"
    assert any(FACTS_WITHHELD in caption.value for caption in at.caption)
    at = open_page(PAGE, mech="inp", **SMALL)
    facts = at.table[-1].value["Value"]
    assert int(facts["Iterations"]) > 0 and float(facts["Certified gap"]) <= 1e-4
    assert not any(FACTS_WITHHELD in caption.value for caption in at.caption)


def test_the_slider_moves_the_number_and_the_picture(open_page, settle):
    at = open_page(PAGE, mech="inp", **SMALL)
    before = pictures(at)
    settle(at.select_slider(key="eps_slider").set_value(20.0).run())
    assert at.number_input(key="eps").value == 20.0
    assert setting_of(at).epsilon == 20.0
    after = pictures(at)
    np.testing.assert_array_equal(before[0], after[0])
    assert np.abs(before[2] - after[2]).max() > 0.01


def test_a_number_between_the_slider_s_stops_is_kept(open_page):
    at = open_page(PAGE, mech="inp", eps="3.3", **SMALL)
    assert at.select_slider(key="eps_slider").value == 3.0
    assert setting_of(at).epsilon == 3.3
    assert any(caption.value == "Epsilon is 3.3. The slider's nearest stop is 3." for caption in at.caption)


EXTREMES = [
    *({"eps": text} for text in ("0.1", "20")),
    *({"alpha": text} for text in ("0.1", "10")),
    *({"noise": "gaussian", "sigma": text} for text in ("0.05", "5")),
    *({"rank": text} for text in ("1", "20")),
    *({"radius": text} for text in ("0.05", "2")),
    *({"obs": text} for text in ("0.01", "1")),
    *({"size": text} for text in ("20", "200")),
    *({"seed": text} for text in ("0", "2147483647")),
    {"noise": "gaussian", "sigma": "0.05", "alpha": "10", "rank": "20", "radius": "2", "obs": "1", "eps": "0.1"},
]


@pytest.mark.parametrize("address", EXTREMES, ids=lambda address: " ".join(address.values()))
def test_every_control_at_its_ends(open_page, address):
    at = open_page(PAGE, mech="inp", **{**SMALL, **address})
    assert not at.warning
    if at.error:
        # Too few entries observed: then all signs may be equal, which is said.
        assert address == {"obs": "0.01"} and "same sign" in at.error[0].value
    else:
        assert np.isfinite(float(scores(at)["InP"].replace(",", "")))


def test_the_note_about_an_address_goes_when_a_control_is_moved(open_page, settle):
    at = open_page(PAGE, eps="banana", **SMALL)
    assert len(at.warning) == 1
    settle(at.number_input(key="seed").set_value(3).run())
    assert not at.warning


def test_a_choice_may_be_written_in_any_case(open_page):
    at = open_page(PAGE, mech="OBJP", cal="paper", **SMALL)
    assert not at.warning
    assert setting_of(at).mechanism == OFFERS["objp"].spec("paper")


def test_while_a_run_is_computed_the_last_one_stays(open_page, settle, busy):
    at = open_page(PAGE, mech="inp", **SMALL)
    before = scores(at)
    with busy():
        at.number_input(key="eps").set_value(0.1).run()
        assert any("free worker" in info.value or "Computing" in info.value for info in at.info)
        assert scores(at) == before
        assert any("last finished" in caption.value for caption in at.caption)
        # Files would hold the older run beside the newer settings.
        assert not any(expander.label == "Take it away" for expander in at.expander)
    settle(at)
    assert scores(at) != before and scores(at)["InP"] == f"{run(setting_of(at)).score:.3f}"


def test_a_worker_that_died_is_said_once_and_the_next_look_asks_anew(open_page, settle, monkeypatch):
    died = [WorkerDiedError("the worker process was killed by the system"), None]

    def call(setting):
        fault = died.pop(0) if died else None
        if fault is not None:
            raise fault
        return run(setting)

    monkeypatch.setattr(waiting, "run", call)
    at = open_page(PAGE, mech="inp", **SMALL)
    assert not at.exception
    assert [error.value.replace("\\", "") for error in at.error] == ["the worker process was killed by the system"]
    settle(at.run())
    assert not at.exception and not at.error
    assert scores(at)["InP"] == f"{run(setting_of(at)).score:.3f}"


def test_settings_that_observe_one_class_are_refused_in_a_sentence(open_page):
    seed = next(seed for seed in range(100) if _is_refused(Setting(size=20, ratio=0.01, seed=seed)))
    at = open_page(PAGE, size="20", obs="0.01", seed=str(seed))
    (error,) = at.error
    assert "same sign" in error.value or "observe an entry" in error.value
    assert not at.metric


def _is_refused(setting: Setting) -> bool:
    try:
        find_problem(setting)
    except ValueError:
        return True
    return False


@pytest.fixture
def no_data(empty_data_home: Path) -> Iterator[Path]:
    """A machine without the real data sets; what was read of them before is forgotten, and again afterwards."""
    kept = (single._titles, draws._kept, draws._published)
    for cache in kept:
        cache.cache_clear()
    yield empty_data_home
    for cache in kept:
        cache.cache_clear()


def test_missing_data_are_offered_and_all_else_works(open_page, settle, no_data):
    at = open_page(PAGE, data="ml-100k", size="20")
    assert "MovieLens 100K is not on this machine" in at.info[0].value
    assert [button.label for button in at.button] == ["Download now"]
    assert not at.metric
    settle(at.selectbox(key="data").set_value("Synthetic").run())
    assert scores(at)["All zeros"] == "1.000"


def test_a_failed_download_is_told_in_a_sentence(open_page, no_data, monkeypatch):
    def no_internet(name, progress):
        progress(10, 100)
        raise DataNotFoundError(f"{name} could not be downloaded: no internet.")

    monkeypatch.setattr(data_offer, "fetch", no_internet)
    at = open_page(PAGE, data="rc")
    at.button(key="fetch-rc").click().run()
    assert [error.value for error in at.error] == ["rc could not be downloaded: no internet."]
    assert not at.exception


@pytest.mark.parametrize(
    ("key", "file"),
    [
        ("archive-rc", ("rc.zip", b"not an archive", "application/zip")),
        ("folder-rc", [("rc/rating_final.csv", b"userID,placeID,rating\nU1,1,2\n", "text/csv")]),
    ],
)
def test_a_wrong_file_is_refused_in_a_sentence(open_page, no_data, key, file):
    at = open_page(PAGE, data="rc")
    at.file_uploader(key=key).set_value(file).run()
    assert not at.exception
    (error,) = at.error
    assert "rc.zip" in error.value or "the given folder is not" in error.value
    assert not list(no_data.glob("*"))


@pytest.mark.data
def test_a_folder_handed_over_is_taken(open_page, settle, no_data):
    ratings = (DATA_HOME / "rc" / "rating_final.csv").read_bytes()
    at = open_page(PAGE, data="rc")
    at.file_uploader(key="folder-rc").set_value([("RCdata/rating_final.csv", ratings, "text/csv")]).run()
    settle(at)
    assert (no_data / "rc" / "rating_final.csv").read_bytes() == ratings
    assert "Majority class" in scores(at)


@pytest.mark.data
def test_restaurants_show_accuracy_lines_and_what_a_person_likes(open_page, settle):
    at = open_page(PAGE, data="rc", mech="inp", eps="8")
    setting = setting_of(at)
    problem = find_problem(setting)
    found = run(setting)
    test = problem.test
    right = np.mean(np.where(found.estimate[test.rows, test.cols] >= 0, 1, -1) == test.signs)
    sign = 1 if problem.train.positive_share >= 0.5 else -1
    assert scores(at)["InP"] == f"{right:.1%}"
    assert scores(at)["Majority class"] == f"{np.mean(test.signs == sign):.1%}"
    assert len(pictures(at)) == 2
    settle(at.selectbox(key="user").set_value(str(problem.rated.users["user"].iloc[5])).run())
    titles = list(at.table[-1].value.index)
    rated = set(problem.rated.items["title"].to_numpy()[problem.train.cols[problem.train.rows == 5]])
    names = problem.rated.items["title"].to_numpy()
    ranked = [names[col] for col in np.argsort(-found.estimate[5], kind="stable")]
    assert titles and not rated & set(titles)
    assert titles == [name for name in ranked if name not in rated][: len(titles)]


def test_a_ledger_adds_up_what_was_looked_at_and_charges_no_draw_twice(open_page, settle):
    at = open_page(PAGE, mech="inp", eps="1", **SMALL)

    def ledger():
        ledgers = at.session_state["_ledgers"]
        assert len(ledgers) == 1
        return next(iter(ledgers.values()))

    assert ledger().epsilon == 1.0
    at.run()
    assert ledger().epsilon == 1.0
    settle(at.number_input(key="eps").set_value(2.0).run())
    assert ledger().epsilon == 3.0
    tables = [table.value for table in at.table if "Whom" in table.value.index.names]
    assert tables[0].loc["one rating's sign", "epsilon"] == "3"
    assert any(f"a user with {ledger().largest_ratings} ratings" in whom for whom in tables[0].index)
