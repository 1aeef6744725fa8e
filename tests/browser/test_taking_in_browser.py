"""Take it away in a browser held to the server's policy: pictures, a report without a network, settings."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from pressing import press

pytestmark = pytest.mark.browser


def opened(page: Page, title: str) -> None:
    """Open a box by the keyboard."""
    page.locator("summary", has_text=title).focus()
    page.keyboard.press("Enter")


def saved(page: Page, name: str, folder: Path) -> Path:
    """What a button saves, pressed by the keyboard."""
    button: Locator = page.get_by_role("button", name=name)
    expect(button).to_be_visible()
    with page.expect_download() as found:
        button.focus()
        page.keyboard.press("Enter")
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def test_pictures_report_and_settings_leave_the_page_and_open_elsewhere(browser: Browser, server: str, tmp_path: Path):
    context = browser.new_context(accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(90_000)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    # Opens on a finished chart.
    page.goto(f"{server}/?eps=3.3")
    expect(page.locator(".main-svg").first).to_be_visible()
    opened(page, "Take it away")

    drawing = ElementTree.parse(saved(page, "Chart, SVG", tmp_path)).getroot()
    expect(page.get_by_text("Saved as trade-off.svg.")).to_be_visible()
    words = " ".join(drawing.itertext())
    assert drawing.tag.endswith("svg") and all(name in words for name in ("InP", "OutP", "Epsilon"))
    picture = saved(page, "Chart, PNG", tmp_path).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", picture[16:24]) == (2000, 1100)

    report = saved(page, "Report, HTML", tmp_path)
    settings = saved(page, "Settings file", tmp_path)
    assert '"eps": 3.3' in settings.read_text(encoding="utf-8")
    page.goto(f"{server}/compare")
    opened(page, "Open a settings file")
    page.locator("input[type=file]").set_input_files(settings)
    press(page.get_by_role("button", name="Use its settings"))
    press(page.get_by_test_id("stPageLink-NavLink").get_by_text("Trade-off"))
    expect(page.get_by_role("spinbutton", name="Epsilon")).to_have_value(re.compile(r"3\.30?$"))
    context.close()
    assert not [text for text in said if "Content Security Policy" in text or "Refused to" in text]

    alone = browser.new_context(offline=True)
    asked: list[str] = []
    wrong: list[str] = []
    page = alone.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(report.as_uri())
    expect(page.locator(".main-svg").first).to_be_visible()
    expect(page.locator(".legendtext").get_by_text("OutP", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="What is guaranteed")).to_be_visible()
    alone.close()
    assert asked == [report.as_uri()] and wrong == []
