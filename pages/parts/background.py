"""The server's one runner, and who this visitor is to it. Pages never solve in their own thread: they ask here."""

from __future__ import annotations

import secrets

import streamlit as st

from obmc.experiments.executors import LocalExecutor
from obmc.experiments.jobs import JobRunner
from obmc.experiments.store import MemoryStore

_SESSION = "_visitor"


@st.cache_resource(show_spinner=False)
def runner() -> JobRunner:
    """The runner; its workers begin to import the package at once."""
    made = JobRunner(store=MemoryStore())
    if isinstance(made.executor, LocalExecutor):
        made.executor.warm_up()
    return made


def visitor() -> str:
    """The name of this session, known to nobody else."""
    return _present(st.session_state.setdefault(_SESSION, secrets.token_hex(16)))


@st.cache_resource(scope="session", on_release=lambda name: runner().depart(name), show_spinner=False)
def _present(name: str) -> str:
    """Tell the runner when a visitor comes and, since Streamlit then drops this, when their connection is lost."""
    runner().arrive(name)
    return name
