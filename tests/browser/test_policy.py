"""The pages in a browser that is held to the server's policy: nothing of theirs is refused, and nothing is fetched."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from every_page import PAGES
from playwright.sync_api import Browser, expect
from watching import watched

pytestmark = pytest.mark.browser


def test_no_page_is_at_odds_with_the_policy_and_nothing_leaves_the_machine(
    browser: Browser, server: str, outgoing: Path
) -> None:
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    try:
        page.goto(server)
        expect(page.locator("h1")).to_be_visible()
        links = [link.get_attribute("href") for link in page.get_by_test_id("stSidebarNavLink").all()]
        assert len(links) == len(PAGES)
        for link in links:
            page.goto(f"{link}?mech=InP&size=40&obs=0.5")
            expect(page.locator("h1")).to_be_visible()
            # Until the page's script has run to its end.
            expect(page.get_by_test_id("stStatusWidget")).to_have_count(0)
    finally:
        context.close()
    assert not [text for text in said if "Content Security Policy" in text or "Refused to" in text]
    own = (server, server.replace("http", "ws", 1), "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    # Neither the server from its start on, nor one of its workers.
    assert not outgoing.exists(), outgoing.read_text()


def test_reaching_out_would_be_noticed(tmp_path: Path) -> None:
    record = tmp_path / "record.txt"
    inside = "socket.create_connection(('127.0.0.1', 1), 0.1)"
    # An address that is kept free for documentation, and a name that belongs to nobody.
    outside = ("socket.socket().connect(('192.0.2.1', 80))", "socket.getaddrinfo('outside.invalid', 80)")
    for tried in (inside, *outside):
        script = f"import socket\ntry:\n    {tried}\nexcept OSError as error:\n    print(error)"
        done = subprocess.run(
            [sys.executable, "-c", script], env=watched(record), capture_output=True, text=True, timeout=60, check=True
        )
        assert ("nothing may leave" in done.stdout) == (tried in outside), done.stdout
        assert record.exists() == (tried in outside)
    assert [line.split()[0] for line in record.read_text().splitlines()] == ["socket.connect", "socket.getaddrinfo"]


def test_a_script_in_the_page_does_not_run(browser: Browser, server: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(server)
    expect(page.locator("h1")).to_be_visible()
    # What an injected text would try.
    page.locator("body").evaluate(
        "body => { const made = document.createElement('script'); made.textContent = 'window.harmed = 1';"
        " body.append(made); const picture = document.createElement('img'); picture.src = 'https://example.org/x.png';"
        " body.append(picture); }"
    )
    assert page.locator("body").evaluate("() => window.harmed") is None
    expect(page.locator("body")).to_be_visible()
    context.close()
    assert any("Content Security Policy" in text for text in said)
