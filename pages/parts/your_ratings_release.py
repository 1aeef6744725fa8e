"""Release: what leaves under a guarantee, its price in the ledger, and the files."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from functools import partial

import streamlit as st

from obmc import limits
from obmc.constraints import ConstraintSet
from obmc.datasets.ratings_table import RatingsTable
from obmc.errors import RatingsError, ReleaseFailed
from obmc.experiments import NoWorkerError
from obmc.experiments.jobs import BusyError, Call, duration
from obmc.links import LINKS
from obmc.offers import noise_text
from obmc.privacy import BudgetExceeded, Guarantee, Ledger
from obmc.privacy.guarantee import level, number
from obmc.privacy.ledger import UNSPENT, Entry
from obmc.release import (
    FILE_FORMATS,
    FORMS,
    MEAN_REFUSED,
    ReleasedRatings,
    ReleasePlan,
    ReleaseRefused,
    draw,
    find_pairs,
    now,
)
from pages.parts import controls, explain, guarantee_card, ledger_card
from pages.parts.background import runner, visitor
from pages.parts.turns import is_ready
from pages.parts.waiting import PATIENCE, POLL_SECONDS
from pages.parts.your_ratings_reading import PREFIX, Held, ledger
from pages.parts.your_ratings_threshold import Chosen

_WHAT = {"top": "The best items of every user", "all": "Probabilities of all pairs"}
_BUDGET, _DELTA_BUDGET = 10.0, 1e-4


@dataclass(frozen=True, eq=False)
class _Pending:
    """A release that is being computed: booked already, and taken back if nothing comes of it."""

    call: Call
    table: RatingsTable
    plan: ReleasePlan
    entry: Entry
    since: float


def show(held: Held, chosen: Chosen) -> None:
    """The form of the release, its guarantee, the ledger, the button and what was released."""
    st.header("Release")
    explain.say(
        "A release uses all ratings, real randomness that nobody can draw again, and settings that were fixed without "
        "looking at the ratings. It may be passed on: its guarantee covers everything in the files."
    )
    book = ledger(held)
    _budgets(book)
    plan = _plan(held.result.table, chosen)
    guarantee = None if plan is None else _guarantee(held.result.table, plan)
    if held.pending is not None:
        _look(held, book)
    if held.pending is not None:
        _poll(held)
    elif plan is not None and guarantee is not None:
        _button(held, plan, guarantee, book)
    _spent(book)
    for place, (_, made) in reversed(list(enumerate(held.releases))):
        _downloads(place, made)


def _plan(table: RatingsTable, chosen: Chosen) -> ReleasePlan | None:
    """What is asked for, or None where it cannot be a release; a sentence says why."""
    left, right = st.columns([3, 2], gap="medium")
    form = FORMS[
        left.selectbox(
            "Mechanism and calibration",
            list(FORMS),
            key=f"{PREFIX}form-of-release",
            persist_state="session",
            help="Some are listed only to say why they are refused.",
        )
    ]
    epsilon = right.number_input(
        "Epsilon of this release",
        limits.EPSILON.low,
        limits.EPSILON.high,
        2.0,
        limits.EPSILON.step,
        format="%g",
        key=f"{PREFIX}epsilon",
        persist_state="session",
    )
    delta, entries = None, None
    if form.needs_delta:
        delta = right.number_input(
            "Delta", 1e-12, 1e-2, 1e-5, format="%.0e", key=f"{PREFIX}delta", persist_state="session"
        )
    if isinstance(chosen.threshold, str):
        st.error(controls.as_text(MEAN_REFUSED))
        return None
    setting = controls.current()
    st.caption(
        f"Threshold {chosen.text}. From the sidebar: {noise_text(setting.noise, setting.sigma)}, alpha "
        f"{setting.alpha:g}, rank {setting.rank}, radius {setting.radius:g} tau."
    )
    try:
        if form.needs_entries:
            text = st.text_area(
                "The entries to answer: in each line a user's id, a comma, an item's id",
                key=f"{PREFIX}entries",
                persist_state="session",
                placeholder=f"{table.users[0]},{table.items[-1]}",
            )
            if not text.strip():
                st.info("Name the entries. Nothing else of the matrix will be shown.")
                return None
            entries = find_pairs(text, table.users, table.items)
        mechanism = form.build(float(epsilon), None if delta is None else float(delta), entries)
        shape = (table.n_users, table.n_items)
        cset = ConstraintSet.for_rank(shape, setting.rank, setting.alpha, setting.radius)
        link = LINKS[setting.noise](setting.sigma)
        return ReleasePlan(mechanism, link, cset, chosen.threshold, chosen.scale)
    except (RatingsError, ValueError) as error:
        st.error(controls.as_text(str(error)))
        return None


def _guarantee(table: RatingsTable, plan: ReleasePlan) -> Guarantee | None:
    """The card of what it would guarantee; None, and the reason, where it is refused."""
    shape = (table.n_users, table.n_items)
    try:
        guarantee_card.show(plan.guarantee(shape))
        return plan.check(shape)
    except (ReleaseRefused, ValueError) as error:
        st.error(controls.as_text(f"Refused. {error}"))
        return None


def _button(held: Held, plan: ReleasePlan, guarantee: Guarantee, book: Ledger) -> None:
    if any(table.has_same_ratings(held.result.table) and made.plan == plan for table, made in held.releases):
        st.info("Released already with these settings: the files are below, at no further cost.")
        return
    try:
        book.check(guarantee)
    except BudgetExceeded as error:
        st.error(controls.as_text(f"Refused. {error}"))
        return
    if plan.caution:
        st.caption(plan.caution)
    price = level(guarantee.total_epsilon, guarantee.delta)
    if not st.button(f"Release, and spend {price}", type="primary", key="release", icon=":material/lock:"):
        return
    table = held.result.table
    try:
        entry = book.book(guarantee, f"{guarantee.calibration}, threshold {plan.threshold:g}", now())
        try:
            call = runner().call(visitor(), None, draw, table, plan)
        except BusyError:
            book.take_back(entry)
            raise
    except (BudgetExceeded, BusyError) as error:
        st.error(controls.as_text(str(error)))
        return
    held.pending = _Pending(call, table, plan, entry, time.monotonic())
    st.rerun()


def _look(held: Held, book: Ledger) -> None:
    pending: _Pending = held.pending
    if not is_ready(pending.call, PATIENCE):
        return
    held.pending = None
    try:
        release = pending.call.result()
    except ReleaseFailed as error:
        st.error(controls.as_text(str(error)))
        return
    except (UNSPENT, NoWorkerError) as error:
        book.take_back(pending.entry)
        st.error(controls.as_text(f"Nothing was released, and nothing is spent: {error}"))
        return
    except (RuntimeError, OSError, MemoryError) as error:
        # A worker that ended, say, for want of memory: how much a solver needs may depend on the ratings.
        st.error(
            controls.as_text(
                f"Nothing was released: {error} Since that may depend on the ratings, it counts as a release."
            )
        )
        return
    held.releases.append((pending.table, ReleasedRatings.of(pending.table, pending.plan, release, book)))


def _poll(held: Held) -> None:
    pending: _Pending = held.pending

    @st.fragment(run_every=POLL_SECONDS)
    def part() -> None:
        if pending.call.ready():
            st.rerun()
        st.info(f"Computing the release: {duration(time.monotonic() - pending.since)}.", icon=":material/hourglass:")

    part()


# The ledger -----------------------------------------------------------------------------------------------------------


def _budgets(book: Ledger) -> None:
    with st.expander("Budget"):
        if book.entries:
            st.markdown(
                f"Fixed before the first release: epsilon = {number(book.epsilon_budget or 0.0)}, delta = "
                f"{number(book.delta_budget or 0.0)} for this file in all."
            )
            return
        left, right = st.columns(2)
        epsilon = left.number_input(
            "Epsilon to spend on this file in all",
            0.1,
            1000.0,
            _BUDGET,
            format="%g",
            key=f"{PREFIX}budget",
            persist_state="session",
            help="It is fixed with the first release. A release that does not fit is refused.",
        )
        delta = right.number_input(
            "Delta to spend in all",
            0.0,
            0.1,
            _DELTA_BUDGET,
            format="%.0e",
            key=f"{PREFIX}delta-budget",
            persist_state="session",
        )
        book.set_budget(epsilon=float(epsilon), delta=float(delta))


def _spent(book: Ledger) -> None:
    st.subheader("What has been spent")
    st.markdown(controls.as_text(book.statement))
    users = {"the median user": book.median_ratings, "the user with most ratings": book.largest_ratings}
    ledger_card.costs(book, {f"{name}, all {count} ratings": count for name, count in users.items()})
    st.caption(f"Left of the budget: epsilon = {number(book.epsilon_left)} of {number(book.epsilon_budget or 0.0)}.")
    if book.entries:
        ledger_card.releases(book, "What", times=True)
        st.download_button(
            "Download the ledger",
            json.dumps(book.to_dict(), indent=2),
            "ledger.json",
            "application/json",
            key="ledger",
            on_click="ignore",
            help="python -m obmc release --ledger goes on with it.",
        )


# The files ------------------------------------------------------------------------------------------------------------


def _downloads(place: int, made: ReleasedRatings) -> None:
    guarantee = made.release.guarantee
    with st.container(border=True):
        st.subheader(f"Release {place + 1}: {guarantee.mechanism}")
        st.markdown(
            controls.as_text(
                f"{guarantee.headline}. Protected is {guarantee.unit}. Threshold {made.plan.threshold:g}. {made.made}."
            )
        )
        if made.warning:
            st.warning(controls.as_text(made.warning))
        if "factored" in made.release.completion.solver:
            st.caption("The matrix is too large to be solved densely: the factored solver was used.")
        left, middle, right = st.columns([3, 1, 1], vertical_alignment="bottom")
        output, count = "top", 10
        if made.named is None:
            output = left.segmented_control(
                "What to download",
                list(_WHAT),
                default="top",
                required=True,
                wrap=True,
                format_func=_WHAT.__getitem__,
                key=f"{PREFIX}what-{place}",
                persist_state="session",
            )
            if output == "top":
                count = middle.number_input(
                    "Items a user", 1, 1000, 10, key=f"{PREFIX}top-{place}", persist_state="session"
                )
        form = right.segmented_control(
            "Format",
            list(FILE_FORMATS),
            default="csv",
            required=True,
            format_func=str.upper,
            key=f"{PREFIX}format-{place}",
            persist_state="session",
        )
        try:
            if output == "all":
                made.check_size()
        except ReleaseRefused as error:
            st.error(controls.as_text(str(error)))
            return
        st.download_button(
            "Download the release",
            partial(made.bundle, output, int(count), form),
            f"release_{place + 1}.zip",
            "application/zip",
            type="primary",
            icon=":material/download:",
            key=f"download-{place}",
            on_click="ignore",
            help="The table, a JSON statement of the guarantee, and a README in plain words. Cells that a spreadsheet "
            "would run are made harmless.",
        )
