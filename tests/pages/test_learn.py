"""The lessons: every chapter opens, and its numbers are those of the core."""

from __future__ import annotations

import re
import string

import numpy as np
import pytest
from page_figures import drawn, numbers
from streamlit.testing.v1 import AppTest

from obmc import lessons
from obmc.checks import PRESETS
from obmc.privacy.guarantee import odds
from pages.parts import learn_chapters, learn_drawing, learn_exercises, learn_words

PAGE = "learn.py"
EXERCISES = learn_exercises.SHORT + learn_exercises.FURTHER


def text(at: AppTest) -> str:
    return "\n".join(part.value for kind in (at.header, at.subheader, at.markdown, at.caption) for part in kind)


@pytest.mark.parametrize(
    ("chapter", "said"),
    [
        ("Completion", "One-bit matrix completion"),
        ("Where noise goes", "Whom do you have to trust?"),
        ("InP+", "Effects of users and items"),
        ("Glossary", "Randomised response"),
    ],
)
def test_chapters_open(open_page, chapter, said):
    assert said in text(open_page(PAGE, chapter=chapter))


@pytest.mark.parametrize("chapter", ["Epsilon", "Whom it protects", "InP+", "Bounds"])
def test_every_figure_has_its_numbers_in_a_table(open_page, chapter):
    at = open_page(PAGE, chapter=chapter)
    figures = drawn(at)
    assert figures and all(len(figure["alt"]) > 40 for figure in figures.values())
    assert [box.label for box in at.expander].count("The numbers") == len(figures)
    # Nothing is in the boxes until they are opened.
    assert not at.dataframe
    for name in figures:
        at.session_state[f"{name}-numbers-open"] = True
    at.run()
    assert len(at.dataframe) == len(figures)
    for figure, table in zip(figures.values(), at.dataframe, strict=True):
        lines = [trace for trace in figure["data"] if trace.get("hoverinfo") != "skip"]
        assert list(table.value.columns)[1:] == [trace["name"] for trace in lines]
        for trace in lines:
            np.testing.assert_allclose(table.value[trace["name"]], numbers(trace["y"]))


def test_epsilon_is_said_by_odds_and_by_the_game(open_page):
    at = open_page(PAGE, chapter="Epsilon")
    at.select_slider(key="learn_eps").set_value(4.0).run()
    at.select_slider(key="learn_prior").set_value(0.1).run()
    said = text(at)
    assert f"**{odds(4.0)}-fold**" in said
    assert f"**{lessons.posterior(4.0, 0.1):.1%}**" in said
    assert "**98.2%**" in said


def test_people_and_composition(open_page):
    at = open_page(PAGE, chapter="Whom it protects")
    at.slider(key="learn_releases").set_value(4)
    at.select_slider(key="learn_each").set_value(0.5).run()
    ledger = lessons.ledger_of([0.5] * 4)
    assert ledger.statement in text(at)
    table = at.table[0].value
    assert list(table["delta = 0"]) == ["2", "130", "1,474"]
    assert float(table["delta = 0.00001"].iloc[1]) == pytest.approx(ledger.user_epsilon(65, 1e-5), rel=1e-3)
    at.slider(key="learn_releases").set_value(0).run()
    assert "Nothing has been spent" in text(at)


def test_every_claim_has_its_numbers_and_its_attack(open_page):
    at = open_page(PAGE, chapter="Claims")
    said = text(at)
    assert "where the true value is 4.09" in said
    assert "below 0.619" in said and "proven from 1.206" in said
    assert "epsilon is 200 times" in said
    for claim in learn_chapters.CLAIMS:
        assert claim.preset in PRESETS
        assert f"**{claim.mechanism}: {claim.verdict.lower()}.**" in said


def test_the_bounds_are_said_to_be_vacuous_where_they_are(open_page, settle):
    at = open_page(PAGE, chapter="Bounds")
    rows = lessons.in_sample()
    said = text(at)
    assert "**At this size the theory is vacuous** for Clear, InP, ObjP" in said
    assert f"Clear {rows[0].measured.value:.3f} ± {rows[0].measured.half:.3f}" in said
    at.segmented_control(key="learn_ratio").set_value(0.8).run()
    settle(at)
    assert "vacuous** for InP, ObjP" in text(at)


def test_solutions_are_behind_a_switch_and_computed(open_page, settle):
    at = open_page(PAGE, chapter="Exercises")
    assert "Solution." not in text(at)
    assert "6 exercises, 45 minutes" in text(at)
    at.toggle(key="solutions").set_value(True).run()
    settle(at)
    said = text(at)
    assert said.count("**Solution.**") == 6
    for exercise in learn_exercises.SHORT:
        assert exercise.solved(lessons.solve(exercise.key)) in said


def test_the_long_class_has_all_exercises(open_page):
    at = open_page(PAGE, chapter="Exercises")
    at.segmented_control(key="class").set_value("90 minutes").run()
    assert f"{len(EXERCISES)} exercises, 90 minutes" in text(at)


class TestTexts:
    def test_lengths(self):
        assert sum(exercise.minutes for exercise in learn_exercises.SHORT) == 45
        assert sum(exercise.minutes for exercise in EXERCISES) == 90
        assert [exercise.key for exercise in EXERCISES] == list(lessons.SOLUTIONS)

    @pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.key)
    def test_solutions_name_numbers_and_contain_none(self, exercise):
        """What looks like a result is in braces: a figure in the words could not follow the code."""
        names = {name for _, name, _, _ in string.Formatter().parse(exercise.solution) if name}
        assert names <= set(lessons.solve(exercise.key))
        assert names
        words = re.sub(r"\{[^{}]*\}|\$[^$]*\$", "", exercise.solution.replace("{{", "").replace("}}", ""))
        assert not re.search(r"\d\.\d", words)
        assert exercise.preset == "" or exercise.preset in PRESETS

    def test_the_drawing_names_every_place(self):
        drawn = learn_drawing.svg()
        for word in ("InP and InP+", "ObjP", "GraP", "OutP", "somebody’s server", "aria-label"):
            assert word in drawn
        assert "#000" not in drawn and "black" not in drawn and 'fill="white"' not in drawn

    def test_glossary_is_in_order(self):
        words = [word.casefold() for word in learn_words.GLOSSARY]
        assert words == sorted(words)
