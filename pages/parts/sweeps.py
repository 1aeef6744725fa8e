"""Finding a plan's rows, having the missing ones computed, and following that: what the pages with curves share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from obmc.datasets import DATA_SETS, is_available
from obmc.errors import DataNotFoundError
from obmc.experiments.jobs import BusyError, JobStatus, duration
from obmc.experiments.sweep import Point, Sweep
from obmc.known_rows import Made, expected_seconds
from obmc.plan import Plan
from obmc.summary import as_frame
from pages.parts import controls, data_offer
from pages.parts.background import browser, known, mean_seconds, runner, store_note, workers

REFRESH_SECONDS = 2.0
_IDENTITY = ["mechanism", "calibration", "options", "epsilon", "ratio", "repetition", "metric"]


@dataclass(frozen=True, eq=False)
class Found:
    """What there is of a plan at one moment.

    ``jobs`` are those that compute it, for whomever; ``mine`` says whether this visitor is among them.
    """

    plan: Plan
    rows: pd.DataFrame
    missing: list[Point]
    jobs: list[JobStatus]
    mine: bool

    @property
    def is_live(self) -> bool:
        """Whether more is to come."""
        return any(job.is_live for job in self.jobs)

    def derived(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` makes of the rows, made once for as long as there are no more of them."""
        return known().derived(self.plan, len(self.rows), key, make)

    @property
    def refused(self) -> list[str]:
        """What the mechanisms refused, a sentence for each kind of run."""
        return list(dict.fromkeys(str(found) for job in self.jobs for found in job.progress.refused))

    @property
    def can_compute(self) -> bool:
        """Whether a computation would bring more: not where all that is missing has been refused."""
        ended = {job.key for job in self.jobs if job.state == "done"}
        return any(sweep.key not in ended or self.is_gone(sweep) for sweep in lacking(self.plan, self.missing))

    def is_gone(self, sweep: Sweep) -> bool:
        """Whether a sweep was computed to its end, and rows of it are no longer in the store."""
        # What a job could not hand to the store it still has itself.
        done = [job for job in self.jobs if job.key == sweep.key and job.state == "done" and not job.message]
        lost = [point for point in self.missing if not any(job.progress.refuses(point) for job in done)]
        return bool(done) and sweep.key in {lacked.key for lacked in lacking(self.plan, lost)}


def find(plan: Plan) -> Found:
    """What is there of a plan, and who computes the rest."""
    keys = [sweep.key for sweep in plan.sweeps]
    # Before the rows: what a job that has ended computed is among them then, or it would never be looked for again.
    jobs = [status for key in keys if (status := runner().status(key, browser())) is not None]
    watched = {job.key for job in runner().watched(browser()) if job.is_live}
    rows, missing = known().find(plan)
    if not missing:
        return Found(plan, rows, missing, [], False)
    if any(job.message for job in jobs):
        # The store may have failed on the way: the job itself still has what it computed.
        own = as_frame(row for job in jobs for row in runner().rows(job.key, browser()))
        rows = pd.concat([rows, own], ignore_index=True).drop_duplicates(_IDENTITY)
    return Found(plan, rows, missing, jobs, bool(watched & set(keys)))


def lacking(plan: Plan, missing: Iterable[Point]) -> list[Sweep]:
    """The sweeps of a plan that the missing runs belong to."""
    private = {point.spec.is_private for point in missing}
    lines, *curves = plan.sweeps
    return ([lines] if False in private else []) + (curves if True in private else [])


# Words and buttons ----------------------------------------------------------------------------------------------------


def offer(found: Found) -> None:
    """What of the chart is missing, how long it would take, and the button; or how far it is, and the other button."""
    note = store_note()
    if note:
        st.warning(controls.as_text(note))
    for text in found.refused:
        st.warning(controls.as_text(f"Not computed: {text}"))
    _others(found.plan)
    if not found.missing:
        return
    if not (found.is_live and found.mine) and found.can_compute:
        _offer_missing(found)
    if found.is_live and found.mine:
        cancel([found.plan])


