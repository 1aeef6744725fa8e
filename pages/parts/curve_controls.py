"""The controls of the pages with curves: presets, mechanisms, points, draws, measure, and how the chart is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from obmc import limits
from obmc.experiments import MEASURES
from obmc.offers import CALIBRATIONS, OFFERS, Offer
from obmc.plan import Curve, Plan, curves_of, metrics_for
from obmc.presets import PRESETS, Preset, find_preset
from obmc.views import KINDS
from pages.parts import address, controls, explain
from pages.parts.address import Control
from pages.parts.controls import reading_epsilon

_PRESET = "preset"
_OWN = "Own settings"
VIEWS = dict(zip(("Curve per mechanism", "Curve per epsilon", "Heat map"), KINDS, strict=True))
_OFFERED = {offer.label: offer for offer in OFFERS.values() if offer.key != "clear"}
_DEFAULT = tuple(OFFERS[key].label for key in next(iter(PRESETS.values())).offers)


def _several(key: str, label: str, stops: tuple, default: tuple, counts: tuple[int, int], form: str) -> Control:
    return address.stops(key, label, label, stops, default, form.format, counts)


def measure_of(data: str) -> Control:
    """The measure on the vertical axis, one of those that the data set has."""
    return address.choice("metric", "Measure", "measure", [MEASURES[name].label for name in metrics_for(data)])


MECHANISMS = _several("mechs", "Mechanisms", tuple(_OFFERED), _DEFAULT, (0, len(_OFFERED)), "{}")
RANGE = _several("range", "Range of epsilon", limits.CURVE_GRID, limits.EPSILON_RANGE, (2, 2), "{:g}")
POINTS = address.number("points", "Points", limits.POINTS)
DRAWS = address.number("draws", "Draws", limits.REPETITIONS)
RATIOS = _several("ratios", "Range of the observation ratio", limits.RATIO_GRID, limits.RATIO_RANGE, (2, 2), "{:.0%}")
RATIO_DRAWS = address.number("reps", "Draws", limits.RATIO_REPETITIONS)
EPSILONS = _several(
    "epsilons",
    "Values of epsilon",
    limits.CURVE_GRID,
    limits.RATIO_EPSILONS,
    (0, len(limits.CURVE_GRID)),
    "{:g}",
)
VIEW = address.choice("view", "View", "view", tuple(VIEWS))
BOTH = address.switch("both", "Both calibrations", False)
LOG_EPSILON = address.switch("logx", "Logarithmic epsilon axis", True)
LOG_ERROR = address.switch("logy", "Logarithmic error axis", True)
LOSS = address.switch("loss", "Loss against Clear", False)
SINGLES = address.switch("single", "Single draws", False)
# The mechanism whose epsilons are compared: which there are depends on what is chosen.
ONE = "one"
_LABELS = tuple(
    curve.label
    for calibrations in (CALIBRATIONS[:1], CALIBRATIONS)
    for curve in curves_of((offer for offer in _OFFERED.values() if offer.private), calibrations)
)


def known(data: str) -> tuple[Control, ...]:
    """All controls of these pages for a data set."""
    return (
        *(MECHANISMS, BOTH, measure_of(data), RANGE, POINTS, DRAWS, RATIOS, RATIO_DRAWS, EPSILONS, VIEW),
        *(_one_of(_LABELS), LOG_EPSILON, LOG_ERROR, LOSS, SINGLES),
    )


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
        help="Charts to begin with. Most are computed already; where runs are missing, the page names the mechanisms "
        "and offers to compute them. Choosing one sets all controls; whatever is changed after that makes it your own.",
    )
    explain.say("" if found is None else found.about)


def _take_preset(titles: Mapping[str, Preset]) -> None:
    preset = titles.get(st.session_state[_PRESET])
    if preset is None:
        return
    address.forget()
    state = st.session_state
    for control in controls.CONTROLS:
        if control is not controls.MECHANISM:
            state[control.key] = control.default
    state[controls.DATA.key] = controls.DATA.titles[preset.data]
    state[controls.NOISE.key] = controls.NOISE.titles[preset.noise]
    state[controls.CALIBRATION.key] = controls.CALIBRATION.titles[preset.calibrations[0]]
    state[controls.EPSILON.key] = preset.epsilon
    state[MECHANISMS.key] = [OFFERS[key].label for key in preset.offers]
    state[BOTH.key] = len(preset.calibrations) > 1
    state[measure_of(preset.data).key] = MEASURES[metrics_for(preset.data)[0]].label
    state[LOG_ERROR.key], state[LOSS.key] = preset.log_error, False
    if preset.ratios is None:
        state[RANGE.key], state[POINTS.key], state[DRAWS.key] = (
            (preset.low, preset.high),
            POINTS.default,
            preset.repetitions,
        )
    else:
        state[RATIOS.key], state[RATIO_DRAWS.key] = preset.ratios, preset.repetitions
        state[EPSILONS.key] = list(limits.RATIO_EPSILONS)


# What is compared -----------------------------------------------------------------------------------------------------


def mechanisms() -> tuple[Offer, ...]:
    """The mechanisms to compare."""
    chosen = st.pills(
        MECHANISMS.label,
        tuple(_OFFERED),
        selection_mode="multi",
        default=MECHANISMS.default,
        wrap=True,
        help="What to compare, any number of them. Clear, the estimator without noise, is always drawn.",
        **address.bind(MECHANISMS),
    )
    return tuple(_OFFERED[label] for label in chosen)


def measure(data: str) -> str:
    """The measure on the vertical axis."""
    labels = {MEASURES[name].label: name for name in metrics_for(data)}
    control = measure_of(data)
    if st.session_state.get(control.key) not in labels:
        # Of another kind of data.
        st.session_state.pop(control.key, None)
    chosen = st.selectbox(
        control.label,
        tuple(labels),
        help="Average relative error: the squared error in parts of the truth's size, 0 is perfect and a matrix of "
        "zeros scores 1; it needs a known truth. Sign accuracy: the share of held-out signs that are right. Area "
        "under the ROC curve: how often a positive entry is put above a negative one, 0.5 is chance. Log-loss: minus "
        "the mean log probability of the held-out signs, lower is better.",
        **address.bind(control),
    )
    return labels[chosen]


def calibrations() -> tuple[str, ...]:
    """One calibration, the sidebar's, or both."""
    both = controls.switch(
        BOTH,
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
        RANGE.label,
        limits.CURVE_GRID,
        value=RANGE.default,
        format_func=RANGE.form,
        help="The ends of the horizontal axis, between 0.1 and 20.",
        **address.bind(RANGE),
    )
    left, right = st.columns(2, gap="medium")
    points = _whole(left, POINTS, "At most so many values of epsilon in the range, 2 to 21.")
    draws = _draws(right, DRAWS)
    curves = curves_of(offers, calibrations())
    setting = controls.current().clear()
    return Plan(setting, curves, limits.epsilons_between(low, high, points), draws, metric)


