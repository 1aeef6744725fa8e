"""The page of one's own ratings, without a browser: each state from nothing to a release, and back to nothing."""

from __future__ import annotations

import time

import pytest

from obmc.errors import ReleaseFailed
from obmc.experiments import NoWorkerError, WorkerDiedError, WorkersGoneError
from obmc.links import LINKS, Gaussian
from obmc.release import MAY_LEARN_NOTHING
from pages.parts import your_ratings_release

PAGE = "your_ratings.py"
SMALL = "user,item,rating\n" + "".join(f"ann{u},tea {i},{1 + (u * i + u) % 5}\n" for u in range(14) for i in range(9))


def settled(at):
    end = time.monotonic() + 60.0
    while any("Reading" in info.value or "Computing the release" in info.value for info in at.info):
        assert time.monotonic() < end
        time.sleep(0.05)
        at.run()
    assert not at.exception, at.exception[0].value
    return at


def texts(elements):
    return " ".join(element.value.replace("\\", "") for element in elements)


def paste(at, text):
    next(area for area in at.text_area if area.label == "Paste ratings").set_value(text).run()
    at.button(key="paste").click().run()
    return settled(at)


@pytest.fixture
def at(open_page):
    return open_page(PAGE)


@pytest.fixture
def ready(at):
    paste(at, SMALL)
    at.selectbox(key="yr-scale").set_value("1 to 5").run()
    return settled(at)


def test_the_limits_and_the_end_of_the_session_are_told_before_the_upload(at):
    said = texts(at.markdown)
    assert "50 MB" in said and "2,000,000 ratings" in said
    assert "gone when you reload" in said


def test_a_pasted_table_is_understood(at):
    paste(at, SMALL)
    metrics = {metric.label: metric.value for metric in at.metric}
    assert metrics["Users"] == "14" and metrics["Items"] == "9" and metrics["Ratings"] == "126"
    assert "Read as it stands" in texts(at.success)
    assert "Declare the scale" in texts(at.info)


def test_a_wrong_file_is_answered_in_a_sentence_and_can_be_mapped(at):
    paste(
        at,
        "alpha,beta,gamma,delta\n" + "".join(f"p{u},q{i},{(u + i) % 4},z{u + i}\n" for u in range(9) for i in range(5)),
    )
    at.selectbox(key="yr-user").set_value("0: alpha")
    at.selectbox(key="yr-item").set_value("1: beta")
    at.selectbox(key="yr-rating").set_value("2: gamma")
    next(button for button in at.button if button.label == "Read it again").click().run()
    settled(at)
    metrics = {metric.label: metric.value for metric in at.metric}
    assert metrics["Users"] == "9" and metrics["Items"] == "5"


def test_prose_is_refused_and_nothing_more_is_shown(at):
    paste(at, "It was a dark night.\nNobody came.\n")
    assert len(at.error) == 1 and at.error[0].value.endswith(".")
    assert not any(header.value == "Release" for header in at.header)


def test_markup_of_a_file_stays_text(at):
    paste(at, SMALL + "<img src=x onerror=alert(1)>,**bold**,not a number\n")
    notes = " ".join(element.value for element in [*at.warning, *at.error])
    assert "<img" not in notes.replace("\\<img", "")


def test_what_may_come_of_a_release_is_said_before_it(ready):
    assert any(caption.value == MAY_LEARN_NOTHING for caption in ready.caption)
    ready.selectbox(key="yr-form-of-release").set_value("InP").run()
    assert not any(caption.value == MAY_LEARN_NOTHING for caption in ready.caption)


def test_a_release_is_made_booked_and_kept(ready):
    assert "holds" not in texts(ready.error)
    ready.selectbox(key="yr-form-of-release").set_value("InP").run()
    ready.button(key="release").click().run()
    settled(ready)
    assert any("Release 1: InP" in header.value for header in ready.subheader)
    assert "together epsilon = 2 for one rating's sign" in texts(ready.markdown)
    assert "Released already" in texts(ready.info)
    held = ready.session_state["_your_ratings"]
    assert not held.releases[0][1].release.simulated
    ready.switch_page("learn.py").run()
    ready.switch_page(PAGE).run()
    settled(ready)
    assert any("Release 1: InP" in header.value for header in ready.subheader)
    assert ready.selectbox(key="yr-scale").value == "1 to 5"


def test_a_release_is_made_with_the_link_that_the_page_names(open_page, monkeypatch):
    monkeypatch.setitem(LINKS, "gaussian", lambda sigma: Gaussian(2.0 * sigma))
    at = open_page(PAGE, noise="Gaussian", sigma="0.5")
    paste(at, SMALL)
    at.selectbox(key="yr-scale").set_value("1 to 5").run()
    settled(at)
    assert "Gaussian noise, sigma 0.5" in texts(at.caption)
    at.button(key="release").click().run()
    settled(at)
    assert at.session_state["_your_ratings"].releases[0][1].plan.link == Gaussian(1.0)


def test_the_budget_refuses_more(ready):
    ready.number_input(key="yr-budget").set_value(1.5).run()
    assert "at most the 1.5 that is left of the budget of 1.5" in texts(ready.error)
    assert not any(button.key == "release" for button in ready.button)


