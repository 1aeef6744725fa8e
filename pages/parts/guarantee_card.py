"""What a run guarantees: the texts of the ``Guarantee`` object and nothing else."""

from __future__ import annotations

import streamlit as st

from obmc.privacy.guarantee import ASSUMPTIONS, Guarantee

AUDIENCES = {"student": "In plain words", "expert": "In formulas"}


def show(guarantee: Guarantee) -> None:
    """A card: the statement in a line, then what it covers, in words or in formulas."""
    icon = "shield" if guarantee.holds and guarantee.scope == "output" else "warning"
    with st.container(border=True):
        st.markdown(f":material/{icon}: **{_plain(guarantee.headline)}**")
        audience = st.segmented_control(
            "How to say it",
            list(AUDIENCES),
            default="student",
            required=True,
            format_func=AUDIENCES.__getitem__,
            key="audience",
            persist_state="session",
            label_visibility="collapsed",
        )
        for topic, text in guarantee.sentences(audience):
            st.markdown(f"**{topic}.** {text if audience == 'expert' else _plain(text)}")
        if guarantee.trust != "none":
            with st.expander("What it takes for granted"):
                for text in ASSUMPTIONS:
                    st.markdown(f"- {_plain(text)}")


def _plain(text: str) -> str:
    """Text whose signs are not Markdown."""
    for sign in "\\$*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return text
