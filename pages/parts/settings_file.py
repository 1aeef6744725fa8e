"""The settings file: all that the address may hold, out and in. What comes in is read by the controls' own readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from obmc import limits, pins, settings
from pages.parts import address, controls, pinning, share
from pages.parts.address import Control

_TAKEN, _NOTES, _BEFORE, _SAVED_ON = "_taken", "_settings_notes", "_settings_before", "_settings_saved_on"


@dataclass
class Taken:
    """What may be taken away of any page: its link, and the settings file, which is written when it is asked for."""

    address: str = ""
    settings: Callable[[], str] = str


def taken() -> Taken:
    """Link and settings of the page: filled in by ``keep`` when all its controls are there."""
    return st.session_state.setdefault(_TAKEN, Taken())


def keep(page: str, link: str) -> None:
    """Fill in what ``taken`` holds; to be called at the end of a page."""
    found = taken()
    found.address, found.settings = link, partial(settings.write, page, _values(), pinning.kept()[0])


def _values() -> dict[str, Any]:
    """What the controls of all pages hold, by their keys."""
    found = {}
    for control in share.known():
        value = st.session_state.get(control.key, control.default)
        if value in (None, "") or control is pinning.TEXT:
            continue
        items = [_told(control, item) for item in (value if isinstance(value, list | tuple) else [value])]
        found[control.key] = items if isinstance(control.default, tuple) else items[0]
    return found


def _told(control: Control, value: Any) -> Any:
    """A number or a switch as such; as the address writes it where that says more."""
    text = control.form(value)
    return value if text == limits.written(value) else text


# In -------------------------------------------------------------------------------------------------------------------


def show_notes(place: DeltaGenerator, page: str, pages: tuple[str, ...]) -> None:
    """What of a file that has just been opened could not be taken, and where it was saved if not on this page.

    ``pages``: the names of all that there are.
    """
    notes = st.session_state.pop(_NOTES, [])
    saved_on = st.session_state.pop(_SAVED_ON, page)
    if saved_on not in pages:
        notes = [*notes, "It was saved on a page that this dashboard does not have."]
    for note in _shown(notes):
        place.warning(controls.as_text(note))
    if saved_on in pages and saved_on != page:
        with place:
            st.success("The settings are taken. They were saved on another page:")
            st.page_link(f"{saved_on}.py")


def opener() -> None:
    """A box to open a settings file, and the way back."""
    with st.expander("Open a settings file"):
        given = st.file_uploader(
            "Settings file",
            type="json",
            key="open-settings",
            max_upload_size=1,
            help="A file that was saved here, under “Take it away”. It takes the place of all settings, and of "
            "the pins if it has some.",
        )
        if given is not None:
            st.button("Use its settings", key="use-settings", type="primary", on_click=_open, args=(given.getvalue(),))
        if _BEFORE in st.session_state:
            st.button("Back to the settings before", key="settings-back", icon=":material/undo:", on_click=_back)


def _shown(notes: list[str]) -> list[str]:
    most = limits.SETTINGS_NOTES
    return [*notes[:most], *([f"And {len(notes) - most} more like these."] if len(notes) > most else [])]


def _open(content: bytes) -> None:
    """Take the settings of a file's content; a callback, so that it comes before the controls."""
    try:
        found = settings.read(content)
    except ValueError as error:
        st.session_state[_NOTES] = [f"{error} Nothing was changed."]
        return
    notes = list(found.notes)
    state: dict[str, Any] = {}
    if found.texts is not None:
        state = state_of(found.texts, notes)
    if found.pins is not None:
        state[pinning.TEXT.key] = pins.to_text(found.pins)
    st.session_state[_BEFORE] = {key: st.session_state.get(key) for key in state}
    _set(state)
    st.session_state[_NOTES] = notes
    if found.page:
        st.session_state[_SAVED_ON] = found.page


def state_of(texts: dict[str, list[str]], notes: list[str]) -> dict[str, Any]:
    """What each control is to hold, its default where the file has nothing that it can take; notes are added to."""
    data = _taken_by(controls.DATA, texts, [])
    known = {control.key: control for control in share.known(controls.DATA.value_of(data))}
    known.pop(pinning.TEXT.key)
    unknown = [key for key in texts if key not in known]
    if unknown:
        notes.append(f"The file has {_listed(unknown)}, which is no setting of any page. It has no effect.")
    missing = [control.label for key, control in known.items() if key not in texts and control.default != ""]
    if missing:
        notes.append(f"The file does not have {_listed(missing)}: what these are at first is used.")
    return {key: _taken_by(control, texts, notes) for key, control in known.items()}


def _taken_by(control: Control, texts: dict[str, list[str]], notes: list[str]) -> Any:
    several = isinstance(control.default, tuple)
    found = list(control.default) if several else [control.default]
    if control.key in texts:
        try:
            found = control.check(texts[control.key])
        except ValueError as error:
            used = ", ".join(map(control.form, found))
            notes.append(f"{control.key} in the file: {error} Used instead, as {control.label}: {used}.")
    if control.counts == (2, 2):
        return tuple(sorted(found))
    return found if several else found[0]


def _listed(names: list[str]) -> str:
    shown = ", ".join(name[:40] for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


def _set(state: dict[str, Any]) -> None:
    address.forget()
    for key, value in state.items():
        if value in (None, ""):
            st.session_state.pop(key, None)
        else:
            st.session_state[key] = value


def _back() -> None:
    _set(st.session_state.pop(_BEFORE))
