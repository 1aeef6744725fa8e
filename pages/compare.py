"""Pinned results side by side: curves of any settings in one chart, and their differences with intervals."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from obmc import pins
from obmc.experiments import MEASURES
from obmc.pins import Pin
from obmc.plan import Plan
from obmc.views import PinView, common_metrics
from pages.parts import address, charts, controls, curve_chart, explain, pinning, sweeps, taking
from pages.parts.sweeps import Found


def page() -> None:
    st.title("Compare")
    _address()
    found, notes = pinning.kept()
    for note in notes:
        st.warning(controls.as_text(note))
    explain.box(
        "What this page is for",
        "Pin curves on the page Trade-off, whatever their settings, and see them in one chart here. Where two pins are "
        "of the same data and seed, their draws are paired, which makes the interval of their difference narrow.",
    )
    if not found:
        st.info(
            "Nothing is pinned yet: open Trade-off and press “Pin it” under a chart, or open a settings file below."
        )
    else:
        _compared(found)
        st.header("Names")
        _names(found)


def _address() -> None:
    """The pins as one line: what the address carries."""
    with st.expander("The pins as text"):
        st.text_input(
            pinning.TEXT.label,
            help="All pins with their settings, as the address holds them. A text from elsewhere can be pasted here.",
            **address.bind(pinning.TEXT),
        )


def _compared(found: list[Pin]) -> None:
    view = PinView(tuple(found), _measure(found))
    results = {name: sweeps.find(plan) for name, plan in view.plans.items()}
    _missing(results)
    data = view.gather({name: result.rows for name, result in results.items()})
    for picture in view.pictures(data, controls.scale()):
        charts.show(picture.figure, view.name, picture.alt)
        st.caption(view.caption())
        columns = ["series", "epsilon", "mean", "low", "high", "count"]
        shown = view.table(data)[columns].replace({"epsilon": {float("inf"): float("nan")}})
        charts.show_numbers(shown, "compare-numbers", curve_chart.columns_of(view.metric))
    if len(found) > 1:
        st.header("Differences")
        view = _differences(view, data)
    if len(data):
        missing = sum(len(result.missing) for result in results.values())
        taking.offer(view, data, {view.name: ""}, missing=missing)


def _measure(found: list[Pin]) -> str:
    labels = {MEASURES[name].label: name for name in common_metrics(found)}
    return labels[
        _choose(
            "Measure", tuple(labels), pinning.METRIC, "What is compared: the measures that all pinned data sets have."
        )
    ]


def _choose(label: str, options: tuple[str, ...], key: str, help: str) -> str:
    if st.session_state.get(key) not in options:
        # Of other pins.
        st.session_state.pop(key, None)
    return st.selectbox(label, options, help=help, **address.bind(address.choice(key, label, label.lower(), options)))


def _missing(results: dict[str, Found]) -> None:
    lacking = {name: result for name, result in results.items() if result.missing}
    for name, result in lacking.items():
        st.info(controls.as_text(f"{name}: {len(result.missing):,} of {result.plan.runs:,} runs are missing."))
        if not result.is_live:
            sweeps.progress(result)
    live = {name: result for name, result in lacking.items() if result.is_live}
    if live:
        _watch({name: result.plan for name, result in live.items()})
        if mine := [result.plan for result in live.values() if result.mine]:
            sweeps.cancel(mine)
    ready = {name: result for name, result in lacking.items() if not result.is_live and result.can_compute}
    if ready:
        name = next(iter(ready))
        if st.button(
            "Compute what is missing of the first of these", icon=":material/play_arrow:", key="compare-compute"
        ):
            sweeps.start(ready[name])


@st.fragment(run_every=sweeps.REFRESH_SECONDS)
def _watch(live: dict[str, Plan]) -> None:
    """How far the plans are that are being computed; the page is run again when one of them has ended."""
    for name, plan in live.items():
        found = sweeps.find(plan)
        if not found.is_live:
            st.rerun()
        st.caption(controls.as_text(name))
        sweeps.progress(found)


def _differences(view: PinView, data: pd.DataFrame) -> PinView:
    """The differences to a pin in a table; the view with that pin."""
    there = tuple(view.rows(data))
    if len(there) < 2:
        st.info("Two pins with results are needed for a difference.")
        return view
    base = _choose("Minus", there, pinning.BASE, "The pin that is subtracted from all others.")
    view = replace(view, base=base)
    table = view.differences(data)
    if table.empty:
        st.info("These pins have no epsilon in common.")
        return view
    number = st.column_config.NumberColumn
    form = "percent" if MEASURES[view.metric].is_share else "%.3g"
    columns = {
        "pin": "Pin",
        "epsilon": number("Epsilon", format="%g"),
        "difference": number("Difference", format=form),
        "low": number("95 % from", format=form),
        "high": number("to", format=form),
        "draws": "Draws",
        "paired": "Paired",
    }
    charts.show_table(table, "differences", columns)
    better = "lower" if MEASURES[view.metric].lower_is_better else "higher"
    st.caption(f"Each pin minus {controls.as_text(base)}; {better} is better. Paired: both saw the same draws.")
    return view


def _names(found: list[Pin]) -> None:
    for place, pin in enumerate(found):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            key = f"name-{place}-{pin.name}"
            st.text_input(
                f"Name of pin {place + 1}",
                pin.name,
                max_chars=pins.MAX_NAME,
                key=key,
                on_change=_rename,
                args=(place, key),
                help=f"What the chart calls it, 1 to {pins.MAX_NAME} characters.",
            )
            st.button("Remove", key=f"remove-{place}", icon=":material/delete:", on_click=_remove, args=(place,))
    st.button("Remove all", key="remove-all", type="tertiary", on_click=pinning.keep, args=([],))


def _rename(place: int, key: str) -> None:
    found, _ = pinning.kept()
    name = pins.clean(st.session_state[key])
    others = [pin.name for order, pin in enumerate(found) if order != place]
    found[place] = replace(found[place], name=pins.unused(name, others))
    pinning.keep(found)


def _remove(place: int) -> None:
    found, _ = pinning.kept()
    del found[place]
    pinning.keep(found)


page()
