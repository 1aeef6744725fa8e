"""Your ratings: from any file to a private release of it."""

from __future__ import annotations

import streamlit as st

from pages.parts import explain
from pages.parts import your_ratings_explore as explore
from pages.parts import your_ratings_mapping as mapping
from pages.parts import your_ratings_reading as reading
from pages.parts import your_ratings_release as release
from pages.parts import your_ratings_threshold as threshold


def page() -> None:
    st.title("Your ratings")
    held = reading.upload()
    if held is None:
        explain.box(
            "What this page does",
            "It reads a file of ratings of nearly any form, shows what was understood, lets you see what privacy would "
            "cost on your data, and makes a release with a guarantee.",
        )
        return
    if held.is_reading:
        reading.poll()
        return
    result = held.result
    if result.table is None:
        reading.fault(result)
    else:
        reading.understood(held)
    mapping.show(held)
    if result.table is None:
        return
    chosen = threshold.choose(result.table)
    if chosen is None:
        return
    explore.show(held, chosen)
    release.show(held, chosen)


page()
