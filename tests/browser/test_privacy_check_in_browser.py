"""Privacy check and lessons in a real browser: from a preset to its verdict, and a class from beginning to end."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect
from pressing import press

pytestmark = pytest.mark.browser


def drawn(page: Page, name: str) -> None:
    expect(page.locator(f"[data-name='{name}'] .main-svg").first).to_be_visible()


def test_from_a_preset_to_the_verdict(visit):
    page = visit("/privacy_check?look=One+attack")
    press(page.get_by_role("button", name="Presets"))
    press(page.get_by_role("button", name="ObjP as displayed breaks"))
    page.keyboard.press("Escape")
    verdict = page.get_by_text(re.compile(r"^Refuted: with 95 % confidence epsilon is at least 1\.\d+"))
    expect(verdict).to_be_visible()
    drawn(page, "worlds")
    drawn(page, "roc")
    expect(page.get_by_test_id("stMetricValue").nth(1)).to_have_text("2")
    names = page.evaluate("Array.from(document.querySelector(`[data-name='roc']`).data, trace => trace.name)")
    assert names == ["Allowed at epsilon = 1", "95 % band", "Attacker", "Chosen event, and its bound"]
    assert page.outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_student_on_a_phone_goes_from_a_claim_to_its_attack(visit, scheme):
    page = visit("/learn?chapter=Claims", width=390, height=844, scheme=scheme)
    press(page.get_by_role("link", name=re.compile("Show it")).nth(5))
    expect(page.get_by_text(re.compile(r"^Refuted: with 95 % confidence"))).to_be_visible()
    drawn(page, "worlds")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.outside == []


def test_a_round_of_the_game(visit):
    page = visit("/privacy_check?preset=inp&open=Guess+the+rating")
    expect(page.get_by_text("The noised sign")).to_be_visible()
    press(page.get_by_role("button", name="It was +1"))
    expect(page.get_by_text(re.compile(r"^[01] of 1 right"))).to_be_visible()
    expect(page.get_by_text("Round 2")).to_be_visible()


@pytest.mark.parametrize(("length", "count"), [("45 minutes", 6), ("90 minutes", 11)])
def test_a_class_has_tasks_links_and_solutions(visit, length, count):
    page = visit(f"/learn?chapter=Exercises&class={length.replace(' ', '+')}")
    expect(page.get_by_text(f"{count} exercises, {length}")).to_be_visible()
    press(page.get_by_text("Show solutions"))
    expect(page.get_by_text("Solution.", exact=True)).to_have_count(count)
    # Formulas are rendered, and none is left as source.
    assert page.locator(".katex").count() > 4
    assert page.locator(".katex-error").count() == 0
    assert page.get_by_text("\\varepsilon").locator("visible=true").count() == 0
