"""Pinned results side by side: curves of any settings in one chart, and their differences with intervals."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from obmc import pins, plots, summary
from obmc.experiments import MEASURES
from obmc.pins import Pin
from obmc.plan import Plan, metrics_for
from obmc.reading import FORMS, rows_of
from pages.parts import charts, controls, curve_chart, explain, pinning, sweeps
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
    st.header("Settings file")
    _file(found)


def _address() -> None:
    """The pins as one line: what the address carries."""
    with st.expander("The pins as text"):
        st.text_input(
            "Pins",
            key=pinning.KEY,
            bind="query-params",
            persist_state="session",
            help="All pins with their settings, as the address holds them. A text from elsewhere can be pasted here.",
        )


def _compared(found: list[Pin]) -> None:
    common = [name for name in MEASURES if all(name in metrics_for(pin.setting.data) for pin in found)]
    metric = st.selectbox(
        "Measure",
        common,
        format_func=lambda name: MEASURES[name].label,
        key="compare-metric",
        help="What is compared: the measures that all pinned data sets have.",
    )
    plans = {pin.name: replace(pin.plan, metric=metric) for pin in found}
    results = {name: sweeps.find(plan) for name, plan in plans.items()}
    _missing(results)
    rows = {name: _rows(result) for name, result in results.items()}
    _chart(plans, rows, metric)
    if len(found) > 1:
        st.header("Differences")
        _differences(rows, metric)


def _rows(result: Found) -> pd.DataFrame:
    plan = result.plan
    return rows_of(plan.rows_of_metric(result.rows), plan.curves[0].spec)


def _missing(results: dict[str, Found]) -> None:
    lacking = {name: result for name, result in results.items() if result.missing}
    for name, result in lacking.items():
        live = " It is being computed." if result.is_live else ""
        st.info(controls.as_text(f"{name}: {len(result.missing):,} of {result.plan.runs:,} runs are missing.{live}"))
    ready = {name: result for name, result in lacking.items() if not result.is_live and result.can_compute}
    if ready:
        name = next(iter(ready))
        if st.button(
            "Compute what is missing of the first of these", icon=":material/play_arrow:", key="compare-compute"
        ):
            sweeps.start(ready[name].plan, ready[name].missing)


def _chart(plans: dict[str, Plan], rows: dict[str, pd.DataFrame], metric: str) -> None:
    tables, levels = [], []
    for name, mine in rows.items():
        if mine.empty:
            continue
        chart = summary.chart_of(mine, lambda *_, name=name: name)
        tables.append(chart.curves)
        levels += [plots.Level(row.series, row.mean, row.low, row.high) for row in chart.levels.itertuples()]
    if not tables and not levels:
        return
    table = pd.concat(tables, ignore_index=True)
    form = FORMS[metric]
    figure = plots.curves(
        table,
        x="epsilon",
        titles=("Epsilon", MEASURES[metric].label),
        levels=levels,
        log=(True, metric == "are"),
        percent=form.endswith("%"),
        scale=controls.scale(),
        styles=plots.pin_styles(list(rows)),
    )
    words = "; ".join(
        f"{row.series}: {row.mean:{form}} at epsilon {row.epsilon:g}"
        for row in table.drop_duplicates("series").itertuples()
    )
    charts.show(figure, "compare", f"Means against epsilon. {words}.")
    st.caption("Means over draws with their 95 % intervals; each pin has its own settings and seed.")
    with st.expander("The numbers"):
        columns = ["series", "epsilon", "mean", "low", "high", "count"]
        charts.show_table(table[columns], "compare-numbers", curve_chart.columns_of(next(iter(plans.values()))))


def _differences(rows: dict[str, pd.DataFrame], metric: str) -> None:
    there = [name for name, mine in rows.items() if len(mine)]
    if len(there) < 2:
        st.info("Two pins with results are needed for a difference.")
        return
    base = st.selectbox("Minus", there, key="compare-base", help="The pin that is subtracted from all others.")
    tables = []
    for name in there:
        if name != base:
            found = summary.differences(rows[name], rows[base])
            tables.append(found.assign(pin=name))
    table = pd.concat(tables, ignore_index=True)
    if table.empty:
        st.info("These pins have no epsilon in common.")
        return
    number = st.column_config.NumberColumn
    form = "percent" if metric == "sign_accuracy" else "%.4f"
    columns = {
        "pin": "Pin",
        "epsilon": number("Epsilon", format="%g"),
        "difference": number("Difference", format=form),
        "low": number("95 % from", format=form),
        "high": number("to", format=form),
        "draws": "Draws",
        "paired": "Paired",
    }
    charts.show_table(table[list(columns)], "differences", columns)
    better = "lower" if MEASURES[metric].lower_is_better else "higher"
    st.caption(f"Each pin minus {controls.as_text(base)}; {better} is better. Paired: both saw the same draws.")


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


def _file(found: list[Pin]) -> None:
    if found:
        st.download_button(
            "Save the pins as a settings file",
            pins.to_toml(found),
            "pins.toml",
            "application/toml",
            icon=":material/download:",
            key="save-pins",
        )
    given = st.file_uploader(
        "Open a settings file",
        type="toml",
        key="open-pins",
        help="A file that was saved here: it takes the pins' place.",
    )
    if given is not None:
        st.button("Use its pins", key="use-pins", on_click=_open, args=(given.getvalue(),))
    for note in st.session_state.pop("_pin_notes", ()):
        st.warning(controls.as_text(note))


def _open(content: bytes) -> None:
    try:
        found, notes = pins.from_toml(content.decode("utf-8"))
    except UnicodeDecodeError:
        st.session_state["_pin_notes"] = ["The settings file is not text in UTF-8."]
        return
    except ValueError as error:
        st.session_state["_pin_notes"] = [str(error)]
        return
    st.session_state["_pin_notes"] = notes
    pinning.keep(found)


page()