def cancel(plans: Iterable[Plan]) -> None:
    """The button that stops what is computed of these plans, for this visitor."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Cancel",
            icon=":material/stop:",
            key="cancel",
            on_click=_leave,
            args=([sweep.key for plan in plans for sweep in plan.sweeps],),
            help="Stop it, unless somebody else waits for it too. What is finished stays.",
        )
        st.caption("It goes on while you look at other pages, and after a reload.")


def _offer_missing(found: Found) -> None:
    plan, count = found.plan, len(found.missing)
    data = plan.setting.data
    if not plan.setting.is_synthetic and not is_available(data):
        st.info(f"{_there(found)} To compute the rest, the data have to be on this machine.")
        with st.expander(f"Get {DATA_SETS[data].title}"):
            data_offer.show(data)
        return
    seconds = expected_seconds(found.missing, workers(), mean_seconds())
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            f"Compute the missing {count:,} runs",
            type="primary",
            icon=":material/play_arrow:",
            key="compute",
            help="In the background; the chart fills in. What somebody else computes already is not computed twice.",
        ):
            start(found)
        st.caption(f"{_there(found)} The rest takes about {duration(seconds)} on {_workers()}{_queue()}.")


def _there(found: Found) -> str:
    total = found.plan.runs
    said = f"{total - len(found.missing):,} of the {total:,} runs behind this chart are there."
    names = found.plan.names_of(found.missing)
    return f"{said} Not complete: {', '.join(names)}." if len(names) < len(found.plan.curves) else said


def _workers() -> str:
    count = workers()
    return "one worker" if count == 1 else f"{count} workers"


def _queue() -> str:
    waiting = sum(job.is_live for job in runner().statuses())
    if not waiting:
        return ""
    return f", after or beside {'one other computation' if waiting == 1 else f'{waiting} other computations'}"


def _others(plan: Plan) -> None:
    """What else is computed for this visitor: charts that the controls have moved away from."""
    keys = {sweep.key for sweep in plan.sweeps}
    live = [job for job in runner().watched(browser()) if job.is_live and job.key not in keys]
    if not live:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        done, total = sum(job.progress.done for job in live), sum(job.progress.total for job in live)
        st.caption(f"With other settings, {done:,} of {total:,} runs are computed for you: {_state(live)}")
        st.button(
            "Cancel those", key="cancel-others", type="tertiary", on_click=_leave, args=([job.key for job in live],)
        )


def start(found: Found) -> None:
    """Have the missing runs computed, and the page show it."""
    try:
        for sweep in lacking(found.plan, found.missing):
            runner().submit(sweep, browser(), anew=found.is_gone(sweep))
    except (BusyError, DataNotFoundError, ValueError) as error:
        st.error(str(error))
        return
    st.rerun()


def _leave(keys: list[str]) -> None:
    for key in keys:
        runner().leave(key, browser())


def progress(found: Found) -> None:
    """A bar and a sentence, while something is computed; what became of it, where it did not end well."""
    if not found.jobs:
        return
    total = found.plan.runs
    done = total - len(found.missing)
    failed = [job for job in found.jobs if job.state == "failed"]
    if found.is_live:
        live = [job for job in found.jobs if job.is_live]
        st.progress(min(done / max(total, 1), 1.0), f"{done:,} of {total:,} runs. {_state(live)}")
    elif failed:
        st.error(controls.as_text(f"Stopped after {done:,} of {total:,} runs: {failed[0].message}"))
    elif any(job.state == "cancelled" for job in found.jobs):
        st.caption(f"Cancelled after {done:,} of {total:,} runs; what is there stays.")
    notes = dict.fromkeys(job.message for job in found.jobs if job.message and job.state != "failed")
    for note in notes:
        st.warning(controls.as_text(f"Not kept for later: {note}"))


def _state(jobs: list[JobStatus]) -> str:
    if any(job.state == "running" for job in jobs):
        left = sum(job.progress.remaining for job in jobs if job.state == "running")
        return "The time left is not known yet." if math.isnan(left) else f"About {duration(left)} left."
    return f"Waiting: number {max(job.position for job in jobs)} in the queue."
