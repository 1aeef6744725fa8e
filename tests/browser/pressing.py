"""Pressing what is on a page that may still be moving."""

from __future__ import annotations

from playwright.sync_api import Locator

# Attempts, more than a page has parts that come late.
_MOST = 20
_WATCH = """wanted => {
    window.pressed = null;
    const note = event => { window.pressed = !wanted.isConnected || event.composedPath().includes(wanted) };
    document.addEventListener('click', note, {capture: true, once: true});
}"""


def press(wanted: Locator, timeout: float | None = None) -> None:
    """Click, and again where the page moved while the mouse's button was down.

    Parts of a page that are loaded late push down what is below them. If that happens between the two halves of a
    click, the browser gives it to what encloses both places, and nothing is pressed.
    """
    page = wanted.page
    for _ in range(_MOST):
        wanted.evaluate(_WATCH, timeout=timeout)
        wanted.click(timeout=timeout)
        if page.evaluate("window.pressed") is not False:
            return
    raise AssertionError(f"{wanted} moved away {_MOST} times")
