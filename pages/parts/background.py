"""The server's one runner, and who this visitor is to it. Pages never solve in their own thread: they ask here."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass

import streamlit as st

from obmc.experiments import figures
from obmc.experiments.executors import LocalExecutor, parallelism
from obmc.experiments.jobs import JobRunner
from obmc.experiments.known import Means
from obmc.experiments.outcomes import OutcomeStore, StoreError
from obmc.experiments.store import LayeredStore, MemoryStore, Store
from obmc.known_rows import KnownRows
from pages.parts import server

_SESSION = "_visitor"


@dataclass(frozen=True)
class _Results:
    """Where results are: the store for what is computed here over what came with the package.

    ``own`` is None, and ``note`` says why, where the file cannot be used and results are kept until the server ends.
    """

    store: OutcomeStore
    own: Store | None
    note: str


@st.cache_resource(show_spinner=False)
def _results() -> _Results:
    own, shipped = Store(), figures.shipped_store()
    notes = []
    try:
        shipped.find([])
    except StoreError as error:
        notes.append(f"Charts do not open on finished results: {error}")
    try:
        # Opens the file and asks for the right to write, which reading alone would not.
        own.keep([])
    except StoreError as error:
        notes.append(f"Results are kept in memory only, until the server ends: {error}")
        return _Results(LayeredStore(MemoryStore(), shipped), None, " ".join(notes))
    return _Results(LayeredStore(own, shipped), own, " ".join(notes))


@st.cache_resource(show_spinner=False)
def runner() -> JobRunner:
    """The runner; its workers begin to import the package at once."""
    made = JobRunner(store=_results().store)
    if isinstance(made.executor, LocalExecutor):
        made.executor.warm_up()
    return made


@st.cache_resource(show_spinner=False)
def known() -> KnownRows:
    """The rows that are there already, of the runner's store; complete ones are kept in memory for all visitors."""
    return KnownRows(runner().store)


def store_note() -> str:
    """Why results are not kept on disk, in a sentence; "" where they are."""
    return _results().note


@st.cache_resource(show_spinner=False)
def _shipped_seconds() -> Means:
    with suppress(OSError, ValueError, KeyError):
        return figures.shipped_seconds()
    return {}


@st.cache_resource(show_spinner=False, ttl=60.0)
def mean_seconds() -> Means:
    """The mean time of a run of each kind, here or where the shipped results were made."""
    own = _results().own
    found = dict(_shipped_seconds())
    if own is not None:
        with suppress(StoreError):
            found |= own.mean_seconds()
    return found


def workers() -> int:
    """How many runs are computed at a time."""
    return parallelism(runner().executor)


def browser() -> str:
    """The name of this browser, which a reload keeps; where it takes no cookies, that of the session."""
    given = st.context.cookies.get(server.COOKIE)
    return given if given is not None and server.is_key(given) else visitor()


def visitor() -> str:
    """The name of this session, known to nobody else."""
    return _present(st.session_state.setdefault(_SESSION, secrets.token_hex(16)))


@st.cache_resource(scope="session", on_release=lambda name: runner().depart(name), show_spinner=False)
def _present(name: str) -> str:
    """Tell the runner when a visitor comes and, since Streamlit then drops this, when their connection is lost."""
    runner().arrive(name)
    return name
