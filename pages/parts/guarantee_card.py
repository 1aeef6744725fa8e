"""What a run guarantees: the texts of the ``Guarantee`` object and nothing else."""

from __future__ import annotations

import streamlit as st

from obmc.privacy.guarantee import ASSUMPTIONS, Guarantee
from pages.parts import address

AUDIENCE = address.choice(
    "audience", "How to say it", "how to say it", {"student": "In plain words", "expert": "In formulas"}
)


def show(guarantee: Guarantee) -> None:
    """A card: the statement in a line, then what it covers, in words or in formulas."""
    icon = "shield" if guarantee.holds and guarantee.scope == "output" else "warning"
    with st.container(border=True):
        st.markdown(f":material/{icon}: **{_plain(guarantee.headline)}**")
        said = address.pick(
            st.segmented_control, AUDIENCE, tuple(AUDIENCE.titles.values()), label_visibility="collapsed"
        )
        audience = AUDIENCE.value_of(said)
        # One element of paragraphs: each element of a page costs a message to the browser.
        st.markdown(
            "\n\n".join(
                f"**{topic}.** {text if audience == 'expert' else _plain(text)}"
                for topic, text in guarantee.sentences(audience)
            )
        )
        if guarantee.trust != "none":
            with st.expander("What it takes for granted"):
                st.markdown("\n".join(f"- {_plain(text)}" for text in ASSUMPTIONS))


def _plain(text: str) -> str:
    """Text whose signs are not Markdown."""
    for sign in "\\$*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return text