def test_the_budget_is_fixed_with_the_first_release(ready):
    ready.number_input(key="yr-budget").set_value(2.5).run()
    ready.button(key="release").click().run()
    settled(ready)
    assert not any(box.key == "yr-budget" for box in ready.number_input)
    assert "Fixed before the first release: epsilon = 2.5, delta = 0.0001" in texts(ready.markdown)
    ready.number_input(key="yr-epsilon").set_value(3.0).run()
    assert "at most the 0.5 that is left of the budget of 2.5" in texts(ready.error)


def test_ratings_that_are_read_in_another_way_are_released_anew(at):
    paste(at, SMALL + "ann0,tea 0,5\n")
    at.selectbox(key="yr-scale").set_value("1 to 5").run()
    settled(at).button(key="release").click().run()
    settled(at)
    assert "Released already" in texts(at.info)

    def read_with(duplicates):
        at.selectbox(key="yr-duplicates").set_value(duplicates)
        next(button for button in at.button if button.label == "Read it again").click().run()
        settled(at)

    read_with("first")
    assert "Released already" not in texts(at.info)
    assert any(button.key == "release" for button in at.button)
    read_with("last")
    assert "Released already" in texts(at.info)


@pytest.mark.parametrize(
    ("error", "spent", "said"),
    [
        (WorkerDiedError("a worker process ended by SIGKILL."), 2.0, "it counts as a release"),
        (WorkersGoneError("the workers are gone."), 2.0, "it counts as a release"),
        (ReleaseFailed("the gap was not reached."), 2.0, "the gap was not reached."),
        (NoWorkerError("no worker process can be started."), 0.0, "nothing is spent"),
        (ValueError("alpha must be smaller."), 0.0, "nothing is spent"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_release_that_fails_is_spent_unless_the_ratings_were_not_looked_at(ready, monkeypatch, error, spent, said):
    def fails(table, plan):
        raise error

    monkeypatch.setattr(your_ratings_release, "draw", fails)
    ready.button(key="release").click().run()
    settled(ready)
    assert said in texts(ready.error)
    (book,) = ready.session_state["_your_ledgers"].values()
    assert book.epsilon == spent


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("Clear", "nothing in it is protected"),
        ("OutP of the paper", "as a matrix"),
        ("OutP of the paper, projected", "known not to hold"),
    ],
)
def test_what_does_not_hold_is_refused_with_the_reason(ready, form, reason):
    ready.selectbox(key="yr-form-of-release").set_value(form).run()
    settled(ready)
    assert reason in texts(ready.error)
    assert not any(button.key == "release" for button in ready.button)


def test_the_mean_serves_exploring_and_no_release(ready):
    ready.radio(key="yr-how").set_value("The mean of the ratings").run()
    assert "statistic of the private ratings" in texts(ready.error)
    assert not any(button.key == "release" for button in ready.button)
    assert any(button.key == "explore" for button in ready.button)


def test_exploring_is_marked_as_not_private(ready, runner):
    ready.pills(key="yr-mechanisms").set_value(["InP"]).run()
    ready.button(key="explore").click().run()
    end = time.monotonic() + 60.0
    while any(button.key == "stop-exploring" for button in ready.button):
        assert time.monotonic() < end
        time.sleep(0.1)
        ready.run()
    ready.session_state["yr-numbers-open"] = True
    settled(ready.run())
    assert "Not private." in texts(ready.warning) and "Not private." in texts(ready.caption)
    held = ready.session_state["_your_ratings"]
    assert held.explored.key.startswith("private-")
    assert runner.rows(held.explored.key, "somebody else") == []
    assert any(frame.value["series"].eq("InP").any() for frame in ready.dataframe if "series" in frame.value)


def test_one_class_is_told_when_exploring_and_released_all_the_same(at):
    paste(at, "user,item,rating\n" + "".join(f"u{u},i{i},{4 + (u + i) % 2}\n" for u in range(9) for i in range(6)))
    at.selectbox(key="yr-scale").set_value("1 to 5").run()
    settled(at)
    at.button(key="explore").click().run()
    assert "one class only" in texts(at.error)
    at.button(key="release").click().run()
    settled(at)
    assert any("Release 1" in header.value for header in at.subheader)


def test_a_release_is_there_again_when_its_file_is(ready):
    ready.button(key="release").click().run()
    settled(ready)
    paste(ready, SMALL + "one more,item 1,3\n")
    assert not any("Release 1" in header.value for header in ready.subheader)
    paste(ready, SMALL)
    ready.selectbox(key="yr-scale").set_value("1 to 5").run()
    settled(ready)
    assert any("Release 1" in header.value for header in ready.subheader)
    assert "Released already" in texts(ready.info)
    assert "together epsilon = 2 for one rating's sign" in texts(ready.markdown)


def test_forgetting_leaves_nothing(ready):
    ready.button(key="release").click().run()
    settled(ready)
    ready.button(key="forget").click().run()
    settled(ready)
    assert "gone from this server's memory" in texts(ready.success)
    assert not [key for key in ("_your_ratings", "_your_ledgers", "_your_releases") if key in ready.session_state]
    assert not any(header.value == "Release" for header in ready.header)
