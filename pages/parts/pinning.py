"""Keeping curves for the page Compare."""

from __future__ import annotations

import streamlit as st

from obmc import pins
from obmc.experiments import MEASURES
from obmc.pins import Pin
from obmc.plan import Plan
from pages.parts import controls
from pages.parts.address import Control, choice

# The text of all pins; the page Compare binds it to the address, and says what of it cannot be read.
TEXT = Control("pins", "Pins", "", str)
# The measure that is compared, and the pin that is subtracted from the others.
METRIC, BASE = "measure", "minus"
# What of the page Compare is in the address; which of the measures and pins there are depends on the pins.
_MEASURE = choice(METRIC, "Measure", "measure", [measure.label for measure in MEASURES.values()])
CONTROLS = (TEXT, _MEASURE, Control(BASE, "Minus", "", str))
_MESSAGE = "_pin_message"


def kept() -> tuple[list[Pin], list[str]]:
    """The pins of this visitor, and what could not be read of an address."""
    return pins.from_text(st.session_state.get(TEXT.key) or "")


def keep(found: list[Pin]) -> None:
    """Keep these pins."""
    st.session_state[TEXT.key] = pins.to_text(found)


def offer(plan: Plan) -> None:
    """A button for each curve of a chart."""
    st.header("Keep for comparison")
    labels = [curve.label for curve in plan.curves]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        # Drawn anew when the curves change, so that none that is gone stays chosen.
        label = st.selectbox(
            "Curve",
            labels,
            key="pin-curve",
            width=260,
            help="Which curve to keep. The page Compare overlays kept curves of any settings and tells their "
            "differences.",
        )
        st.button("Pin it", icon=":material/keep:", key="pin", on_click=_pin, args=(plan, label))
    message = st.session_state.pop(_MESSAGE, "")
    if message:
        st.caption(controls.as_text(message))


def _pin(plan: Plan, label: str) -> None:
    curve = next(curve for curve in plan.curves if curve.label == label)
    setting = plan.setting
    name = f"{label}, {controls.DATA.titles[setting.data]}, {setting.noise}"
    if curve.offer.calibrated and label == curve.offer.label:
        name += f", {curve.calibration}"
    found, _ = kept()
    try:
        found = pins.with_pin(found, Pin.of(plan, curve, name))
    except ValueError as error:
        st.session_state[_MESSAGE] = str(error)
        return
    keep(found)
    st.session_state[_MESSAGE] = f"Kept as “{found[-1].name}”: {len(found)} in all, on the page Compare."
