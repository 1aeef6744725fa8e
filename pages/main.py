"""The frame of all pages: settings of the page, navigation, the shared controls in the sidebar."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import streamlit as st

from pages.parts import address, controls, settings_file, share, style, turns

HERE = Path(__file__).parent

PAGES = (
    st.Page(HERE / "trade_off.py", title="Trade-off", icon=":material/show_chart:", default=True),
    st.Page(HERE / "observation_ratio.py", title="Observation ratio", icon=":material/grain:"),
    st.Page(HERE / "compare.py", title="Compare", icon=":material/compare_arrows:"),
    st.Page(HERE / "playground.py", title="Playground", icon=":material/grid_on:"),
    st.Page(HERE / "your_ratings.py", title="Your ratings", icon=":material/upload_file:"),
    st.Page(HERE / "privacy_check.py", title="Privacy check", icon=":material/policy:"),
    st.Page(HERE / "learn.py", title="Learn", icon=":material/school:"),
    st.Page(HERE / "reproduction.py", title="Reproduction", icon=":material/fact_check:"),
)
# The first page has no name in the address.
HOME = "trade_off"
NAMES = tuple(page.url_path or HOME for page in PAGES)
# Where a settings file can be opened.
WITH_CHARTS = ("trade_off", "observation_ratio", "compare", "playground")
# Pages that run in some twenty milliseconds for most who open them: without pins, without a file, in a text.
QUICK = ("compare", "your_ratings", "learn")


def main() -> None:
    st.set_page_config(
        page_title="Private one-bit matrix completion",
        page_icon=str(HERE / "icon.png"),
        layout="wide",
        menu_items={"about": "One-bit matrix completion under differential privacy."},
    )
    page = st.navigation(list(PAGES))
    name = page.url_path or HOME
    # What is quick stands in no line with what is not.
    with nullcontext() if name in QUICK else turns.turns().taken():
        show(page, name)


def show(page: st.Page, name: str) -> None:
    """The controls that all pages share, the page, and what is known when all its controls are there."""
    place = share.place()
    controls.sidebar()
    style.apply()
    notes = st.container()
    page.run()
    address.read_unknown(share.keys())
    controls.show_notes(notes)
    settings_file.show_notes(notes, name, NAMES)
    link = share.show(place)
    if name in WITH_CHARTS:
        settings_file.opener()
    settings_file.keep(name, link)


if __name__ == "__main__":
    main()
