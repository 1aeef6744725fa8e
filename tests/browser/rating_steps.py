"""The way from a ratings file to a downloaded release in a real browser, step by step."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, expect
from pressing import press

from obmc.datasets import read_ratings

ROOT = Path(__file__).parents[2]
HOME = Path(os.environ.get("OBMC_CASES", ROOT.parent / "shared" / "cases")) / "files"
OWN = ROOT / "tests" / "datasets" / "ratings_files"


def upload(page: Page, path: Path) -> None:
    page.locator("input[type=file]").first.set_input_files(path)
    expect(page.get_by_role("heading", name="What was understood")).to_be_visible()


def metric(page: Page, name: str) -> str:
    box = page.get_by_test_id("stMetric").filter(has=page.get_by_text(name, exact=True))
    return box.get_by_test_id("stMetricValue").inner_text()


def declare(page: Page) -> None:
    box, option = page.get_by_role("combobox", name="The scale people rated on"), page.get_by_role("option")
    # A list that is open closes when the page scrolls, as it does for a click on what is out of sight, and when the
    # page below it is still being drawn, also between finding and clicking.
    for _ in range(20):
        box.scroll_into_view_if_needed()
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        press(box)
        try:
            press(option.get_by_text("1 to 5", exact=True), timeout=2500)
            expect(box).to_have_value("1 to 5", timeout=2500)
            break
        except (TimeoutError, AssertionError):
            page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Release", exact=True)).to_be_visible()


def release(page: Page) -> zipfile.ZipFile:
    press(page.get_by_role("button", name="Release, and spend"))
    button = page.get_by_role("button", name="Download the release")
    expect(button).to_be_visible()
    with page.expect_download() as waited:
        press(button)
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
    press(page.get_by_role("button", name="Forget my data"))
    expect(page.get_by_text("are gone from this server's memory")).to_be_visible()
    # What is below the message is still the old page until the new one has been drawn to its end.
    expect(page.get_by_role("heading", name="What was understood")).to_have_count(0)
    expect(page.get_by_role("heading", name="Release", exact=True)).to_have_count(0)
