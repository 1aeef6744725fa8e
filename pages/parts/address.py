"""The address: what each of its parameters may hold, and the sentences about what none of the controls can take.

Streamlit gives a widget that is bound to the address its value from there; what it cannot take it drops without a word.
So the same texts are read here as well, right before the widget is drawn, and a person is told what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from obmc.errors import check_choice
from obmc.limits import Range, written

_NOTES, _SEEN = "_notes", "_seen"
# What a note quotes of a text, and how many notes a page shows.
_QUOTED, MOST_NOTES = 40, 8


@dataclass(frozen=True)
class Control:
    """One parameter of the address, and the control that it is bound to.

    Attributes
    ----------
    key, label
        Its name in the address, and what the control is called on the page.
    default
        What the control holds at first; a tuple where it holds several values.
    read
        What it holds for a text of the address; ``ValueError`` naming what is allowed.
    form
        A value as the address has it.
    counts
        How many values it may have in the address: the smallest and the largest number.
    bound
        The numbers it may take; None for what is no number.
    titles
        What a choice's values are called, on the page and, since Streamlit binds that, in the address.
    """

    key: str
    label: str
    default: Any
    read: Callable[[str], Any]
    form: Callable[[Any], str] = written
    counts: tuple[int, int] = (1, 1)
    bound: Range | None = None
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def numbers(self) -> dict[str, Any]:
        """The arguments of a number's widget that say what it may take."""
        assert self.bound is not None
        kind = int if self.bound.whole else float
        ends = {"min_value": kind(self.bound.low), "max_value": kind(self.bound.high)}
        return {**ends, "value": kind(self.bound.default), "step": kind(self.bound.step)}

    def value_of(self, title: str) -> str:
        """The value that is called so."""
        return next(value for value, known in self.titles.items() if known == title)

    def check(self, texts: Sequence[str]) -> list[Any]:
        """What it holds for the texts of an address; ``ValueError`` naming the first that it cannot take."""
        least, most = self.counts
        if not least <= len(texts) <= most:
            allowed = "once" if most == 1 else "twice" if least == 2 else f"at most {most} times"
            raise ValueError(f"{self.key} may be there {allowed}, and is there {len(texts)} times.")
        if least == 0 and not any(texts):
            return []
        values = [self.read(text) for text in texts]
        if most > 2 and len(set(values)) < len(values):
            raise ValueError(f"{self.key} must name every value once, and names one of them twice.")
        return values


# Kinds of controls ----------------------------------------------------------------------------------------------------


def number(key: str, label: str, bound: Range) -> Control:
    """A number within bounds."""
    kind = int if bound.whole else float
    return Control(key, label, kind(bound.default), bound.parse, bound=bound)


def choice(key: str, label: str, name: str, titles: Mapping[str, str] | Iterable[str], default: str = "") -> Control:
    """One of several names, in any case; the first is the default. ``name`` is what messages call it."""
    known = titles if isinstance(titles, Mapping) else {title: title for title in titles}
    return Control(key, label, default or next(iter(known.values()), ""), _one_of(name, known), titles=known)


def _one_of(name: str, titles: Mapping[str, str]) -> Callable[[str], str]:
    known = {text.casefold(): title for value, title in titles.items() for text in (value, title)}

    def read(text: str) -> str:
        if text.casefold() not in known:
            check_choice(name, text, tuple(titles.values()))
        return known[text.casefold()]

    return read


def stops(
    key: str,
    label: str,
    name: str,
    allowed: Sequence[Any],
    default: Any,
    form: Callable[[Any], str],
    counts: tuple[int, int] = (1, 1),
) -> Control:
    """One or several of a row of values, written as the control shows them."""
    known = {form(value): value for value in allowed}

    def read(text: str) -> Any:
        check_choice(name, text, tuple(known))
        return known[text]

    return Control(key, label, default, read, form, counts)


def switch(key: str, label: str, default: bool) -> Control:
    """On or off."""

    def read(text: str) -> bool:
        check_choice(key, text.casefold(), ("true", "false"))
        return text.casefold() == "true"

    return Control(key, label, default, read)


