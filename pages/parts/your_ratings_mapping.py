"""How the file is to be read, where what was found out is not what is meant."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.parts import controls
from pages.parts.your_ratings_reading import PREFIX, Held

_FOUND = "found out"
_DUPLICATES = {"last": "the last row counts", "first": "the first row counts", "mean": "their mean", "error": "a fault"}


def show(held: Held) -> None:
    """The form; a wrong entry is answered in a sentence and stays as it is."""
    preview = held.result.preview
    names = [] if preview is None else [f"{place}: {name}" for place, name in enumerate(preview.columns)]
    with (
        st.expander("Change how it is read", expanded=held.result.table is None),
        st.form(f"{PREFIX}form", border=False),
    ):
        first = st.columns(3)
        roles = {
            role: _choose(place, f"Column of {role}s", role, names)
            for place, role in zip(first, ("user", "item", "rating"), strict=True)
        }
        second = st.columns(4)
        layout = _choose(second[0], "Layout", "layout", ["long", "wide"])
        header = _choose(second[1], "First row", "header", ["names", "ratings"])
        decimal = _choose(second[2], "Decimal mark", "decimal", [".", ","])
        duplicates = second[3].selectbox(
            "A pair that occurs twice",
            list(_DUPLICATES),
            format_func=_DUPLICATES.__getitem__,
            key=f"{PREFIX}duplicates",
            persist_state="session",
        )
        third = st.columns(4)
        separator = _type(third[0], "Separator", "separator", r"such as ; or :: or \t")
        encoding = _type(third[1], "Encoding", "encoding", "such as cp1252")
        missing = _type(third[2], "Codes for not rated", "missing", "such as 99, 0; none keeps all")
        words = _type(third[3], "Words and their numbers", "words", "such as good = 1, bad = 0")
        if not st.form_submit_button("Read it again", type="primary"):
            return
        try:
            options = _options(roles, layout, header, decimal, separator, encoding, missing, words)
        except ValueError as error:
            st.error(controls.as_text(str(error)))
            return
    held.read({**options, "duplicates": duplicates})
    st.rerun()


def _choose(place: Any, label: str, key: str, options: list[str]) -> str:
    return place.selectbox(label, [_FOUND, *options], key=f"{PREFIX}{key}", persist_state="session")


def _type(place: Any, label: str, key: str, example: str) -> str:
    return place.text_input(
        label, key=f"{PREFIX}{key}", persist_state="session", placeholder=_FOUND, help=f"Empty: found out. {example}."
    ).strip()


def _options(
    roles: dict[str, str],
    layout: str,
    header: str,
    decimal: str,
    separator: str,
    encoding: str,
    missing: str,
    words: str,
) -> dict[str, Any]:
    """Arguments for ``read_ratings``; ``ValueError`` in a sentence."""
    options: dict[str, Any] = {role: int(text.partition(":")[0]) for role, text in roles.items() if text != _FOUND}
    for name, text in {"layout": layout, "decimal": decimal}.items():
        if text != _FOUND:
            options[name] = text
    if header != _FOUND:
        options["header"] = header == "names"
    for name, text in {"separator": separator, "encoding": encoding}.items():
        if text:
            options[name] = text
    if missing:
        options["missing"] = () if missing.lower() == "none" else tuple(part.strip() for part in missing.split(","))
    if words:
        options["words"] = dict(_word(part) for part in words.split(","))
    return options


def _word(part: str) -> tuple[str, float]:
    word, equals, value = part.rpartition("=")
    try:
        return word.strip(), float(value if equals else "")
    except ValueError:
        raise ValueError(f"Words must be written as word = number, such as good = 1, bad = 0, got {part!r}.") from None
