"""The chapters of the lessons in their order, and what of them an address holds."""

from __future__ import annotations

from pages.parts import address, learn_chapters, learn_exercises, learn_words

CHAPTERS = {
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
CHAPTER = address.choice("chapter", "Chapter", "chapter", tuple(CHAPTERS))
CONTROLS = (CHAPTER, learn_exercises.LENGTH, learn_exercises.SOLUTIONS)
