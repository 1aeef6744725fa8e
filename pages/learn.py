"""Lessons: the ideas, the mathematics in formulas, exercises for class, glossary and references."""

from __future__ import annotations

import streamlit as st

from pages.parts import address
from pages.parts.learn_contents import CHAPTER, CHAPTERS


def page() -> None:
    st.title("Learn")
    chapter = address.pick(st.pills, CHAPTER, tuple(CHAPTERS), label_visibility="collapsed")
    CHAPTERS[chapter]()


page()