def against_ratio(offers: tuple[Offer, ...], metric: str) -> Plan:
    """The plan of a chart against the observation ratio; ``ValueError`` where the controls do not make one."""
    kept = controls.current().data != "synthetic"
    low, high = st.select_slider(
        "Range of the share of training ratings kept" if kept else RATIOS.label,
        limits.RATIO_GRID,
        value=RATIOS.default,
        format_func=RATIOS.form,
        help="The ends of the horizontal axis, between 5 % and 95 %.",
        **address.bind(RATIOS),
    )
    left, right = st.columns([2, 1], gap="medium")
    chosen = left.multiselect(
        EPSILONS.label,
        limits.CURVE_GRID,
        default=EPSILONS.default,
        format_func=EPSILONS.form,
        help="Which values of epsilon to compute, any number of those between 0.1 and 20: the rows of the heat map and "
        "the curves of one mechanism.",
        **address.bind(EPSILONS),
    )
    draws = _draws(right, RATIO_DRAWS)
    curves = curves_of(offers, calibrations())
    setting = controls.current().clear()
    if setting.is_synthetic:
        # The sidebar's ratio has no part in this chart.
        setting = replace(setting, ratio=limits.RATIO.default)
    return Plan(setting, curves, tuple(sorted(chosen)), draws, metric, limits.ratios_between(low, high))


def view() -> str:
    """Which of the three pictures against the observation ratio, one of ``obmc.views.KINDS``."""
    title = address.pick(
        st.segmented_control,
        VIEW,
        tuple(VIEWS),
        help="A curve for each mechanism at one epsilon; a curve for each epsilon of one mechanism; or one mechanism's "
        "values at every epsilon and ratio as colours.",
    )
    return VIEWS[title]


def one_epsilon(plan: Plan) -> float:
    """The epsilon of the plan at which mechanisms are compared: the one nearest to the sidebar's."""
    return limits.nearest_epsilon(reading_epsilon(), plan.epsilons)


def one_curve(plan: Plan) -> Curve | None:
    """The mechanism whose epsilons are compared; None if none of the plan takes one."""
    labels = {curve.label: curve for curve in plan.private}
    if not labels:
        return None
    if st.session_state.get(ONE) not in labels:
        st.session_state.pop(ONE, None)
    control = _one_of(labels)
    chosen = st.selectbox(
        control.label,
        tuple(labels),
        help="Whose values to show; one of those chosen above.",
        **address.bind(control),
    )
    return labels[chosen]


def _one_of(labels: Iterable[str]) -> Control:
    return address.choice(ONE, "Mechanism", "mechanism", tuple(labels))


def _draws(place, control: Control) -> int:
    return _whole(
        place,
        control,
        "Independent repetitions behind every point, each with data and noise of its own, 3 to 100.",
    )


def _whole(place, control: Control, help: str) -> int:
    return place.number_input(control.label, **control.numbers, help=help, **address.bind(control))


# How it is drawn ------------------------------------------------------------------------------------------------------


def look(by: str) -> None:
    """The switches of the chart."""
    with st.container(horizontal=True, gap="medium"):
        if by == "epsilon":
            controls.switch(LOG_EPSILON, "Off: epsilon on a linear scale.")
        controls.switch(LOG_ERROR, "For errors of very different size, such as OutP's.")
        controls.switch(
            LOSS,
            "How much worse than without noise, on the same draws: the intervals of these paired differences are "
            "narrower than those of two means.",
        )
        controls.switch(SINGLES, "Every repetition as a small point.")


def looks() -> dict[str, Any]:
    """How the chart is drawn, as ``obmc.views.CurveView`` takes it: the switches, wherever on the page they stand."""

    def is_on(control: Control) -> bool:
        return bool(st.session_state.get(control.key, control.default))

    return {"loss": is_on(LOSS), "singles": is_on(SINGLES), "log": (is_on(LOG_EPSILON), is_on(LOG_ERROR))}
