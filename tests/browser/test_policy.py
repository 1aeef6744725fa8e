"""The pages in a browser that is held to the server's policy: nothing of theirs is refused, and nothing is fetched."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

pytestmark = pytest.mark.browser


def test_no_page_is_at_odds_with_the_policy(browser: Browser, server: str) -> None:
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
        assert len(links) > 1
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
