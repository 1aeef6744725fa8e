"""Accuracy against epsilon: chosen mechanisms, many draws; finished where it is known, filled in where it is not."""

from __future__ import annotations

import streamlit as st

from obmc.presets import PRESETS
from obmc.views import CurveView
from pages.parts import controls, curve_chart, explain, pinning, readings, sweeps
from pages.parts import curve_controls as wanted


def page() -> None:
    st.title("Trade-off")
    explain.say(
        "Ratings are completed from signs, liked or not liked, and what the result tells of any single sign is to be "
        "bounded by epsilon. Noise goes into the input (InP, InP+), the objective (ObjP), the gradients (GraP) or the "
        "output (OutP): what does it cost?"
    )
    top = st.container()
    offers = wanted.mechanisms()
    left, right = st.columns(2, gap="medium")
    with left:
        metric = wanted.measure(controls.current().data)
    with right:
        epsilon = controls.reading_epsilon()
    picture = st.container()
    with st.expander("Range, draws, calibrations"):
        plan, fault = wanted.planned(wanted.against_epsilon, offers, metric)
    with top:
        wanted.choose_preset(plan, PRESETS)
    if plan is None:
        picture.error(fault)
        return
    with picture:
        found = sweeps.find(plan)
        with st.container():
            sweeps.offer(found)
        view = CurveView(plan, epsilon=epsilon, **wanted.looks())
        curve_chart.live(plan, found, lambda now: curve_chart.show(now, view, view.name))
    wanted.look("epsilon")
    explain.box(
        "What the chart shows",
        "Each curve is one way of adding noise; to the right there is less privacy and less noise. Clear is the "
        "paper's estimator without noise. Bands are 95 % intervals of the means.",
        "A curve on the wrong side of all zeros, or of the majority class, is no better than not to look at the "
        "ratings. That can be so of Clear as well, as it is with 15 % observed; what shrinks the estimate towards "
        "zeros then looks like a gain.",
    )
    readings.at(found, epsilon)
    readings.calibrations(plan, epsilon)
    readings.inverse(found)
    pinning.offer(plan)


page()
