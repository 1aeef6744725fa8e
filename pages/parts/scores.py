"""The measure of a run beside the two lines it is judged by, and what that comparison says."""

from __future__ import annotations

import streamlit as st

from obmc.offers import Offer
from obmc.single import Problem, Run

HEADINGS = {"are": "Average relative error", "sign_accuracy": "Sign accuracy on the test set"}


def show(offer: Offer, problem: Problem, run: Run, clear: float) -> None:
    """Three numbers and a sentence."""
    name = problem.measure.name
    st.header(HEADINGS[name])
    cells = {"Clear (no noise)": clear, problem.baseline_label: problem.baseline}
    if not run.setting.mechanism.is_plain_clear:
        cells = {offer.label: run.score, **cells}
    grid = st.grid(3, min_column_width=90)
    for label, value in cells.items():
        grid.metric(label, format(value, problem.measure.form))
    st.caption(_reading(problem, run.score))


def _reading(problem: Problem, score: float) -> str:
    if problem.truth is not None:
        base = "The squared error in parts of the truth's own size: 0 is perfect, and a matrix of zeros scores 1."
        compared = "better" if score < problem.baseline else "worse" if score > problem.baseline else "no better"
        return f"{base} This estimate is {compared} than zeros."
    assert problem.test is not None
    better = "more" if score > problem.baseline else "not more"
    return (
        f"The share of the {len(problem.test):,} held-out ratings whose sign is right, {better} often than by always "
        "saying the more frequent one."
    )
