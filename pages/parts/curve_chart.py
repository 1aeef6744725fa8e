"""The chart of a plan with its numbers, filled in while the rest is computed."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from obmc.experiments import MEASURES
from obmc.plan import Plan
from obmc.summary import Chart
from obmc.views import CurveView
from pages.parts import charts, controls, sweeps, taking
from pages.parts.sweeps import Found

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
        # In a place of its own, so that the chart keeps its own when this goes, and is not built anew.
        with st.container():
            sweeps.progress(found)
        draw(found)

    clock = sweeps.REFRESH_SECONDS if first.is_live else None
    st.fragment(part, run_every=clock)()


def show(found: Found, view: CurveView, key: str) -> None:
    """Chart, caption, numbers and files of a view; a sentence where there is nothing to draw."""
    scale = controls.scale()
    chart = found.derived(("chart", view), lambda: view.chart(found.rows))
    drawing = found.derived(("drawing", view, scale), lambda: _drawing(view, chart, scale))
    if drawing is None:
        st.info(
            "The first points are on their way." if found.is_live else "None of these points has been computed yet."
        )
        return
    charts.show_drawing(drawing, key)
    st.caption(view.caption())
    _numbers(view, chart, f"{key}-numbers")
    taking.offer(view, found.rows, {key: ""}, missing=len(found.missing))


def _drawing(view: CurveView, chart: Chart, scale: float) -> charts.Drawing | None:
    picture = view.picture(chart, scale)
    return None if picture is None else charts.Drawing.of(picture.figure, picture.alt)


def _numbers(view: CurveView, chart: Chart, key: str) -> None:
    """Curves, then lines, as the chart draws them, in a table."""
    first = ("epsilon", "ratio") if view.kind == "heat" else ("series", chart.by)
    charts.show_numbers(numbers_of(chart, first), key, columns_of(view.plan.metric, view.across))


def numbers_of(chart: Chart, first: tuple[str, str] | None = None) -> pd.DataFrame:
    """The means of curves and lines with their intervals, a row each; the lines' epsilon, which is none, left empty."""
    both = pd.concat([chart.curves, chart.levels], ignore_index=True)
    columns = [*(first or ("series", chart.by)), "mean", "low", "high", "count"]
    return both[columns].replace({chart.by: {float("inf"): float("nan")}})


def columns_of(metric: str, across: str = "Ratio") -> dict[str, object]:
    """How the columns of a table of means are written; ``across``: what the ratio is called."""
    number = "percent" if MEASURES[metric].is_share else f"%{MEASURES[metric].form}"
    return {
        "series": "Curve",
        "epsilon": st.column_config.NumberColumn("Epsilon", format="%g"),
        "ratio": st.column_config.NumberColumn(across, format="percent"),
        **{name: st.column_config.NumberColumn(label, format=number) for name, label in _VALUES.items()},
        "count": "Draws",
    }
