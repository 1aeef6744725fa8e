"""The chart of a sweep with its numbers, growing while the sweep is computed."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from obmc import plots, summary
from obmc.experiments import MEASURES
from pages.parts import charts, controls, sweeps
from pages.parts.scores import FORMS
from pages.parts.sweeps import Started

REFRESH_SECONDS = 2.0
_LOG = "logy"


@st.fragment(run_every=REFRESH_SECONDS)
def live() -> None:
    """The chart so far; when nothing more is to come, the page runs again without this clock."""
    started = sweeps.find()
    if started is None or not started.is_live:
        st.rerun()
    sweeps.progress(started)
    draw(started)


def switches() -> None:
    """How the chart is drawn; outside the part that is drawn again by the clock."""
    st.toggle(
        "Logarithmic error axis",
        key=_LOG,
        bind="query-params",
        persist_state="session",
        help="For errors of very different size, such as those of OutP.",
    )


def show(started: Started) -> None:
    """The chart of a sweep that has ended."""
    sweeps.progress(started)
    draw(started)


def draw(started: Started) -> None:
    """Chart, numbers, and what they are of."""
    plan = started.plan
    found = summary.chart_of(started.rows(), plan.label)
    for text in started.refused():
        st.warning(controls.as_text(f"Not computed: {text}"))
    if found.curves.empty and found.levels.empty:
        st.info("The first points are on their way." if started.is_live else "Nothing was computed.")
        return
    form = FORMS[found.metric]
    figure = plots.curves(
        found.curves,
        x=found.by,
        titles=("Epsilon", MEASURES[found.metric].label),
        levels=[plots.Level(row.series, row.mean, row.low, row.high) for row in found.levels.itertuples()],
        log=(True, bool(st.session_state.get(_LOG)) and found.metric == "are"),
        percent=form.endswith("%"),
    )
    charts.show(figure, "trade-off", summary.describe(found, form))
    st.caption(_what(started))
    with st.expander("The numbers", expanded=not started.is_live):
        charts.show_table(_table(found), "trade-off-numbers", _columns(form))


def _what(started: Started) -> str:
    setting = started.plan.setting
    noise = f"Gaussian noise, sigma {setting.sigma:g}" if setting.noise == "gaussian" else "logistic noise"
    parts = [controls.DATA.titles[setting.data], noise, f"{started.plan.calibration} calibration"]
    parts += [f"alpha {setting.alpha:g}", f"rank {setting.rank}", f"radius {setting.radius:g} tau"]
    if setting.is_synthetic:
        parts += [f"{setting.ratio:.0%} of {setting.size} x {setting.size} entries observed"]
    return (
        f"Means over draws with their 95 % intervals. {', '.join(parts)}. Seed {setting.seed}: the same settings give "
        "the same numbers again."
    )


def _table(found: summary.Chart) -> pd.DataFrame:
    """Curves, then lines, as the chart draws them."""
    columns = ["series", found.by, "mean", "low", "high", "count"]
    both = pd.concat([found.curves, found.levels], ignore_index=True)
    return both[columns].replace({found.by: {float("inf"): float("nan")}})


def _columns(form: str) -> dict:
    number = "percent" if form.endswith("%") else f"%{form}"
    value = {name: st.column_config.NumberColumn(label, format=number) for name, label in _VALUES.items()}
    return {
        "series": "Mechanism",
        "epsilon": st.column_config.NumberColumn("Epsilon", format="%g"),
        **value,
        "count": "Draws",
    }


_VALUES = {"mean": "Mean", "low": "95 % from", "high": "to"}
