"""The controls of the pages with curves: presets, mechanisms, points, draws, measure, and how the chart is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from obmc import limits
from obmc.experiments import MEASURES
from obmc.offers import CALIBRATIONS, OFFERS, Offer
from obmc.plan import Curve, Plan, curves_of, metrics_for
from obmc.presets import PRESETS, Preset, find_preset
from obmc.views import KINDS
from pages.parts import controls, explain
from pages.parts.controls import reading_epsilon

_PRESET = "preset"
_OWN = "Own settings"
MECHANISMS, BOTH, METRIC = "mechs", "both", "metric"
RANGE, POINTS, DRAWS = "range", "points", "draws"
RATIOS, RATIO_DRAWS, EPSILONS, VIEW, ONE = "ratios", "reps", "epsilons", "view", "one"
LOG_EPSILON, LOG_ERROR, LOSS, SINGLES = "logx", "logy", "loss", "single"
VIEWS = dict(zip(("Curve per mechanism", "Curve per epsilon", "Heat map"), KINDS, strict=True))
_MECHANISM_VIEW = next(iter(VIEWS))
_OFFERED = {offer.label: offer for offer in OFFERS.values() if offer.key != "clear"}
_DEFAULT = tuple(OFFERS[key].label for key in next(iter(PRESETS.values())).offers)
_BOUND: dict[str, Any] = {"bind": "query-params", "persist_state": "session"}
# For the link that shares a view: what it can leave out, and how the others are written in an address.
DEFAULTS: dict[str, Any] = {
    MECHANISMS: _DEFAULT,
    BOTH: False,
    METRIC: None,
    RANGE: limits.EPSILON_RANGE,
    POINTS: int(limits.POINTS.default),
    DRAWS: int(limits.REPETITIONS.default),
    RATIOS: limits.RATIO_RANGE,
    RATIO_DRAWS: int(limits.RATIO_REPETITIONS.default),
    EPSILONS: limits.RATIO_EPSILONS,
    VIEW: None,
    ONE: None,
    LOG_EPSILON: True,
    LOG_ERROR: True,
    LOSS: False,
    SINGLES: False,
}


def defaults(data: str) -> dict[str, Any]:
    """``DEFAULTS`` with what depends on the data set or on what is chosen: the measure and the view."""
    return {**DEFAULTS, METRIC: MEASURES[metrics_for(data)[0]].label, VIEW: _MECHANISM_VIEW}


FORMS: dict[str, Callable[[Any], str]] = {RANGE: "{:g}".format, RATIOS: "{:.0%}".format, EPSILONS: "{:g}".format}


# Presets --------------------------------------------------------------------------------------------------------------


def choose_preset(plan: Plan | None, known: Mapping[str, Preset]) -> None:
    """The box with the presets, which shows the one that the controls add up to, and what to look for in it."""
    found = None if plan is None else find_preset(plan)
    st.session_state[_PRESET] = _OWN if found is None else found.title
    titles = {preset.title: preset for preset in known.values()}
    st.selectbox(
        "Preset",
        [*titles, _OWN],
        key=_PRESET,
        on_change=_take_preset,
        args=(titles,),
        help="Charts that are computed already. Choosing one sets all controls; whatever is changed after that makes "
        "it your own.",
    )
    explain.say("" if found is None else found.about)


def _take_preset(titles: Mapping[str, Preset]) -> None:
    preset = titles.get(st.session_state[_PRESET])
    if preset is None:
        return
    state = st.session_state
    for control in controls.CONTROLS:
        if control is not controls.MECHANISM:
            state[control.key] = control.read(control.default)
    state[controls.DATA.key] = controls.DATA.titles[preset.data]
    state[controls.NOISE.key] = controls.NOISE.titles[preset.noise]
    state[controls.CALIBRATION.key] = controls.CALIBRATION.titles[preset.calibrations[0]]
    state[controls.EPSILON.key] = preset.epsilon
    state[MECHANISMS] = [OFFERS[key].label for key in preset.offers]
    state[BOTH] = len(preset.calibrations) > 1
    state[METRIC] = MEASURES[metrics_for(preset.data)[0]].label
    state[LOG_ERROR], state[LOSS] = preset.log_error, False
    if preset.ratios is None:
        state[RANGE], state[POINTS], state[DRAWS] = (
            (preset.low, preset.high),
            int(limits.POINTS.default),
            preset.repetitions,
        )
    else:
        state[RATIOS], state[RATIO_DRAWS] = preset.ratios, preset.repetitions
        state[EPSILONS] = list(limits.RATIO_EPSILONS)


# What is compared -----------------------------------------------------------------------------------------------------


def mechanisms() -> tuple[Offer, ...]:
    """The mechanisms to compare."""
    chosen = st.pills(
        "Mechanisms",
        tuple(_OFFERED),
        selection_mode="multi",
        default=_DEFAULT,
        key=MECHANISMS,
        wrap=True,
        help="What to compare, any number of them. Clear, the estimator without noise, is always drawn.",
        **_BOUND,
    )
    return tuple(_OFFERED[label] for label in chosen)


def measure(data: str) -> str:
    """The measure on the vertical axis."""
    labels = {MEASURES[name].label: name for name in metrics_for(data)}
    if st.session_state.get(METRIC) not in labels:
        # Of another kind of data.
        st.session_state.pop(METRIC, None)
    chosen = st.selectbox(
        "Measure",
        tuple(labels),
        key=METRIC,
        help="Average relative error: the squared error in parts of the truth's size, 0 is perfect and a matrix of "
        "zeros scores 1; it needs a known truth. Sign accuracy: the share of held-out signs that are right. Area "
        "under the ROC curve: how often a positive entry is put above a negative one, 0.5 is chance. Log-loss: minus "
        "the mean log probability of the held-out signs, lower is better.",
        **_BOUND,
    )
    return labels[chosen]


def calibrations() -> tuple[str, ...]:
    """One calibration, the sidebar's, or both."""
    both = controls.switch(
        BOTH,
        "Both calibrations",
        "Draw every mechanism as in the paper and as corrected, in one chart; else as the sidebar's Calibration says.",
    )
    return CALIBRATIONS if both else (controls.calibration(),)


