"""Explore: the trade-off on one's own ratings, for the owner's eyes."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from obmc import plots, summary
from obmc.errors import RatingsError
from obmc.experiments import MEASURES
from obmc.experiments.jobs import BusyError, describe
from obmc.explore import EPSILONS, explore
from obmc.offers import OFFERS
from obmc.plan import REAL_METRICS
from obmc.privacy.guarantee import PRIVATE_VIEW
from pages.parts import charts, controls, curve_chart
from pages.parts.background import runner, visitor
from pages.parts.sweeps import REFRESH_SECONDS
from pages.parts.your_ratings_reading import PREFIX, Held
from pages.parts.your_ratings_threshold import Chosen

_OFFERED = {offer.label: offer for offer in OFFERS.values() if offer.private}
_DEFAULT = [OFFERS[key].label for key in ("inp", "objp", "grap", "outp", "inp+")]


@dataclass(frozen=True)
class _Explored:
    """A sweep over the visitor's ratings: its key at the runner, what it is of, and what its curves are called."""

    key: str
    what: str
    solver: str
    labels: dict[tuple[str, str, str], str]


def show(held: Held, chosen: Chosen) -> None:
    """The controls, the button, and the chart."""
    st.header("Explore")
    st.warning(
        f"Not private. {PRIVATE_VIEW} Do not pass on what you see here, and do not choose settings of a release by it "
        "without counting that."
    )
    table = held.result.table
    left, middle, right = st.columns([3, 1, 1], gap="medium")
    with left:
        names = st.pills(
            "Mechanisms, beside Clear, Clear with effects and the majority class",
            list(_OFFERED),
            selection_mode="multi",
            wrap=True,
            default=_DEFAULT,
            key=f"{PREFIX}mechanisms",
            persist_state="session",
        )
    share = middle.slider(
        "Share kept for testing", 0.05, 0.5, 0.2, 0.05, format="percent", key=f"{PREFIX}share", persist_state="session"
    )
    draws = right.number_input(
        "Draws of the noise",
        1,
        40,
        3 if table.n_ratings <= 20_000 else 1,
        key=f"{PREFIX}draws",
        persist_state="session",
    )
    setting = controls.current()
    st.caption(
        "Noise model, calibration, alpha, rank, radius and seed are those of the sidebar; its data set, epsilon and "
        "share of observed entries have nothing to do with your file."
    )
    what = (
        f"Threshold {chosen.text}, {share:.0%} kept for testing, {setting.noise} noise model, alpha {setting.alpha:g}, "
        f"rank {setting.rank}, radius {setting.radius:g} tau, {draws} draws, seed {setting.seed}."
    )
    if st.button("Explore my ratings", key="explore", icon=":material/query_stats:", disabled=not names):
        _start(held, chosen, names, share, int(draws), what)
    if held.explored is not None:
        if held.explored.what != what:
            st.caption("The controls have changed since: this is of the settings named under the chart.")
        status = runner().status(held.explored.key, visitor())
        live = status is not None and status.is_live
        st.fragment(_part, run_every=REFRESH_SECONDS if live else None)(held.explored, live)


def _start(held: Held, chosen: Chosen, names: list[str], share: float, draws: int, what: str) -> None:
    try:
        found = explore(
            held.result.table,
            chosen.threshold,
            controls.current(),
            [_OFFERED[name] for name in names],
            controls.calibration(),
            share,
            draws,
        )
        if held.explored is not None:
            runner().leave(held.explored.key, visitor())
        key = runner().submit(found.sweep, visitor())
    except (BusyError, RatingsError, ValueError) as error:
        st.error(controls.as_text(str(error)))
        return
    solver = "The matrix is too large to be solved densely: the factored solver is used." if found.is_large else ""
    held.explored = _Explored(key, what, solver, found.labels)
    st.rerun()


def _part(explored: _Explored, live: bool) -> None:
    status = runner().status(explored.key, visitor())
    if live and (status is None or not status.is_live):
        st.rerun()
    if status is None:
        st.info("This exploration is no longer kept: start it again.")
        return
    if status.is_live:
        st.progress(status.progress.share, describe(status))
        st.button("Stop exploring", key="stop-exploring", on_click=runner().leave, args=(explored.key, visitor()))
    elif status.state == "failed":
        st.error(controls.as_text(describe(status)))
    for text in map(str, status.progress.refused):
        st.warning(controls.as_text(f"Not computed: {text}"))
    rows = summary.as_frame(runner().rows(explored.key, visitor()))
    metric = st.segmented_control(
        "Measure",
        REAL_METRICS,
        default=REAL_METRICS[0],
        required=True,
        format_func=lambda name: MEASURES[name].label,
        key=f"{PREFIX}metric",
        persist_state="session",
    )
    mine = rows[rows["metric"] == metric]
    if mine.empty:
        if status.is_live:
            st.info("The first points are on their way.")
        return
    chart = summary.chart_of(mine, lambda *key: explored.labels.get(key, ""))
    form = MEASURES[metric].form
    figure = plots.curves(
        chart.curves,
        x="epsilon",
        titles=("Epsilon", MEASURES[metric].label),
        levels=plots.Level.all_of(chart.levels),
        percent=MEASURES[metric].is_share,
        stops=EPSILONS,
        scale=controls.scale(),
    )
    charts.show(figure, f"{PREFIX}chart", summary.describe(chart, form))
    st.caption(f"Not private. Means over draws of the noise on one split, with 95 % intervals. {explored.what}")
    if explored.solver:
        st.caption(explored.solver)
    charts.show_numbers(curve_chart.numbers_of(chart), f"{PREFIX}numbers", curve_chart.columns_of(metric))
