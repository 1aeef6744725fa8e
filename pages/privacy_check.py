"""The guarantee put to the test: attacks, what a reader of the matrix learns, and the game that defines privacy."""

from __future__ import annotations

import streamlit as st

from obmc.checks import Preset
from obmc.errors import DataNotFoundError
from pages.parts import (
    data_offer,
    privacy_check_attack,
    privacy_check_controls,
    privacy_check_game,
    privacy_check_matrix,
    privacy_check_overview,
)

_VIEW = "look"
OVERVIEW, ATTACK, MATRIX, GAME = "All mechanisms", "One attack", "What a reader learns", "Guess the rating"
_VIEWS = (OVERVIEW, ATTACK, MATRIX, GAME)


def page() -> None:
    st.title("Privacy check")
    wanted = privacy_check_controls.take_address(_VIEWS, ATTACK)
    if wanted is not None:
        st.session_state[_VIEW] = wanted
    view = st.segmented_control(
        "What to look at",
        _VIEWS,
        default=OVERVIEW,
        required=True,
        key=_VIEW,
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
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


def _open(preset: Preset) -> None:
    """Look at one attack; a callback, so that it comes before the controls."""
    privacy_check_controls.apply(preset)
    st.session_state[_VIEW] = ATTACK


page()