def planned(
    against: Callable[[tuple[Offer, ...], str], Plan], offers: tuple[Offer, ...], metric: str
) -> tuple[Plan | None, str]:
    """The plan that the controls make, or None and the sentence that says why they do not make one."""
    try:
        return against(offers, metric), ""
    except ValueError as error:
        return None, str(error)


def against_epsilon(offers: tuple[Offer, ...], metric: str) -> Plan:
    """The plan of a chart against epsilon; ``ValueError`` where the controls do not make one."""
    low, high = st.select_slider(
        "Range of epsilon",
        limits.CURVE_GRID,
        value=limits.EPSILON_RANGE,
        format_func="{:g}".format,
        key=RANGE,
        help="The ends of the horizontal axis, between 0.1 and 20.",
        **_BOUND,
    )
    left, right = st.columns(2, gap="medium")
    points = _whole(left, limits.POINTS, POINTS, "Points", "At most so many values of epsilon in the range, 2 to 21.")
    draws = _draws(right, limits.REPETITIONS, DRAWS)
    curves = curves_of(offers, calibrations())
    setting = controls.current().clear()
    return Plan(setting, curves, limits.epsilons_between(low, high, points), draws, metric)


def against_ratio(offers: tuple[Offer, ...], metric: str) -> Plan:
    """The plan of a chart against the observation ratio; ``ValueError`` where the controls do not make one."""
    kept = controls.current().data != "synthetic"
    low, high = st.select_slider(
        "Range of the share of training ratings kept" if kept else "Range of the observation ratio",
        limits.RATIO_GRID,
        value=limits.RATIO_RANGE,
        format_func="{:.0%}".format,
        key=RATIOS,
        help="The ends of the horizontal axis, between 5 % and 95 %.",
        **_BOUND,
    )
    left, right = st.columns([2, 1], gap="medium")
    chosen = left.multiselect(
        "Values of epsilon",
        limits.CURVE_GRID,
        default=limits.RATIO_EPSILONS,
        format_func="{:g}".format,
        key=EPSILONS,
        help="Which values of epsilon to compute, any number of those between 0.1 and 20: the rows of the heat map and "
        "the curves of one mechanism.",
        **_BOUND,
    )
    draws = _draws(right, limits.RATIO_REPETITIONS, RATIO_DRAWS)
    curves = curves_of(offers, calibrations())
    setting = controls.current().clear()
    if setting.is_synthetic:
        # The sidebar's ratio has no part in this chart.
        setting = replace(setting, ratio=limits.RATIO.default)
    return Plan(setting, curves, tuple(sorted(chosen)), draws, metric, limits.ratios_between(low, high))


