"""Every page of the dashboard in a state that shows what it is for, and how to know that it is drawn."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from playwright.sync_api import Page, expect
from pressing import press

_EPSILONS = ",".join(str(epsilon) for epsilon in range(1, 11))
_PINS = "|".join(
    f"name:InP, {name};mech:inp;cal:{calibration};eps:{_EPSILONS};draws:40"
    for name, calibration in (("corrected", "rigorous"), ("as in the paper", "paper"))
)


@dataclass(frozen=True)
class Shown:
    """A page in one state.

    Attributes
    ----------
    name
        Of files.
    path
        Of its address.
    parameters
        Of its address.
    main
        The role and the name of its main control, which a phone shows outside the sidebar.
    figures
        How many figures it has at least.
    then
        What is done when it is there.
    """

    name: str
    path: str
    main: tuple[str, str]
    parameters: dict[str, str] | None = None
    figures: int = 1
    then: Callable[[Page], None] | None = None

    @property
    def address(self) -> str:
        return f"/{self.path}?{urlencode(self.parameters or {})}"


def use_sample(page: Page) -> None:
    """Read the sample file of Your ratings."""
    press(page.get_by_text("Or paste it, or try the sample"))
    press(page.get_by_role("button", name="Use the sample file"))
    expect(page.get_by_role("heading", name="What was understood")).to_be_visible()


# The first of each page is the one that its tests of every page look at.
PAGES = (
    Shown("trade-off", "", ("button", "InP")),
    Shown("observation-ratio", "observation_ratio", ("radio", "Heat map")),
    Shown("compare", "compare", ("combobox", "Measure"), {"pins": _PINS}),
    Shown("playground", "playground", ("slider", "Epsilon"), {"mech": "InP", "eps": "4"}, 5),
    Shown("your-ratings", "your_ratings", ("combobox", "The scale people rated on"), then=use_sample),
    Shown("privacy-check", "privacy_check", ("button", "Presets"), {"preset": "outp-bridge"}, 2),
    Shown("learn", "learn", ("radio", "Exercises"), {"chapter": "Epsilon"}),
    Shown("reproduction", "reproduction", ("combobox", "Figure")),
)
FURTHER = (
    Shown("ratio-heat-map", "observation_ratio", ("radio", "Heat map"), {"view": "Heat map"}),
    Shown("privacy-overview", "privacy_check", ("radio", "One attack")),
    Shown(
        "privacy-reader",
        "privacy_check",
        ("button", "Presets"),
        {"preset": "outp-bridge", "open": "What a reader learns"},
    ),
    Shown("privacy-game", "privacy_check", ("button", "Presets"), {"preset": "inp", "open": "Guess the rating"}, 0),
    *(
        Shown(f"learn-{key}", "learn", ("radio", "Exercises"), {"chapter": chapter}, figures)
        for key, chapter, figures in (
            ("completion", "Completion", 0),
            ("places", "Where noise goes", 0),
            ("people", "Whom it protects", 1),
            ("claims", "Claims", 0),
            ("beyond", "InP+", 1),
            ("bounds", "Bounds", 2),
            ("exercises", "Exercises", 0),
            ("glossary", "Glossary", 0),
        )
    ),
)


def drawn(page: Page, shown: Shown) -> None:
    """Wait until a page that was gone to is drawn, figures and all, and nothing is being computed."""
    expect(page.locator("h1")).to_be_visible()
    if shown.then is not None:
        shown.then(page)
    expect(page.get_by_test_id("stMain").get_by_role(shown.main[0], name=shown.main[1]).first).to_be_visible()
    # The pages' own style comes when the rest is there.
    page.wait_for_selector(".stHtml style", state="attached")
    page.wait_for_function(
        "count => document.querySelectorAll('.obmc-figure .main-svg').length >= count", arg=shown.figures
    )
    idle(page)


def idle(page: Page) -> None:
    """Wait until the page's script has run to its end, figures are drawn, and nothing is being computed."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")
    expect(page.get_by_text(re.compile("^(Computing|Waiting|Reading)"))).to_have_count(0)
    page.wait_for_function(
        "[...document.querySelectorAll('.obmc-figure')].every(figure => figure.querySelector('.main-svg'))"
    )
