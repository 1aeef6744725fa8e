"""The upload of the page Your ratings: what a visitor hands over, kept in the session only, and what was understood.

Text of a file reaches the page as plain text only: in tables, or without its Markdown.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from obmc.datasets.ratings_table import RatingsTable
from obmc.experiments.jobs import BusyError, Call, duration
from obmc.plots_ratings import rating_bars
from obmc.privacy import Ledger
from obmc.release import ReleasedRatings
from obmc.upload import ROWS_VARIABLE, Upload, most_rows, read_upload
from pages.parts import charts, controls
from pages.parts.background import runner, visitor
from pages.parts.turns import is_ready
from pages.parts.waiting import PATIENCE, POLL_SECONDS

_HELD, _ROUND, _GONE = "_your_ratings", "_your_round", "_your_gone"
# By the file's digest, so that both are there again when the visitor comes back to a file.
_LEDGERS, _RELEASES = "_your_ledgers", "_your_releases"
_SAMPLE = Path(__file__).parents[2] / "data" / "sample_ratings.csv"
_FIRST_ROWS = 20
# Keys of the page's widgets begin so.
PREFIX = "yr-"


@dataclass
class Held:
    """A visitor's file, what became of it, and what was made of it. It lives in the session and nowhere else."""

    name: str
    data: bytes
    options: dict[str, Any] = field(default_factory=dict)
    call: Call | None = None
    since: float = 0.0
    result: Upload | None = None
    releases: list[tuple[RatingsTable, ReleasedRatings]] = field(default_factory=list)
    pending: Any = None
    explored: Any = None

    @property
    def is_reading(self) -> bool:
        """Whether the file is still being read."""
        return self.call is not None

    def read(self, options: dict[str, Any]) -> None:
        """Have the file read in a worker, with these arguments of ``read_ratings``."""
        if self.call is not None:
            runner().leave(self.call.key, visitor())
        self.options, self.since = options, time.monotonic()
        try:
            self.call = runner().call(visitor(), None, read_upload, self.data, options, megabytes(), most_rows())
        except BusyError as error:
            self.call, self.result = None, Upload(None, None, str(error))

    def look(self) -> None:
        """Take the result if it is there, after waiting a moment for it."""
        if self.call is None or not is_ready(self.call, PATIENCE):
            return
        try:
            self.result = self.call.result()
        except (OSError, RuntimeError, ValueError, MemoryError) as error:
            self.result = Upload(None, None, f"The file could not be read: {error}")
        self.call = None


def megabytes() -> int:
    """The largest upload, from the server's settings."""
    return int(st.get_option("server.maxUploadSize"))


def upload() -> Held | None:
    """The ways to hand over a file, and the one that is held."""
    if st.session_state.pop(_GONE, False):
        st.success("Your data, what was made of them and the ledger are gone from this server's memory.")
    held: Held | None = st.session_state.get(_HELD)
    st.markdown(
        f"At most **{megabytes()} MB** and **{most_rows():,} ratings**. The file stays in this session's memory: not "
        "on disk, not in a log, not seen by other visitors. **It is gone when you reload the page or close it**, and "
        "so is the ledger of what you have spent."
    )
    st.caption(f"Who runs this server can change the limits: server.maxUploadSize and {ROWS_VARIABLE}.")
    if held is None:
        _ask()
        held = st.session_state.get(_HELD)
    else:
        with st.expander("Another file"):
            _ask()
        held = st.session_state[_HELD]
    if held is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{controls.as_text(held.name)}**, {len(held.data) / 1e6:,.2f} MB")
            st.button(
                "Forget my data",
                icon=":material/delete:",
                key="forget",
                on_click=_forget,
                help="The file, everything made of it, and the ledger. What you have released stays spent: save the "
                "ledger first if you want to go on later.",
            )
        held.look()
    return held


def _ask() -> None:
    turn = st.session_state.setdefault(_ROUND, 0)
    given = st.file_uploader(
        "A file of ratings: CSV, text, JSON, or one of them packed",
        key=f"{PREFIX}file-{turn}",
        help="A column for users, one for items, one for ratings; or a matrix with users in rows and items in columns.",
    )
    if given is not None:
        _hold(given.name, given.getvalue())
    with st.expander("Or paste it, or try the sample"):
        text = st.text_area("Paste ratings", key=f"{PREFIX}paste-{turn}", placeholder="user,item,rating\nann,tea,4")
        with st.container(horizontal=True):
            if st.button("Read what I pasted", key="paste", disabled=not text.strip()):
                _hold("pasted text", text.encode())
            if st.button("Use the sample file", key="sample"):
                _hold(_SAMPLE.name, _SAMPLE.read_bytes())
            st.download_button(
                "Download the sample file", _SAMPLE.read_bytes(), _SAMPLE.name, "text/csv", on_click="ignore"
            )


def _hold(name: str, data: bytes) -> None:
    _drop()
    # A new turn empties the widgets, so that the file is taken once.
    st.session_state[_ROUND] += 1
    made = st.session_state.setdefault(_RELEASES, {}).setdefault(_digest(data), [])
    held = Held(name, data, releases=made)
    held.read({})
    st.session_state[_HELD] = held
    st.rerun()


