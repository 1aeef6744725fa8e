"""The chart of a plan with its numbers, filled in while the rest is computed."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from obmc import plots, summary
from obmc.experiments import MEASURES
from obmc.plan import Plan
from obmc.reading import FORMS
from obmc.summary import Chart
from pages.parts import charts, controls, sweeps
from pages.parts import curve_controls as wanted
from pages.parts.sweeps import Found

TITLES = {"epsilon": "Epsilon", "ratio": "Share of entries observed"}
_VALUES = {"mean": "Mean", "low": "95 % from", "high": "to"}

Draw = Callable[[Found], None]


def live(plan: Plan, first: Found, draw: Draw) -> None:
    """Draw a plan; while somebody computes it, again and again, in place.

    The fragment is the same with and without its clock, so that the chart at the end is the one that filled in.
    """

    def part() -> None:
        nonlocal first
        found, first = (first, None) if first is not None else (sweeps.find(plan), None)
        if clock is not None and not found.is_live:
            # Once more as a whole: buttons and sentences belong to what is finished.
            st.rerun()
        sweeps.progress(found)
        draw(found)

    clock = sweeps.REFRESH_SECONDS if first.is_live else None
    st.fragment(part, run_every=clock)()


def of(found: Found, rows: pd.DataFrame | None = None) -> Chart:
    """The chart of what is there: values, or losses against Clear where the switch says so."""
    plan = found.plan
    mine = plan.rows_of_metric(found.rows if rows is None else rows)
    loss = wanted.is_on(wanted.LOSS)
    if loss:
        mine = summary.losses(mine, common=plan.one_reference)
    return summary.chart_of(mine, plan.label, plan.by, loss=loss)


def show(
    found: Found, chart: Chart, key: str, styles: dict[str, plots.Style] | None = None, marker: float | None = None
) -> None:
    """Chart and caption; a sentence where there is nothing to draw."""
    plan = found.plan
    if chart.curves.empty and chart.levels.empty:
        st.info(
            "The first points are on their way." if found.is_live else "None of these points has been computed yet."
        )
        return
    form = FORMS[plan.metric]
    measure = MEASURES[plan.metric].label
    figure = plots.curves(
        chart.curves,
        x=plan.by,
        titles=(title_of(plan), f"Loss in {measure.lower()} against Clear" if chart.loss else measure),
        levels=[plots.Level(row.series, row.mean, row.low, row.high) for row in chart.levels.itertuples()],
        log=_logarithmic(plan, chart),
        percent=form.endswith("%"),
        draws=chart.draws if wanted.is_on(wanted.SINGLES) else None,
        marker=marker,
        stops=plan.epsilons if plan.by == "epsilon" else plan.ratios or (),
        scale=controls.scale(),
        styles=styles,
        height=round(460 * (1.0 if controls.scale() == 1.0 else 1.3)),
    )
    charts.show(figure, key, summary.describe(chart, form))
    st.caption(what(plan, loss=chart.loss))


def title_of(plan: Plan) -> str:
    """What is on the horizontal axis."""
    return "Share of training ratings kept" if plan.by == "ratio" and not plan.setting.is_synthetic else TITLES[plan.by]


def _logarithmic(plan: Plan, chart: Chart) -> tuple[bool, bool]:
    across = plan.by == "epsilon" and wanted.is_on(wanted.LOG_EPSILON, True)
    # Shares are not of very different size, and losses may be negative.
    return across, plan.metric in ("are", "log_loss") and not chart.loss and wanted.is_on(wanted.LOG_ERROR, True)


def what(plan: Plan, *, loss: bool = False) -> str:
    """What the numbers are of, and that they can be had again."""
    setting = plan.setting
    noise = f"Gaussian noise, sigma {setting.sigma:g}" if setting.noise == "gaussian" else "logistic noise"
    used = dict.fromkeys(curve.calibration for curve in plan.curves if curve.offer.calibrated)
    parts = [controls.DATA.titles[setting.data], noise]
    parts += [f"{' and '.join(used)} calibration"] if used else []
    parts += [f"alpha {setting.alpha:g}", f"rank {setting.rank}", f"radius {setting.radius:g} tau"]
    if setting.is_synthetic:
        size = f"{setting.size} x {setting.size} entries"
        parts += [size if plan.by == "ratio" else f"{setting.ratio:.0%} of {size} observed"]
    means = "Means of paired differences to Clear" if loss else "Means"
    return (
        f"{means} over draws with their 95 % intervals. {', '.join(parts)}. Seed {setting.seed}: the same settings "
        "give the same numbers again."
    )


def numbers(found: Found, chart: Chart, key: str) -> None:
    """Curves, then lines, as the chart draws them, in a table."""
    if chart.curves.empty and chart.levels.empty:
        return
    with st.expander("The numbers"):
        columns = ["series", chart.by, "mean", "low", "high", "count"]
        both = pd.concat([chart.curves, chart.levels], ignore_index=True)
        charts.show_table(both[columns].replace({chart.by: {float("inf"): float("nan")}}), key, columns_of(found.plan))


def columns_of(plan: Plan) -> dict[str, object]:
    """How the columns of a table of means are written."""
    form = FORMS[plan.metric]
    number = "percent" if form.endswith("%") else f"%{form}"
    return {
        "series": "Curve",
        "epsilon": st.column_config.NumberColumn("Epsilon", format="%g"),
        "ratio": st.column_config.NumberColumn(title_of(plan) if plan.by == "ratio" else "Ratio", format="percent"),
        **{name: st.column_config.NumberColumn(label, format=number) for name, label in _VALUES.items()},
        "count": "Draws",
    }