def view() -> str:
    """Which of the three pictures against the observation ratio, one of ``obmc.views.KINDS``."""
    title = st.segmented_control(
        "View",
        tuple(VIEWS),
        default=_MECHANISM_VIEW,
        required=True,
        key=VIEW,
        help="A curve for each mechanism at one epsilon; a curve for each epsilon of one mechanism; or one mechanism's "
        "values at every epsilon and ratio as colours.",
        **_BOUND,
    )
    return VIEWS[title]


def one_epsilon(plan: Plan) -> float:
    """The epsilon of the plan at which mechanisms are compared: the one nearest to the sidebar's."""
    asked = reading_epsilon()
    return min(plan.epsilons, key=lambda epsilon: abs(math.log(epsilon / asked)))


def one_curve(plan: Plan) -> Curve | None:
    """The mechanism whose epsilons are compared; None if none of the plan takes one."""
    labels = {curve.label: curve for curve in plan.private}
    if not labels:
        return None
    if st.session_state.get(ONE) not in labels:
        st.session_state.pop(ONE, None)
    chosen = st.selectbox(
        "Mechanism", tuple(labels), key=ONE, help="Whose values to show; one of those chosen above.", **_BOUND
    )
    return labels[chosen]


def _draws(place, bound: limits.Range, key: str) -> int:
    return _whole(
        place,
        bound,
        key,
        "Draws",
        "Independent repetitions behind every point, each with data and noise of its own, 3 to 100.",
    )


def _whole(place, bound: limits.Range, key: str, label: str, help: str) -> int:
    ends = int(bound.low), int(bound.high), int(bound.default), int(bound.step)
    return place.number_input(label, *ends, key=key, help=help, **_BOUND)


# How it is drawn ------------------------------------------------------------------------------------------------------


def look(by: str) -> None:
    """The switches of the chart."""
    with st.container(horizontal=True, gap="medium"):
        if by == "epsilon":
            controls.switch(LOG_EPSILON, "Logarithmic epsilon axis", "Off: epsilon on a linear scale.", True)
        controls.switch(LOG_ERROR, "Logarithmic error axis", "For errors of very different size, such as OutP's.", True)
        controls.switch(
            LOSS,
            "Loss against Clear",
            "How much worse than without noise, on the same draws: the intervals of these paired differences are "
            "narrower than those of two means.",
        )
        controls.switch(SINGLES, "Single draws", "Every repetition as a small point.")


def looks() -> dict[str, Any]:
    """How the chart is drawn, as ``obmc.views.CurveView`` takes it: the switches, wherever on the page they stand."""

    def is_on(key: str) -> bool:
        return bool(st.session_state.get(key, DEFAULTS[key]))

    return {"loss": is_on(LOSS), "singles": is_on(SINGLES), "log": (is_on(LOG_EPSILON), is_on(LOG_ERROR))}
