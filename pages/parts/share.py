"""The link that opens this view again, and its QR code for an audience."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit, urlunsplit

import segno
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import (
    controls,
    curve_controls,
    guarantee_card,
    learn_contents,
    likes,
    pinning,
    privacy_check_controls,
    readings,
    reproduction_controls,
)
from pages.parts.address import Control


def place() -> DeltaGenerator:
    """Where the link will be: above the controls, so that the code is seen without scrolling."""
    return st.sidebar.container()


def show(where: DeltaGenerator) -> str:
    """The link, which it returns; in the projector view with its code.

    To be called when all controls of the page are there.
    """
    address = link()
    with where:
        if st.session_state.get(controls.PROJECTOR.key):
            code = segno.make(address, error="l", micro=False)
            st.image(
                code.svg_inline(scale=6, border=3, light="#fff"), alt="QR code of the link to this view", width=260
            )
        with st.popover("Share this view", icon=":material/share:", width="stretch"):
            st.caption("Opens the same page with the same settings. It holds settings only, no ratings.")
            st.code(address, language=None, wrap_lines=True)
    return address


def link() -> str:
    """The address of this page with everything that differs from the defaults."""
    parts = urlsplit(st.context.url or "")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(_settings()), ""))


def known(data: str | None = None) -> tuple[Control, ...]:
    """All that an address may hold, of any page, and that a control has; for a data set, by default the chosen one."""
    return (
        *(*controls.CONTROLS, *controls.SWITCHES),
        *curve_controls.known(controls.current().data if data is None else data),
        *(*readings.CONTROLS, *pinning.CONTROLS),
        *(*privacy_check_controls.CONTROLS, *learn_contents.CONTROLS),
        *(*reproduction_controls.CONTROLS, guarantee_card.AUDIENCE, likes.USER, privacy_check_controls.ENTRY),
    )


def keys() -> set[str]:
    """The names of all parameters of an address."""
    return {control.key for control in (*known(), *privacy_check_controls.SHORTCUTS)}


def _settings() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for control in known():
        value = st.session_state.get(control.key)
        several = tuple(value) if isinstance(value, list | tuple) else (value,)
        usual = control.default if isinstance(control.default, tuple) else (control.default,)
        if value is not None and several != usual:
            found += [(control.key, control.form(item)) for item in several] or [(control.key, "")]
    return found
