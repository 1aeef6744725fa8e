"""Choosing a sweep, having it computed, and looking at it: what the pages with curves share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from obmc import limits
from obmc.errors import DataNotFoundError
from obmc.experiments import Sweep
from obmc.experiments.jobs import BusyError, JobStatus, duration
from obmc.experiments.mechanisms import MAJORITY
from obmc.offers import OFFERS, Offer
from obmc.single import Setting
from obmc.summary import as_frame
from pages.parts import controls
from pages.parts.background import runner, visitor

_STARTED = "_trade_off_started"
_DEFAULT = ("InP", "ObjP", "GraP", "OutP projected")


@dataclass(frozen=True)
class Plan:
    """A sweep that could be computed: the reference lines' part and the mechanisms' part."""

    setting: Setting
    offers: tuple[Offer, ...]
    calibration: str
    parts: tuple[Sweep, ...]

    @property
    def runs(self) -> int:
        """How many."""
        return sum(len(part) for part in self.parts)

    def label(self, mechanism: str, calibration: str, options: str) -> str:
        """What the chart calls a row's mechanism."""
        if mechanism == MAJORITY:
            return "Majority class"
        for offer in self.offers:
            spec = offer.spec(self.calibration)
            if (spec.name, spec.calibration, spec.options_text) == (mechanism, calibration, options):
                return offer.label
        return mechanism


@dataclass(frozen=True)
class Started:
    """A plan and its jobs."""

    plan: Plan
    keys: tuple[str, ...]

    def statuses(self) -> list[JobStatus]:
        found = [runner().status(key, visitor()) for key in self.keys]
        return [status for status in found if status is not None]

    @property
    def is_live(self) -> bool:
        """Whether more is to come."""
        return any(status.is_live for status in self.statuses())

    def rows(self) -> pd.DataFrame:
        """All rows so far."""
        return as_frame(row for key in self.keys for row in runner().rows(key, visitor()))

    @property
    def done(self) -> int:
        """Runs finished."""
        return sum(status.progress.done for status in self.statuses())

    def sentence(self) -> str:
        """How far all its jobs together are."""
        statuses = self.statuses()
        so_far = f"{self.done:,} of {self.plan.runs:,} runs"
        failed = [status for status in statuses if status.state == "failed"]
        if failed:
            return f"Stopped after {so_far}: {failed[0].message}"
        if any(status.state == "running" for status in statuses):
            left = sum(status.progress.remaining for status in statuses if status.is_live)
            return f"{so_far}." if math.isnan(left) else f"{so_far}, about {duration(left)} left."
        if self.is_live:
            return f"Waiting: number {max(status.position for status in statuses)} in the queue."
        if any(status.state == "cancelled" for status in statuses):
            return f"Cancelled after {so_far}."
        return f"Done: {self.plan.runs:,} runs in {duration(max(status.progress.seconds for status in statuses))}."

    def refused(self) -> list[str]:
        """What the mechanisms refused, a sentence for each kind of run."""
        return list(dict.fromkeys(text for status in self.statuses() for text in status.progress.refused))


def choose(setting: Setting) -> Plan:
    """Draw the controls of a sweep over epsilon; ``ValueError`` where they do not make one."""
    labels = {offer.label: offer for offer in OFFERS.values() if offer.key != "clear"}
    chosen = st.pills(
        "Mechanisms",
        tuple(labels),
        selection_mode="multi",
        default=_DEFAULT,
        key="mechs",
        bind="query-params",
        persist_state="session",
        wrap=True,
        help="What to compare. Clear, the estimator without noise, is always drawn as a line.",
    )
    left, middle, right = st.columns([2, 1, 1], gap="medium")
    with left:
        low, high = st.select_slider(
            "Range of epsilon",
            limits.EPSILON_GRID,
            value=(0.5, 10.0),
            format_func="{:g}".format,
            key="range",
            bind="query-params",
            persist_state="session",
            help="Between 0.1 and 20, on a logarithmic scale.",
        )
    points = _whole(middle, limits.POINTS, "points", "Points", "Values of epsilon, 2 to 20.")
    repetitions = _whole(
        right, limits.REPETITIONS, "draws", "Draws", "Independent repetitions behind every point, 3 to 100."
    )
    if not chosen:
        raise ValueError("Choose at least one mechanism.")
    offers = tuple(labels[label] for label in chosen)
    epsilons = limits.epsilons_between(low, high, points)
    calibration = controls.calibration()
    specs = [offer.spec(calibration) for offer in offers]
    return Plan(setting, offers, calibration, setting.sweeps(specs, epsilons, repetitions))


def _whole(place, bound: limits.Range, key: str, label: str, help: str) -> int:
    return place.number_input(
        label,
        int(bound.low),
        int(bound.high),
        int(bound.default),
        int(bound.step),
        key=key,
        bind="query-params",
        persist_state="session",
        help=help,
    )


def buttons(plan: Plan) -> bool:
    """Compute, and while something is computed, cancel; returns whether it can be cancelled.

    The page goes by the answer: a job that ends a moment later would leave a button behind that nothing takes away.
    """
    before = find()
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Compute", type="primary", icon=":material/play_arrow:", key="compute"):
            start(plan)
            before = find()
        live = before is not None and before.is_live
        if live:
            st.button("Cancel", icon=":material/stop:", key="cancel", on_click=cancel)
        st.caption(f"{plan.runs:,} runs.")
    return live


def start(plan: Plan) -> None:
    """Have a plan computed in place of what this visitor has running."""
    cancel()
    try:
        keys = tuple(runner().submit(part, visitor()) for part in plan.parts)
    except (BusyError, DataNotFoundError, ValueError) as error:
        st.error(str(error))
        return
    st.session_state[_STARTED] = Started(plan, keys)


def cancel() -> None:
    """Leave the jobs of this visitor; they end unless somebody else wants them. What is finished stays."""
    before = find()
    if before is not None and before.is_live:
        for key in before.keys:
            runner().leave(key, visitor())


def find() -> Started | None:
    """What this visitor has computed or is computing."""
    return st.session_state.get(_STARTED)


def progress(started: Started) -> None:
    """A bar and a sentence."""
    total = max(started.plan.runs, 1)
    st.progress(min(started.done / total, 1.0), started.sentence())
