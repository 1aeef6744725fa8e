"""Short boxes that teach, shown while the switch in the sidebar is on."""

from __future__ import annotations

import streamlit as st

from pages.parts import controls


def say(text: str) -> None:
    """A caption, where it is wanted and there is one."""
    if text and controls.explains():
        st.caption(text)


def box(title: str, *lines: str) -> None:
    """A box of one idea, in a few lines."""
    if not controls.explains():
        return
    with st.container(border=True):
        st.markdown("\n\n".join((f":material/lightbulb: **{title}**", *lines)))
