"""Your ratings in a real browser: each visitor with their own, nothing lost, everything within a phone's width."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from pressing import press
from rating_steps import OWN, declare, metric, release, upload

from obmc.datasets import read_ratings

pytestmark = pytest.mark.browser


def test_two_visitors_see_their_own_file_only(visit):
    first, second = visit("/your_ratings"), visit("/your_ratings")
    upload(first, OWN / "spanish.csv")
    upload(second, OWN / "cp1251.csv")
    one, other = read_ratings(OWN / "spanish.csv"), read_ratings(OWN / "cp1251.csv")
    for page, mine, strange in ((first, "spanish.csv", "cp1251.csv"), (second, "cp1251.csv", "spanish.csv")):
        # In the line of what is held: the uploader may show the name until the page has been drawn to its end.
        expect(page.get_by_role("strong").filter(has_text=mine)).to_be_visible()
        expect(page.get_by_text(strange)).to_have_count(0)
    assert metric(first, "Ratings") == f"{one.n_ratings:,}" and metric(second, "Ratings") == f"{other.n_ratings:,}"
    declare(first)
    release(first).close()
    expect(second.get_by_text("release from this table")).to_have_count(0)


def test_a_change_of_page_loses_nothing(visit):
    page = visit("/your_ratings")
    upload(page, OWN / "spanish.csv")
    declare(page)
    release(page).close()
    before = metric(page, "Ratings")
    press(page.get_by_role("link", name="Learn"))
    expect(page.get_by_role("heading", name="Learn").first).to_be_visible()
    press(page.get_by_role("link", name="Your ratings"))
    expect(page.get_by_role("button", name="Download the release")).to_be_visible()
    assert metric(page, "Ratings") == before
    expect(page.get_by_text("1 release from this table")).to_be_visible()


def test_a_wrong_file_is_answered_in_a_sentence(visit):
    page = visit("/your_ratings")
    page.locator("input[type=file]").first.set_input_files(OWN / "picture.csv")
    alert = page.get_by_test_id("stAlert").filter(has_text="file")
    expect(alert.first).to_be_visible()
    expect(page.get_by_role("heading", name="What was understood")).to_have_count(0)
    expect(page.get_by_role("button", name="Forget my data")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_everything_within_its_width(visit, scheme):
    page = visit("/your_ratings", width=390, height=844, scheme=scheme)
    upload(page, OWN / "five_words.csv")
    declare(page)
    expect(page.get_by_role("button", name="Release, and spend")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
