"""What a chart says at one epsilon, and the epsilon that a wanted accuracy needs, in sentences."""

from __future__ import annotations

import streamlit as st

from obmc import limits
from obmc.experiments import MEASURES
from obmc.reading import epsilon_for, needed, read, rows_of
from pages.parts import controls, explain
from pages.parts.sweeps import Found

_WANTED = {
    "are": ("want_are", limits.WANTED_ERROR),
    "sign_accuracy": ("want_acc", limits.WANTED_ACCURACY),
    "auc": ("want_auc", limits.WANTED_AUC),
    "log_loss": ("want_loss", limits.WANTED_LOG_LOSS),
}
DEFAULTS = {key: bound.default for key, bound in _WANTED.values()}


def at(found: Found, epsilon: float) -> None:
    """A sentence for every curve at the marker, the best first."""
    plan = found.plan
    readings = read(plan.rows_of_metric(found.rows), plan, epsilon)
    st.header(f"At epsilon = {epsilon:g}")
    if not readings:
        st.info(f"No curve has points on both sides of epsilon = {epsilon:g} yet: move it, or compute what is missing.")
        return
    st.markdown("\n".join(f"- {controls.as_text(reading.sentence)}" for reading in readings))
    units = dict.fromkeys(reading.guarantee.unit for reading in readings)
    st.caption(
        f"Protected is {'; '.join(units)}. ± is half of the 95 % interval over {readings[0].value.draws} draws; "
        "differences to no privacy are of the same draws. These are simulations: their noise comes from a seed."
    )
    explain.box(
        "How to read this",
        "An adversary who knows everything but one rating guesses its sign. Epsilon bounds how much the result can "
        "help: the odds of the guess grow at most e^epsilon-fold. At 0.1 that is next to nothing, at 10 it is "
        "22,027-fold.",
    )


def inverse(found: Found) -> None:
    """The smallest epsilon for a wanted value of the measure."""
    plan = found.plan
    key, bound = _WANTED[plan.metric]
    percent = plan.metric == "sign_accuracy"
    st.header("The other way round")
    wanted = st.number_input(
        f"Wanted {MEASURES[plan.metric].label.lower()}{', in per cent' if percent else ''}",
        bound.low,
        bound.high,
        bound.default,
        bound.step,
        format="%g",
        key=key,
        bind="query-params",
        persist_state="session",
        width=260,
        help=f"From {bound.low:g} to {bound.high:g}: the smallest epsilon whose mean is at least as good is read off "
        "the curves, made monotone, with a 95 % interval from resampled draws.",
    )
    level = wanted / 100.0 if percent else wanted
    rows = plan.rows_of_metric(found.rows)
    lines = []
    for curve in plan.private:
        mine = rows_of(rows, curve.spec)
        if mine["epsilon"].nunique() > 1:
            try:
                answer = _answer(plan, curve.label, len(mine), level, _rows=rows)
            except ValueError:
                continue
            lines.append(f"- {controls.as_text(needed(answer, curve, level, plan.metric))}")
    st.markdown("\n".join(lines) if lines else "No curve has two points with all draws yet.")


@st.cache_data(show_spinner=False, max_entries=500)
def _answer(plan, label, count, level, _rows):
    curve = next(curve for curve in plan.private if curve.label == label)
    return epsilon_for(_rows, plan, curve, level)
