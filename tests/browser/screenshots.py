"""Pictures of every page, light, dark and on a phone: `make screenshots`. No tests, and not collected as such.

All go to build/screenshots; the two of the README to docs/screenshots.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from every_page import FURTHER, PAGES, Shown, drawn
from PIL import Image
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
ALL = ROOT / "build" / "screenshots"
README = ROOT / "docs" / "screenshots"
# Of the README: the height of the window, since a page as a whole is too long, and at most so many bytes.
SHORT = {"trade-off": 1000, "privacy-check": 1370}
MAX_BYTES = 200_000
LOOKS = {"light": (1280, "light"), "dark": (1280, "dark"), "phone": (390, "light")}


def whole(page: Page) -> None:
    """Make the window as high as the page, which scrolls in a part of its own."""
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
    width = page.viewport_size["width"]
    page.set_viewport_size({"width": width, "height": min(int(height) + 20, 12_000)})
    page.wait_for_timeout(600)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("shown", (*PAGES, *FURTHER), ids=lambda shown: shown.name)
def test_picture(visit, shown: Shown, look: str) -> None:
    width, scheme = LOOKS[look]
    page = visit(shown.address, width=width, height=1000, scheme=scheme)
    drawn(page, shown)
    page.wait_for_timeout(600)
    ALL.mkdir(parents=True, exist_ok=True)
    if look == "light" and shown.name in SHORT:
        page.set_viewport_size({"width": width, "height": SHORT[shown.name]})
        page.wait_for_timeout(600)
        page.screenshot(path=README / f"{shown.name}.png")
        shrink(README / f"{shown.name}.png")
    whole(page)
    page.screenshot(path=ALL / f"{shown.name}-{look}.png")


def shrink(path: Path) -> None:
    """Write a picture again with the 256 colours that come nearest to all that it has, in a third of the bytes."""
    with Image.open(path) as picture:
        few = picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=5, dither=Image.Dither.NONE)
    few.save(path, optimize=True)
    assert path.stat().st_size < MAX_BYTES
