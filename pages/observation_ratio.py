"""Accuracy against the share of observed entries: a curve per mechanism or per epsilon, or a heat map."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from obmc import plots, summary
from obmc.experiments import MEASURES
from obmc.plan import Curve, key_of
from obmc.presets import RATIO_PRESETS
from obmc.reading import FORMS
from obmc.summary import KEYS, Chart
from pages.parts import charts, controls, curve_chart, explain, sweeps
from pages.parts import curve_controls as wanted
from pages.parts.sweeps import Found

BY_MECHANISM, BY_EPSILON, HEAT = wanted.VIEWS


def page() -> None:
    st.title("Observation ratio")
    top = st.container()
    offers = wanted.mechanisms()
    left, right = st.columns(2, gap="medium")
    with left:
        metric = wanted.measure(controls.current().data)
    with right:
        view = wanted.view()
    chosen = st.container()
    picture = st.container()
    with st.expander("Ratios, epsilons, draws, calibrations"):
        plan, fault = wanted.planned(wanted.against_ratio, offers, metric)
    with top:
        wanted.choose_preset(plan, RATIO_PRESETS)
    if plan is None:
        picture.error(fault)
        return
    curve: Curve | None = None
    epsilon = plan.epsilons[0]
    with chosen:
        if view == BY_MECHANISM:
            epsilon = wanted.one_epsilon(plan)
        else:
            curve = wanted.one_curve(plan)
    if view != BY_MECHANISM and curve is None:
        picture.error("Choose at least one mechanism that takes an epsilon.")
        return
    with picture:
        found = sweeps.find(plan)
        sweeps.offer(found)
        curve_chart.live(plan, found, lambda now: draw(now, view, curve, epsilon))
    wanted.look("ratio")
    explain.box(
        "What the chart shows",
        "The more entries are observed, the less each one's noise matters: private curves come nearer to Clear to the "
        "right, and with enough data a strong guarantee costs little.",
        "On real data the share is of the training ratings: the smaller ones are part of the larger ones.",
    )


def draw(found: Found, view: str, curve: Curve | None, epsilon: float) -> None:
    """Chart and numbers of one of the three views."""
    if view == BY_MECHANISM:
        rows = found.rows[found.rows["epsilon"].isin([epsilon, float("inf")])]
        chart, styles = curve_chart.of(found, rows), None
        st.caption(f"At epsilon = {epsilon:g}.")
    else:
        assert curve is not None
        chart, names = _by_epsilon(found, curve)
        styles = plots.sequential_styles(names)
        if view == HEAT:
            _heat(found, chart, curve)
            return
        st.caption(f"{curve.label}, a curve for each epsilon.")
    curve_chart.show(found, chart, "observation-ratio", styles=styles)
    curve_chart.numbers(found, chart, "observation-ratio-numbers")


def _by_epsilon(found: Found, curve: Curve) -> tuple[Chart, list[str]]:
    """One mechanism with a series for each epsilon, beside the lines."""
    plan = found.plan
    names = {epsilon: f"epsilon = {epsilon:g}" for epsilon in plan.epsilons}

    def label(mechanism: str, calibration: str, options: str, epsilon: float) -> str:
        if (mechanism, calibration, options) == key_of(curve.spec):
            return names.get(epsilon, "")
        return plan.label(mechanism, calibration, options) if epsilon == float("inf") else ""

    mine = plan.rows_of_metric(found.rows)
    loss = wanted.is_on(wanted.LOSS)
    if loss:
        mine = summary.losses(mine)
    return summary.chart_of(mine, label, "ratio", (*KEYS, "epsilon"), loss=loss), list(names.values())


def _heat(found: Found, chart: Chart, curve: Curve) -> None:
    """The means at every epsilon and ratio, and the same in a table."""
    plan = found.plan
    cells = chart.curves[chart.curves["series"].str.startswith("epsilon = ")] if len(chart.curves) else chart.curves
    if cells.empty:
        st.info("None of these points has been computed yet.")
        return
    form, measure = FORMS[plan.metric], MEASURES[plan.metric].label
    title = "Loss" if chart.loss else measure
    figure = plots.heat_map(cells, title=title, percent=form.endswith("%"), scale=controls.scale())
    ends = cells.sort_values("mean")
    low, high = ends.iloc[0], ends.iloc[-1]
    said = ", ".join(
        f"{cell['mean']:{form}} at epsilon {cell['epsilon']:g} and {cell['ratio']:.0%}" for cell in (low, high)
    )
    charts.show(figure, "heat-map", f"{title} of {curve.label} by epsilon and ratio, from {said}.")
    st.caption(f"{curve.label}. {curve_chart.what(plan, loss=chart.loss)}")
    with st.expander("The numbers"):
        table: pd.DataFrame = cells[["epsilon", "ratio", "mean", "low", "high", "count"]]
        charts.show_table(table, "heat-map-numbers", curve_chart.columns_of(plan))


page()
