"""Playground and Trade-off in a real browser: from a control to a changed chart."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from pressing import press

pytestmark = pytest.mark.browser

SMALL = "size=40&obs=0.5"


def heat_map(page: Page, order: int) -> list:
    """The values that plotly has drawn in one picture."""
    return page.evaluate(
        "order => Array.from(document.querySelectorAll('.js-plotly-plot')[order].calcdata[0][0].z, row => [...row])",
        order,
    )


def drawn(page: Page, count: int) -> None:
    plots = "Array.from(document.querySelectorAll('.js-plotly-plot'))"
    page.wait_for_function(f"count => {plots}.filter(plot => plot.calcdata).length >= count", arg=count)


def score(page: Page) -> str:
    return page.get_by_test_id("stMetricValue").first.inner_text()


def test_moving_epsilon_changes_number_picture_and_address(visit):
    page = visit(f"/playground?mech=InP&eps=1&{SMALL}")
    expect(page.get_by_role("heading", name="What is guaranteed")).to_be_visible()
    drawn(page, 5)
    truth, estimate, before = heat_map(page, 0), heat_map(page, 2), score(page)
    slider = page.get_by_role("slider", name="Epsilon")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("stMetricValue").first).not_to_have_text(before)
    page.wait_for_url(re.compile(r"eps=1\.2"))
    page.wait_for_function(
        "old => Math.abs(document.querySelectorAll('.js-plotly-plot')[2].calcdata[0][0].z[0][0] - old) > 0",
        arg=estimate[0][0],
    )
    assert len(truth) == len(truth[0]) == 40
    assert heat_map(page, 0) == truth
    assert heat_map(page, 2) != estimate
    expect(page.get_by_text("epsilon = 1.2 for the whole output")).to_be_visible()
    assert page.outside == []


def test_a_typed_epsilon_is_kept_over_pages_and_reloads(visit):
    page = visit(f"/playground?mech=ObjP&{SMALL}")
    expect(page.get_by_role("heading", name="What is guaranteed")).to_be_visible()
    box = page.get_by_role("spinbutton", name="Epsilon")
    box.fill("3.3")
    box.press("Enter")
    expect(page.get_by_text("Epsilon is 3.3.")).to_be_visible()
    press(page.get_by_role("link", name="Trade-off"))
    expect(page.get_by_role("button", name="Compute")).to_be_visible()
    press(page.get_by_role("link", name="Playground"))
    expect(page.get_by_role("heading", name="Playground", exact=True)).to_be_visible()
    expect(page.get_by_text("epsilon = 3.3 for the whole output")).to_be_visible()
    # Streamlit writes one parameter after the other into the address.
    page.wait_for_url(re.compile(r"(?i)playground(?=.*eps=3\.3)(?=.*mech=objp)"))
    page.reload()
    expect(page.get_by_text("Epsilon is 3.3.")).to_be_visible()
    expect(page.get_by_text("epsilon = 3.3 for the whole output")).to_be_visible()


def offered(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile(r"^Compute the missing"))


def test_the_trade_off_fills_in_without_losing_the_zoom_and_a_reload_finds_it(visit):
    page = visit(f"/?draws=40&points=3&range=4&range=10&mechs=InP&mechs=ObjP&{SMALL}&seed=11")
    press(offered(page))
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    page.wait_for_function(
        "(document.querySelector('.js-plotly-plot')?.data ?? []).some(trace => trace.name === 'InP')"
    )
    page.evaluate(
        """window.mine = document.querySelector('.js-plotly-plot');
        Plotly.relayout(window.mine, {'xaxis.range': [0.7, 0.9]})"""
    )
    page.wait_for_function(
        """() => document.querySelector('.js-plotly-plot')._fullData.some(
            trace => trace.name === 'InP' && trace.customdata.every(point => point[2] >= 40))"""
    )
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    # The chart at the end is the one that filled in.
    assert page.evaluate("window.mine === document.querySelector('.js-plotly-plot')")
    assert page.evaluate("window.mine.layout.xaxis.range.join()") == "0.7,0.9"
    page.reload()
    # Found again, under way or ended; and when it has ended nothing is missing.
    drawn(page, 1)
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(offered(page)).to_have_count(0)
    names = page.evaluate("Array.from(document.querySelector('.js-plotly-plot').data, trace => trace.name)")
    assert {"InP", "ObjP", "Clear", "All zeros"} <= set(names)
    points = page.evaluate(
        "[...document.querySelector('.js-plotly-plot')._fullData.find(trace => trace.name === 'InP').x]"
    )
    assert points[0] == 4 and points[-1] == 10 and len(points) == 3
    assert "InP:" in page.locator(".obmc-figure").first.get_attribute("aria-label")
    assert page.outside == []


def test_a_reload_may_cancel_and_two_visitors_share_one_computation(visit):
    # Long enough that it cannot end before it is cancelled, however slow the machine.
    address = "/?draws=40&points=5&mechs=InP&mechs=ObjP&size=400&obs=0.5&seed=12"
    first, second = visit(address), visit(address)
    press(offered(first))
    expect(first.get_by_role("button", name="Cancel")).to_be_visible()
    # The other one sees it under way, and joins.
    second.reload()
    expect(second.get_by_test_id("stProgress")).to_be_visible()
    press(offered(second))
    expect(second.get_by_role("button", name="Cancel")).to_be_visible()
    first.reload()
    press(first.get_by_role("button", name="Cancel"))
    expect(first.get_by_role("button", name="Cancel")).to_have_count(0)
    expect(second.get_by_test_id("stProgress")).to_be_visible()
    second.wait_for_timeout(2500)
    expect(second.get_by_role("button", name="Cancel")).to_be_visible()
    press(second.get_by_role("button", name="Cancel"))
    expect(second.get_by_text(re.compile(r"^Cancelled after"))).to_be_visible()


def test_the_home_page_opens_on_a_finished_chart_of_a_preset(visit):
    page = visit("/?cal=Paper&mechs=InP&mechs=ObjP&mechs=GraP&mechs=OutP")
    drawn(page, 1)
    expect(page.get_by_role("combobox", name="Preset")).to_have_value("The paper's Figure 1: synthetic data")
    expect(offered(page)).to_have_count(0)
    words = page.locator(".obmc-figure").first.get_attribute("aria-label")
    assert all(f"{name}: " in words for name in ("InP", "ObjP", "GraP", "OutP"))


def test_nonsense_in_the_address_is_answered(visit):
    page = visit(f"/playground?eps=banana&mech=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&{SMALL}")
    expect(page.get_by_text("The address has eps=banana.")).to_be_visible()
    expect(page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
    expect(page.get_by_test_id("stMetricValue").first).to_be_visible()
    assert page.locator("img[src='x']").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_main_control_and_nothing_runs_out_of_it(visit, scheme):
    page = visit(f"/playground?mech=InP&{SMALL}", width=390, height=844, scheme=scheme)
    expect(page.get_by_role("heading", name="What is guaranteed")).to_be_visible()
    drawn(page, 5)
    slider = page.get_by_role("slider", name="Epsilon")
    slider.focus()
    before = score(page)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("stMetricValue").first).not_to_have_text(before)
    press(page.get_by_text("GraP", exact=True))
    expect(page.get_by_test_id("stMetricLabel").first).to_have_text("GraP")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
