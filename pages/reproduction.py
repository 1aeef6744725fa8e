"""What the paper says about its figures, what was measured, and the figures themselves, from the shipped rows."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from obmc import plots, summary
from obmc.experiments import MEASURES, RESULTS_VERSION
from obmc.experiments.figures import choices, figures, shipped_rows, shipped_table_1
from obmc.experiments.report import DENSITIES, check_line, data_sets, series_of, spread_lines, varied
from obmc.experiments.statements import Statement, judge
from pages.parts import address, charts, curve_chart
from pages.parts import reproduction_controls as wanted


# One object for all visitors, as it is large; nobody changes it.
@st.cache_resource(show_spinner=False)
def shipped(name: str) -> pd.DataFrame:
    return shipped_rows(name)


@st.cache_resource(show_spinner=False)
def tried(name: str) -> pd.DataFrame:
    return varied(shipped(name), choices()[name].against)


@st.cache_resource(show_spinner=False)
def statements() -> list[Statement]:
    return judge({name: shipped(name) for name in figures()})


def page() -> None:
    st.title("Reproduction")
    st.caption(
        "What the paper says about its figures, put to the same experiments computed again. Every verdict is computed "
        f"from the shipped rows, version {RESULTS_VERSION}; simulations on synthetic and public data, no releases."
    )
    chart()
    st.header("Statement by statement")
    for found in statements():
        statement(found)
    unprinted()
    data()


def chart() -> None:
    """One figure of the paper."""
    known = {figure.title: figure for figure in figures().values() if not shipped(figure.name).empty}
    if not known:
        st.info("No results have been shipped: compute them with python -m obmc reproduce.")
        return
    title = st.selectbox(wanted.FIGURE.label, tuple(known), **address.bind(wanted.FIGURE))
    titles = tuple(wanted.CALIBRATION.titles.values())
    chosen = st.radio(wanted.CALIBRATION.label, titles, horizontal=True, **address.bind(wanted.CALIBRATION))
    calibration = wanted.CALIBRATION.value_of(chosen)
    figure = known[title]
    rows, metric = part(figure.name, calibration)
    epsilon = None
    if figure.against == "ratio":
        levels = sorted(rows[rows["calibration"] != ""]["epsilon"].unique())
        if not levels:
            st.info("Nothing of this calibration has been computed yet.")
            return
        if st.session_state.get(wanted.EPSILON.key) not in levels:
            # Of another figure.
            st.session_state.pop(wanted.EPSILON.key, None)
        epsilon = st.select_slider(
            wanted.EPSILON.label,
            levels,
            value=wanted.EPSILON.default if wanted.EPSILON.default in levels else levels[0],
            format_func=wanted.EPSILON.form,
            **address.bind(wanted.EPSILON),
        )
    lower = MEASURES[metric].lower_is_better
    log = lower and st.toggle(wanted.LOG_ERROR.label, wanted.LOG_ERROR.default, **address.bind(wanted.LOG_ERROR))
    drawing, numbers, caption = drawn(figure.name, calibration, epsilon, bool(log))
    charts.show_drawing(drawing, "reproduction")
    charts.show_numbers(numbers, "reproduction-numbers", curve_chart.columns_of(metric))
    st.caption(caption)


def part(name: str, calibration: str) -> tuple[pd.DataFrame, str]:
    """A figure's rows at a calibration, of its metric, which comes with them."""
    rows = shipped(name)
    metric = rows["metric"].iloc[0]
    return rows[(rows["metric"] == metric) & rows["calibration"].isin((calibration, ""))], metric


@st.cache_resource(show_spinner=False, max_entries=100)
def drawn(name: str, calibration: str, epsilon: float | None, log: bool) -> tuple[charts.Drawing, pd.DataFrame, str]:
    """A figure, at one epsilon where it is one against the ratio; its numbers, and how many draws are behind them."""
    figure = figures()[name]
    rows, metric = part(name, calibration)
    if epsilon is not None:
        rows = rows[rows["epsilon"].isin((epsilon, float("inf")))]
    found = summary.chart_of(rows, lambda *key: series_of(key[0], "", key[2]), figure.against)
    form = MEASURES[metric].form
    picture = plots.curves(
        found.curves,
        x=figure.against,
        titles=("Epsilon" if figure.against == "epsilon" else "Share of entries observed", MEASURES[metric].label),
        levels=plots.Level.all_of(found.levels),
        log=(figure.against == "epsilon", log),
        percent=MEASURES[metric].is_share,
    )
    numbers = curve_chart.numbers_of(found)
    counts = found.curves["count"] if len(found.curves) else pd.Series([0])
    draws = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()} to {counts.max()}"
    caption = f"Means with 95 % intervals over {draws} draws; seed {rows['seed'].iloc[0]}, version {RESULTS_VERSION}."
    return charts.Drawing.of(picture, summary.describe(found, form)), numbers, caption


def statement(found: Statement) -> None:
    """The verdict, and what it rests on."""
    with st.expander(f"{found.verdict.capitalize()}: {found.claim}"):
        st.write(f"Judged by: {found.rule}")
        if found.reason:
            st.write(f"Why: {found.reason}")
        if found.missing:
            st.write(f"Not computed: {', '.join(found.missing)}.")
        measured, projected = checked(found.key)
        if found.checks:
            charts.show_table(measured, f"checks-{found.key}")
        if found.projected:
            st.write("With OutP's noised matrix projected on the constraint set (not protected at that epsilon):")
            charts.show_table(projected, f"projected-{found.key}")


@st.cache_resource(show_spinner=False)
def checked(key: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What a statement's verdict rests on, and the same with OutP's matrix projected, a line each."""
    (found,) = [statement for statement in statements() if statement.key == key]
    measured, projected = (
        pd.DataFrame([check_line(check) for check in checks]) for checks in (found.checks, found.projected)
    )
    return measured, projected


def unprinted() -> None:
    """What the choices change that the paper does not print."""
    known = {figure.title: figure for figure in choices().values() if not shipped(figure.name).empty}
    if not known:
        return
    st.header("What the paper does not print")
    title = st.selectbox(
        wanted.CHOICE.label, tuple(known), help="Everything else is as usual.", **address.bind(wanted.CHOICE)
    )
    figure = known[title]
    rows = shipped(figure.name)
    table = tried(figure.name)
    st.markdown("\n".join(spread_lines(table)))
    charts.show_table(table, "choices")
    st.caption(
        f"Means with 95 % intervals over at most {rows['repetition'].nunique()} draws, of "
        f"{MEASURES[rows['metric'].iloc[0]].label.lower()}; seed {rows['seed'].iloc[0]}."
    )


def data() -> None:
    """Table 1."""
    table = shipped_table_1()
    if not table.empty:
        st.header("The data sets, Table 1")
        charts.show_table(data_sets(table), "table-1")
        st.caption(DENSITIES)


page()
