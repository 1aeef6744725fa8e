"""The view for a projector: everything larger."""

from __future__ import annotations

import streamlit as st

from pages.parts import controls

# All of Streamlit's sizes hang on the root's.
_LARGE = "<style>html { font-size: 125% !important; }</style>"


def enlarge() -> None:
    """Large type, where the switch in the sidebar says so; figures ask ``controls.scale`` themselves."""
    if st.session_state.get(controls.PROJECTOR.key):
        st.html(_LARGE)
