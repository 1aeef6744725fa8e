"""One run, seen: the truth, what is observed of it, the estimate, and how far off it is."""

from __future__ import annotations

import streamlit as st

from obmc.errors import DataNotFoundError
from obmc.single import Problem, Run, Setting, find_problem
from pages.parts import controls, facts, likes, pictures, waiting

SHOWN = "_playground_shown"
TITLES = {"are": "Average relative error", "sign_accuracy": "Sign accuracy on the test set"}
BASELINES = {"are": "All zeros", "sign_accuracy": "Majority class"}


def page() -> None:
    st.title("Playground")
    setting: Setting = st.session_state[controls.SETTING]
    try:
        problem = find_problem(setting)
        found = waiting.ask(setting, setting.clear())
    except (ValueError, DataNotFoundError) as error:
        st.error(str(error))
        return
    if found is None:
        waiting.poll()
        found = st.session_state.get(SHOWN)
        if found is None or found[0].estimate.shape != problem.train.shape:
            return
        st.caption("Until then, the last finished result:")
        problem = find_problem(found[0].setting)
    st.session_state[SHOWN] = found
    show(problem, *found)


def show(problem: Problem, run: Run, clear: Run) -> None:
    """One finished run beside the one without privacy."""
    scores(problem, run, clear)
    row, col = ("row", "column") if problem.rated is None else ("user", likes.NOUNS[run.setting.data][0])
    pictures.show(pictures.of_run(problem, run), run.setting.alpha, row, col)
    left, right = st.columns(2, gap="large")
    with right:
        st.subheader("The solver")
        facts.show(run.facts)
    if problem.rated is not None:
        with left:
            st.subheader("Predicted to be liked")
            likes.show(problem, run)


def scores(problem: Problem, run: Run, clear: Run) -> None:
    """The metric beside the two lines it is judged by."""
    form = "{:.3f}" if problem.measure.name == "are" else "{:.1%}"
    st.subheader(TITLES[problem.measure.name])
    cells = (
        (run.setting.mechanism.name, run.score),
        ("Without privacy", clear.score),
        (BASELINES[problem.measure.name], problem.baseline),
    )
    for column, (label, value) in zip(st.columns(len(cells)), cells, strict=True):
        column.metric(label, form.format(value))


page()
