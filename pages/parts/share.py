"""The link that opens this view again, and its QR code for an audience."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import segno
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.parts import controls, curve_controls, pinning, readings


def place() -> DeltaGenerator:
    """Where the link will be: above the controls, so that the code is seen without scrolling."""
    return st.sidebar.container()


def show(where: DeltaGenerator) -> None:
    """The link; in the projector view with its code. To be called when all controls of the page are there."""
    address = link()
    with where:
        if st.session_state.get(controls.PROJECTOR):
            code = segno.make(address, error="l", micro=False)
            st.image(
                code.svg_inline(scale=6, border=3, light="#fff"), alt="QR code of the link to this view", width=260
            )
        with st.popover("Share this view", icon=":material/share:", width="stretch"):
            st.caption("Opens the same page with the same settings. It holds settings only, no ratings.")
            st.code(address, language=None, wrap_lines=True)


def link() -> str:
    """The address of this page with everything that differs from the defaults."""
    parts = urlsplit(st.context.url or "")
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(_settings()), ""))


def _settings() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for control in controls.CONTROLS:
        value = st.session_state.get(control.key)
        if value is not None and value != control.read(control.default):
            found.append((control.key, _text(value)))
    for key, default in curve_controls.defaults(controls.current().data).items():
        value = st.session_state.get(key)
        if value is not None and _plain(value) != _plain(default):
            form = curve_controls.FORMS.get(key, _text)
            several = value if isinstance(value, list | tuple) else [value]
            found += [(key, form(item)) for item in several]
    usual = {controls.EXPLAIN: True, controls.PROJECTOR: False, pinning.KEY: "", **readings.DEFAULTS}
    for key, default in usual.items():
        value = st.session_state.get(key)
        if value is not None and value != default:
            found.append((key, _text(value)))
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
