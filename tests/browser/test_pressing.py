"""The tests' own way to press something: on a page that moves under the mouse it presses once, and only once."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from pressing import press

pytestmark = pytest.mark.browser

MOVES = """<button onmousedown="if (!window.moved) { window.moved = true; this.style.marginTop = '300px' }"
    onclick="window.presses = (window.presses ?? 0) + 1">Press</button>"""


def test_what_moves_away_under_the_mouse_is_pressed_once(browser: Browser):
    context = browser.new_context()
    page = context.new_page()
    page.set_content(MOVES)
    button = page.get_by_role("button", name="Press")
    button.click()
    # The fault that it is there for.
    assert page.evaluate("window.moved && window.presses === undefined")
    page.set_content(MOVES)
    page.evaluate("window.moved = false")
    press(button)
    assert page.evaluate("window.presses") == 1
    press(button)
    assert page.evaluate("window.presses") == 2
    context.close()
