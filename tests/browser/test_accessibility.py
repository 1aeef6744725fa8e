"""Every page for those who do not see it, see it dark, have a keyboard alone, or a phone."""

from __future__ import annotations

import zipfile

import pytest
from axe_playwright_python.sync_playwright import Axe
from every_page import PAGES, Shown, drawn, idle
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

# Rules that widgets of Streamlit itself break, by rule and selector, with the reason; at most minor ones.
EXCEPTED: dict[tuple[str, str], str] = {}


@pytest.fixture(scope="module")
def axe() -> Axe:
    return Axe()


def violations(page: Page, axe: Axe, *rules: str) -> list[str]:
    """What the rules of axe, or some of them, find on a page: the rule, where, and what is wrong."""
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    return [
        f"{found['id']} ({found['impact']}) at {node['target'][0]}: {node['failureSummary']}"
        for found in axe.run(page, options=options).response["violations"]
        for node in found["nodes"]
        if (found["id"], node["target"][0]) not in EXCEPTED
    ]


@pytest.mark.parametrize("shown", PAGES, ids=lambda shown: shown.name)
def test_every_page_light_dark_and_on_a_phone(visit, axe: Axe, shown: Shown):
    page = visit(shown.address)
    drawn(page, shown)
    assert violations(page, axe) == []
    figures = page.locator(".obmc-figure")
    said = [figure.get_attribute("aria-label") for figure in figures.all()]
    assert all(len(text) > 40 for text in said), said
    assert not said or page.locator("summary", has_text="numbers").count() >= 1
    # A button of plotly's would send the chart and its data to its maker.
    assert page.locator("[data-title*='hare'], [data-title*='loud']").count() == 0

    page.emulate_media(color_scheme="dark")
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).backgroundColor === 'rgb(0, 0, 0)'")
    assert violations(page, axe, "color-contrast") == []

    page.set_viewport_size({"width": 390, "height": 844})
    role, name = shown.main
    expect(page.get_by_test_id("stMain").get_by_role(role, name=name).first).to_be_visible()
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    hidden = "group => [...group.querySelectorAll('*')].some(part => part.scrollWidth > part.clientWidth + 1)"
    groups = page.get_by_test_id("stMain").get_by_test_id("stButtonGroup")
    assert [group.inner_text() for group in groups.all() if group.evaluate(hidden)] == []
    assert page.outside == []


# By keyboard alone ----------------------------------------------------------------------------------------------------

FOCUSED = """() => {
  const at = document.activeElement;
  const label = at.getAttribute('aria-label') ?? at.labels?.[0]?.innerText ?? '';
  const isControl = ['A', 'BUTTON', 'INPUT', 'SUMMARY', 'TEXTAREA'].includes(at.tagName);
  return isControl && !label.startsWith('Help for') ? `${label} ${at.innerText}` : '';
}"""


def reach(page: Page, name: str, steps: int = 150) -> None:
    """Press Tab until a control of this name has the focus; from the title again if the page was drawn."""
    for _ in range(2):
        for _ in range(steps):
            if name in page.evaluate(FOCUSED):
                return
            page.keyboard.press("Tab")
        idle(page)
        page.evaluate("() => { const title = document.querySelector('h1'); title.tabIndex = -1; title.focus(); }")
    raise AssertionError(f"{name} is not reached by {steps} presses of Tab")


def test_the_playground_by_keyboard_alone(visit):
    page = visit("/playground?size=40&obs=0.5")
    expect(page.get_by_role("heading", name="What is guaranteed")).to_be_visible()
    idle(page)
    reach(page, "Clear")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(page.get_by_test_id("stMetricLabel").first).to_have_text("InP")
    idle(page)
    before = page.get_by_test_id("stMetricValue").first.inner_text()
    reach(page, "Epsilon")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("epsilon = 1.2 for the whole output")).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").first).not_to_have_text(before)
    reach(page, "The pictures in numbers")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table").get_by_text("Estimate")).to_be_visible()


def test_your_ratings_by_keyboard_alone_to_a_downloaded_release(visit):
    page = visit("/learn?chapter=Glossary")
    expect(page.locator("h1")).to_be_visible()
    page.wait_for_selector(".stHtml style", state="attached")
    page.emulate_media(reduced_motion="reduce")
    reach(page, "Your ratings")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert page.evaluate("parseFloat(getComputedStyle(document.activeElement).transitionDuration)") < 0.001
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your ratings", exact=True)).to_be_visible()
    idle(page)
    reach(page, "Or paste it")
    page.keyboard.press("Enter")
    reach(page, "Use the sample file")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What was understood")).to_be_visible()
    idle(page)
    reach(page, "The scale people rated on")
    page.keyboard.type("1 to 5")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Release", exact=True)).to_be_visible()
    idle(page)
    reach(page, "Release, and spend")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Download the release")).to_be_visible()
    idle(page)
    reach(page, "Download the release")
    with page.expect_download() as waited:
        page.keyboard.press("Enter")
    with zipfile.ZipFile(waited.value.path()) as archive:
        assert archive.namelist() == ["top_10.csv", "guarantee.json", "README.txt"]
