"""The guarantee put to the test: attacks, what a reader of the matrix learns, and the game that defines privacy."""

from __future__ import annotations

import streamlit as st

from obmc.checks import AttackPreset
from obmc.errors import DataNotFoundError
from pages.parts import (
    address,
    data_offer,
    privacy_check_attack,
    privacy_check_controls,
    privacy_check_game,
    privacy_check_matrix,
    privacy_check_overview,
)
from pages.parts.privacy_check_controls import ATTACK, GAME, MATRIX, OVERVIEW, VIEW, VIEWS


def page() -> None:
    st.title("Privacy check")
    privacy_check_controls.take_address()
    view = address.pick(st.segmented_control, VIEW, VIEWS, label_visibility="collapsed")
    st.caption("This page has controls of its own; those of the sidebar belong to the other pages.")
    if view == OVERVIEW:
        privacy_check_overview.show(_open)
        return
    privacy_check_controls.presets(_open if view == ATTACK else privacy_check_controls.apply)
    try:
        check = privacy_check_controls.choose()
        privacy_check_controls.about(check)
        show = {
            ATTACK: privacy_check_attack.show,
            MATRIX: privacy_check_matrix.show,
            GAME: privacy_check_game.show,
        }[view]
        show(check)
    except DataNotFoundError:
        data_offer.show("ml-100k")
    except ValueError as error:
        st.error(str(error))


def _open(preset: AttackPreset) -> None:
    """Look at one attack; a callback, so that it comes before the controls."""
    privacy_check_controls.apply(preset)
    st.session_state[VIEW.key] = ATTACK


page()
