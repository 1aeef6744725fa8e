"""What a chart says at one epsilon, and the epsilon that a wanted accuracy needs, in sentences."""

from __future__ import annotations

import streamlit as st

from obmc import limits
from obmc.experiments import MEASURES
from obmc.plan import Plan
from obmc.privacy.guarantee import odds
from obmc.reading import calibration_changes, epsilon_for, needed, read, rows_of
from pages.parts import address, controls, explain
from pages.parts.background import known
from pages.parts.sweeps import Found

_PERCENT = "sign_accuracy"
_WANTED = {
    metric: address.number(
        key, f"Wanted {MEASURES[metric].label.lower()}{', in per cent' if metric == _PERCENT else ''}", bound
    )
    for metric, key, bound in (
        ("are", "want_are", limits.WANTED_ERROR),
        (_PERCENT, "want_acc", limits.WANTED_ACCURACY),
        ("auc", "want_auc", limits.WANTED_AUC),
        ("log_loss", "want_loss", limits.WANTED_LOG_LOSS),
    )
}
CONTROLS = tuple(_WANTED.values())


def at(found: Found, epsilon: float) -> None:
    """A sentence for every curve at the marker, the best first."""
    plan = found.plan
    readings = found.derived(("read", epsilon), lambda: read(plan.rows_of_metric(found.rows), plan, epsilon))
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
        "An adversary who knows everything but one rating guesses its sign. Where epsilon is proven for the whole "
        f"output without a delta, the odds of the guess grow at most e^epsilon-fold: {odds(0.1)}-fold at 0.1, "
        f"{odds(10.0)}-fold at 10. With a delta, no set of results is more than e^epsilon times as likely under "
        "one sign as under the other, plus at most delta. The sentences above say which of these, if any, is proven.",
    )


def calibrations(plan: Plan, epsilon: float) -> None:
    """What the switch between the calibrations changes for the chosen mechanisms."""
    changes = known().derived(plan, 0, ("calibrations", epsilon), lambda: calibration_changes(plan, epsilon))
    if changes:
        with st.expander(f"What the rigorous calibration changes against the paper's, at epsilon = {epsilon:g}"):
            st.markdown("\n\n".join(f"**{label}.** {controls.as_text(text)}" for label, text in changes.items()))


def inverse(found: Found) -> None:
    """The smallest epsilon for a wanted value of the measure."""
    plan = found.plan
    control = _WANTED[plan.metric]
    st.header("The other way round")
    wanted = st.number_input(
        control.label,
        **control.numbers,
        format="%g",
        width=260,
        help=f"From {control.bound.low:g} to {control.bound.high:g}: the smallest epsilon whose mean is at least as "
        "good is read off the curves, made monotone, with a 95 % interval from resampled draws.",
        **address.bind(control),
    )
    level = wanted / 100.0 if plan.metric == _PERCENT else wanted
    lines = found.derived(("needed", level), lambda: _needed(found, level))
    st.markdown("\n".join(lines) if lines else "No curve has two points with all draws yet.")


def _needed(found: Found, level: float) -> list[str]:
    plan = found.plan
    rows = plan.rows_of_metric(found.rows)
    lines = []
    for curve in plan.private:
        if rows_of(rows, curve.spec)["epsilon"].nunique() > 1:
            try:
                answer = epsilon_for(rows, plan, curve, level)
            except ValueError:
                continue
            lines.append(f"- {controls.as_text(needed(answer, curve, level, plan.metric))}")
    return lines
