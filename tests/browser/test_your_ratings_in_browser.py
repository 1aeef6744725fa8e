"""Your ratings in a real browser: from a file to a downloaded release, and each visitor with their own."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from obmc.datasets import read_ratings

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("OBMC_CASES", ROOT.parent / "shared" / "cases")) / "files"
OWN = ROOT / "tests" / "datasets" / "ratings_files"
# One of each sort: separators, decimal commas, encodings, wide, packed, words, other names, duplicates, formulas.
SHARED = (
    "01_tab_noheader.data",
    "03_semicolon_decimal_comma.csv",
    "16_utf16_tab.csv",
    "17_cp1252_accents.csv",
    "27_dup_exact.csv",
    "31_spanish_header.csv",
    "45_like_dislike.csv",
    "52_wide_nan.csv",
    "68_formula_ids.csv",
    "69_ratings.csv.gz",
)
OF_OUR_OWN = ("five_words.csv", "shift_jis.csv", "wide_nan.csv")


def upload(page: Page, path: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(path)
    expect(page.get_by_role("heading", name="What was understood")).to_be_visible()


def metric(page: Page, name: str) -> str:
    box = page.get_by_test_id("stMetric").filter(has=page.get_by_text(name, exact=True))
    return box.get_by_test_id("stMetricValue").inner_text()


def declare(page: Page) -> None:
    box, option = page.get_by_role("combobox", name="The scale people rated on"), page.get_by_role("option")
    # A list that is open closes when the page below it is still being drawn, also between finding and clicking.
    for _ in range(10):
        box.click()
        try:
            option.get_by_text("1 to 5", exact=True).click(timeout=5000)
            expect(box).to_have_value("1 to 5", timeout=5000)
            break
        except (TimeoutError, AssertionError):
            page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Release", exact=True)).to_be_visible()


def release(page: Page) -> zipfile.ZipFile:
    page.get_by_role("button", name="Release, and spend").click()
    button = page.get_by_role("button", name="Download the release")
    expect(button).to_be_visible()
    with page.expect_download() as waited:
        button.click()
    return zipfile.ZipFile(io.BytesIO(Path(waited.value.path()).read_bytes()))


def check_release(page: Page, path: Path) -> None:
    table = read_ratings(path)
    upload(page, path)
    assert metric(page, "Users") == f"{table.n_users:,}" and metric(page, "Items") == f"{table.n_items:,}"
    declare(page)
    with release(page) as archive:
        assert archive.namelist() == ["top_10.csv", "guarantee.json", "README.txt"]
        stated = json.loads(archive.read("guarantee.json"))
        rows = archive.read("top_10.csv").decode("utf-8-sig").splitlines()
    assert stated["guarantee"]["holds"] and stated["guarantee"]["epsilon"] == 2.0
    assert stated["ratings"] == table.n_ratings and stated["users"] == table.n_users
    assert rows[0] == "user,place,item,probability"
    assert not any(row.startswith(("=", "+", "@")) for row in rows)
    page.get_by_role("button", name="Forget my data").click()
    expect(page.get_by_text("are gone from this server's memory")).to_be_visible()
    # What is below the message is still the old page until the new one has been drawn to its end.
    expect(page.get_by_role("heading", name="What was understood")).to_have_count(0)
    expect(page.get_by_role("heading", name="Release", exact=True)).to_have_count(0)


@pytest.mark.skipif(not (HOME / SHARED[0]).exists(), reason="the shared collection of files is not at hand")
def test_ten_files_from_upload_to_a_downloaded_release(visit):
    page = visit("/your_ratings")
    for name in SHARED:
        check_release(page, HOME / name)
    assert page.outside == []


@pytest.mark.parametrize("name", OF_OUR_OWN)
def test_files_of_our_own(visit, name):
    check_release(visit("/your_ratings"), OWN / name)


def test_two_visitors_see_their_own_file_only(visit):
    first, second = visit("/your_ratings"), visit("/your_ratings")
    upload(first, OWN / "spanish.csv")
    upload(second, OWN / "cp1251.csv")
    one, other = read_ratings(OWN / "spanish.csv"), read_ratings(OWN / "cp1251.csv")
    for page, mine, strange in ((first, "spanish.csv", "cp1251.csv"), (second, "cp1251.csv", "spanish.csv")):
        expect(page.get_by_text(mine)).to_be_visible()
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
    page.get_by_role("link", name="Learn").click()
    expect(page.get_by_role("heading", name="Learn").first).to_be_visible()
    page.get_by_role("link", name="Your ratings").click()
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