# Reading --------------------------------------------------------------------------------------------------------------


def bind(control: Control) -> dict[str, Any]:
    """What every widget of the address has in common, for its call; before that its texts there are read."""
    _read(control)
    return {"key": control.key, "bind": "query-params", "persist_state": "session", "on_change": forget}


def pick(widget: Callable[..., Any], control: Control, options: Iterable[str], **look: Any) -> Any:
    """One of several, by ``st.pills`` or ``st.segmented_control``.

    These are without a choice where the address has an empty text, required or not.
    """
    # In a column they would else stay in one row, of which a phone shows a part.
    chosen = widget(control.label, options, default=control.default, required=True, wrap=True, **look, **bind(control))
    return control.default if chosen is None else chosen


def take(shortcut: Control) -> str | None:
    """The value, not the title, of a parameter that sets other controls, taken out of the address; None without one."""
    texts = st.query_params.get_all(shortcut.key)
    if not texts:
        return None
    del st.query_params[shortcut.key]
    try:
        return shortcut.value_of(shortcut.check(texts)[0])
    except ValueError as error:
        _note(f"The address has {_quoted(shortcut.key, texts)}. {error} It has no effect.")
        return None


def _read(control: Control) -> None:
    texts = st.query_params.get_all(control.key)
    if not _is_new(control.key, texts):
        return
    try:
        values = control.check(texts)
    except ValueError as error:
        _note(f"The address has {_quoted(control.key, texts)}. {error}", control)
        return
    # A choice's title is known to its widget in the right case only.
    if control.titles and values != texts:
        st.session_state[control.key] = values[0]


def read_unknown(known: Collection[str]) -> None:
    """Keep a sentence about the parameters that belong to nothing on any page."""
    unknown = [key for key in st.query_params if key not in known]
    new = [key for key in unknown if _is_new(key, st.query_params.get_all(key))]
    if new:
        further = f" and {len(new) - 3} more" if len(new) > 3 else ""
        named = ", ".join(_short(key) for key in new[:3])
        what = "which is no setting" if len(new) == 1 else "which are no settings"
        _note(f"The address has {named}{further}, {what} of any page: without effect.")


def _is_new(key: str, texts: list[str]) -> bool:
    """Whether the address has texts for a key that it did not have when they were read last."""
    seen: dict[str, list[str]] = st.session_state.setdefault(_SEEN, {})
    before = seen.pop(key, [])
    if texts:
        seen[key] = texts
    return bool(texts) and texts != before


def _quoted(key: str, texts: Sequence[str]) -> str:
    shown = [f"{key}={_short(text)}" for text in texts[:3]]
    return "&".join(shown) + ("&..." if len(texts) > 3 else "")


def _short(text: str) -> str:
    """What a note quotes: a long text not whole, and no sign that is invisible or begins a line."""
    part = text[:_QUOTED]
    return part if part.isprintable() else repr(part)[1:-1]


# Notes ----------------------------------------------------------------------------------------------------------------


def _note(text: str, control: Control | None = None) -> None:
    """Keep a sentence, one about each control."""
    notes = st.session_state.setdefault(_NOTES, {})
    notes[text if control is None else control.key] = (text, control)


def notes() -> list[str]:
    """The sentences about the address, until a control is moved; to be called when all controls are drawn.

    They say what is used instead, as the controls have it.
    """
    kept: dict[str, tuple[str, Control | None]] = st.session_state.get(_NOTES, {})
    found = [text if control is None else text + _instead(control) for text, control in kept.values()]
    if len(found) > MOST_NOTES:
        found[MOST_NOTES:] = [f"And {len(found) - MOST_NOTES} more parameters of the address cannot be taken."]
    return found


def _instead(control: Control) -> str:
    value = st.session_state.get(control.key, control.default)
    several = value if isinstance(value, list | tuple) else [control.default if value is None else value]
    return f" Used instead, as {control.label}: {', '.join(map(control.form, several)) or 'none'}."


def forget(*_: Any) -> None:
    """Drop the sentences: whoever has moved a control has seen them."""
    st.session_state.pop(_NOTES, None)