def _drop() -> None:
    """End what is computed of the file that is held, and forget how it was read."""
    runner().leave_all(visitor())
    st.session_state.pop(_HELD, None)
    for key in [key for key in st.session_state if str(key).startswith(PREFIX)]:
        del st.session_state[key]


def _forget() -> None:
    _drop()
    for key in (_LEDGERS, _RELEASES):
        st.session_state.pop(key, None)
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    st.session_state[_GONE] = True


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def ledger(held: Held) -> Ledger:
    """What this visitor has spent on this file, however it was read; forgotten with the data only."""
    ledgers = st.session_state.setdefault(_LEDGERS, {})
    key = _digest(held.data)
    counts = held.result.table.ratings_per_user
    if key not in ledgers:
        ledgers[key] = Ledger("uploaded ratings", counts)
    known: Ledger = ledgers[key]
    known.recount(counts)
    return known


# What was understood --------------------------------------------------------------------------------------------------


@st.fragment(run_every=POLL_SECONDS)
def poll() -> None:
    """Say how long the file has been read, and run the page again when it has ended."""
    held: Held | None = st.session_state.get(_HELD)
    if held is None or held.call is None or held.call.ready():
        st.rerun()
    size = len(held.data) / 1e6
    waiting = "" if held.call.future.running() else " It waits for a free worker."
    st.info(f"Reading {size:,.1f} MB: {duration(time.monotonic() - held.since)}.{waiting}", icon=":material/hourglass:")
    if st.button("Stop reading", key="stop-reading"):
        _forget()
        st.rerun()


def fault(result: Upload) -> None:
    """Why the file could not be read, and what its first rows look like."""
    st.error(controls.as_text(result.fault))
    if result.preview is not None:
        st.caption("The first rows as they were split. Say below which columns are meant, or how to split them.")
        _text_table(result.preview.columns, result.preview.rows, f"{PREFIX}preview")


def _text_table(columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], key: str) -> None:
    width = max([len(columns), *(len(row) for row in rows)], default=0)
    names = [f"{place}: {columns[place]}" if place < len(columns) else f"{place}" for place in range(width)]
    frame = pd.DataFrame([list(row) + [""] * (width - len(row)) for row in rows], columns=names, dtype="str")
    st.dataframe(frame, key=key, hide_index=True, width="stretch")


def understood(held: Held) -> None:
    """How the file was read, every note, its numbers, its first rows."""
    table = held.result.table
    st.header("What was understood")
    for note in table.notes:
        st.warning(controls.as_text(note))
    if any("change with" in note for note in table.notes):
        st.caption("What a note calls “change with user=” and the like has a field under *Change how it is read*.")
    if not table.notes:
        st.success("Read as it stands: nothing was changed, dropped or guessed.")
    facts = {
        "Users": f"{table.n_users:,}",
        "Items": f"{table.n_items:,}",
        "Ratings": f"{table.n_ratings:,}",
        "Density": f"{table.density:.2%}",
        "Ratings of the median user": f"{statistics.median(table.ratings_per_user.tolist()):g}",
        "Of the user with most": f"{int(table.ratings_per_user.max()):,}",
        "Rows dropped": f"{table.n_rows_dropped:,}",
    }
    with st.container(horizontal=True, gap="large"):
        for name, value in facts.items():
            st.metric(name, value, width="content")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        st.dataframe(table.frame.head(_FIRST_ROWS), key=f"{PREFIX}rows", hide_index=True, width="stretch", height=260)
    with right:
        counts = table.histogram()
        most = counts.loc[counts["count"].idxmax()]
        charts.show(
            rating_bars(counts),
            f"{PREFIX}histogram",
            f"How often each rating occurs, from {table.ratings.min():g} to {table.ratings.max():g}; most often about "
            f"{most['low']:g}.",
            quiet=True,
        )
        show_counts(table, f"{PREFIX}histogram-numbers")
    with st.expander("How it was split and which columns were taken"):
        dialect = table.dialect
        rows = {
            "Container": dialect.container,
            "Encoding": dialect.encoding,
            "Form": f"{dialect.form}, {dialect.layout}",
            "Separator": repr(dialect.separator)[1:-1],
            "Decimal mark": dialect.decimal,
            "Names of columns": "in the file" if dialect.header else "none in the file",
            "Columns": ", ".join(dialect.columns[:30]),
            "User": dialect.user,
            "Item": dialect.item,
            "Rating": dialect.rating,
            "Words": ", ".join(f"{word} = {value:g}" for word, value in dialect.words.items()),
            "Codes for not rated": ", ".join(f"{code:g}" for code in dialect.missing),
        }
        frame = pd.DataFrame({"What": list(rows), "Found": list(rows.values())}, dtype="str")
        st.dataframe(frame, key=f"{PREFIX}dialect", hide_index=True, width="stretch")


def show_counts(table: RatingsTable, key: str) -> None:
    """How often each rating occurs, in numbers."""
    counts = table.histogram()
    number = st.column_config.NumberColumn
    columns = {
        "low": number("From", format="%g"),
        "high": number("to", format="%g"),
        "count": number("Ratings", format="localized"),
    }
    charts.show_numbers(counts[list(columns)], key, columns)
