"""What the pages look like beyond the theme: for those who see little, move by keyboard alone, or sit far away."""

from __future__ import annotations

import streamlit as st

from pages.parts import controls

_ALWAYS = """
/* Streamlit tints what is chosen, which costs its text the contrast it has on black; weight marks it as well. */
button[data-variant][data-selected="true"] { background-color: transparent !important; font-weight: 600; }
button[data-variant][data-selected="true"] p { font-weight: 600; }
/* Where the keyboard is, in the colour of the text, for what shows it by a shade alone or in black on black. */
[data-testid="stSidebarNavLink"]:focus-visible, .modebar-btn:focus-visible {
  outline: 2px solid currentColor !important; outline-offset: -2px;
}
/* A formula a hair too high would be a part of the page that scrolls, and that no key reaches. */
.katex-display { overflow-y: hidden; padding: 2px; }
@media (max-width: 640px) { .katex-display > .katex { font-size: 1em; } }
@media (prefers-reduced-motion: reduce) {
  *, ::before, ::after {
    animation-duration: 0.01ms !important; animation-iteration-count: 1 !important;
    transition-duration: 0.01ms !important; scroll-behavior: auto !important;
  }
}
"""
# All of Streamlit's sizes hang on the root's.
_LARGE = "html { font-size: 125% !important; }"


def apply() -> None:
    """The pages' own style; with large type, where the switch in the sidebar says so.

    Figures ask ``controls.scale`` themselves.
    """
    large = _LARGE if st.session_state.get(controls.PROJECTOR.key) else ""
    st.html(f"<style>{_ALWAYS}{large}</style>")
