"""Accuracy against epsilon: chosen mechanisms, many draws, growing as they are computed."""

from __future__ import annotations

import streamlit as st

from obmc.errors import DataNotFoundError
from obmc.single import find_problem
from pages.parts import controls, data_offer, sweeps, tradeoff_chart


def page() -> None:
    st.title("Trade-off")
    setting = controls.current()
    try:
        find_problem(setting)
        plan = sweeps.choose(setting)
    except DataNotFoundError:
        data_offer.show(setting.data)
        return
    except ValueError as error:
        st.error(str(error))
        return
    live = sweeps.buttons(plan)
    running = sweeps.find()
    if running is None:
        st.info("Choose mechanisms and a range of epsilon, then compute: the chart grows draw by draw.")
        return
    if running.plan != plan:
        st.caption("The chart is of what was computed last; the controls now say something else.")
    tradeoff_chart.switches()
    if live:
        tradeoff_chart.live()
    else:
        tradeoff_chart.show(running)


page()
