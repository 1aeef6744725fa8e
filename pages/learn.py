"""Lessons: the ideas, the mathematics in formulas, exercises for class, glossary and references."""

from __future__ import annotations

import streamlit as st

from pages.parts import learn_chapters, learn_exercises, learn_words

_CHAPTERS = {
    "Completion": learn_chapters.completion,
    "Epsilon": learn_chapters.epsilon,
    "Where noise goes": learn_chapters.places,
    "Whom it protects": learn_chapters.people,
    "Claims": learn_chapters.claims,
    "InP+": learn_chapters.beyond,
    "Bounds": learn_chapters.bounds,
    "Exercises": learn_exercises.show,
    "Glossary": learn_words.show,
}


def page() -> None:
    st.title("Learn")
    chapter = st.pills(
        "Chapter",
        tuple(_CHAPTERS),
        default="Completion",
        required=True,
        wrap=True,
        key="chapter",
        bind="query-params",
        persist_state="session",
        label_visibility="collapsed",
    )
    _CHAPTERS[chapter]()


page()
