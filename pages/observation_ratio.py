"""Accuracy against the share of observed entries: a curve per mechanism or per epsilon, or a heat map."""

from __future__ import annotations

import streamlit as st

from obmc.presets import RATIO_PRESETS
from obmc.views import CurveView
from pages.parts import controls, curve_chart, explain, sweeps
from pages.parts import curve_controls as wanted
from pages.parts.sweeps import Found


def page() -> None:
    st.title("Observation ratio")
    top = st.container()
    offers = wanted.mechanisms()
    left, right = st.columns(2, gap="medium")
    with left:
        metric = wanted.measure(controls.current().data)
    with right:
        kind = wanted.view()
    chosen = st.container()
    picture = st.container()
    with st.expander("Ratios, epsilons, draws, calibrations"):
        plan, fault = wanted.planned(wanted.against_ratio, offers, metric)
    with top:
        wanted.choose_preset(plan, RATIO_PRESETS)
    if plan is None:
        picture.error(fault)
        return
    with chosen:
        part = {"epsilon": wanted.one_epsilon(plan)} if kind == "mechanism" else {"curve": wanted.one_curve(plan)}
    if part.get("curve", plan) is None:
        picture.error("Choose at least one mechanism that takes an epsilon.")
        return
    view = CurveView(plan, kind, **part, **wanted.looks())
    with picture:
        found = sweeps.find(plan)
        with st.container():
            sweeps.offer(found)
        curve_chart.live(plan, found, lambda now: draw(now, view))
    wanted.look("ratio")
    explain.box(
        "What the chart shows",
        "The more entries are observed, the better the estimator without noise, Clear. How much of that a private "
        "curve has depends on epsilon: at a small one it may stay nearly flat, while Clear moves away from it; at a "
        "large one it can follow.",
        "On real data the share is of the training ratings: the smaller ones are part of the larger ones.",
    )


def draw(found: Found, view: CurveView) -> None:
    """What is shown of the plan, then chart and numbers."""
    st.caption(view.subtitle)
    curve_chart.show(found, view, "heat-map" if view.kind == "heat" else view.name)


page()
