"""Waiting for runs without holding up the page: the last finished result stays until the new one is there."""

from __future__ import annotations

import time
from concurrent.futures import Future

import streamlit as st

from obmc.single import Run, Setting
from pages.parts.runs import PATIENCE, runs

_WANTED = "_wanted"
_SINCE = "_wanted_since"


def ask(*settings: Setting) -> list[Run] | None:
    """The runs of these settings, or None if they are not there within ``PATIENCE``.

    Raises what a run raised. What this visitor asked for before and does not want any more is taken back.
    """
    before = st.session_state.get(_WANTED, ())
    if before != settings:
        for setting in before:
            if setting not in settings:
                runs().drop(setting)
        st.session_state[_WANTED] = settings
        st.session_state[_SINCE] = time.monotonic()
    end = time.monotonic() + PATIENCE
    futures = [runs().ask(setting) for setting in settings]
    try:
        return [future.result(max(end - time.monotonic(), 0.0)) for future in futures]
    except TimeoutError:
        return None


def find(*settings: Setting) -> list[Run] | None:
    """The runs of these settings if they are all at hand; nothing is started."""
    found = [runs().find(setting) for setting in settings]
    return None if any(run is None for run in found) else [run for run in found if run is not None]


@st.fragment(run_every=0.5)
def poll() -> None:
    """Say that a computation is under way, and run the page again when it has ended."""
    wanted: tuple[Setting, ...] = st.session_state.get(_WANTED, ())
    futures: list[Future[Run]] = [runs().ask(setting) for setting in wanted]
    if all(future.done() for future in futures):
        st.rerun()
    seconds = time.monotonic() - st.session_state.get(_SINCE, time.monotonic())
    started = any(future.running() for future in futures)
    st.info(f"{'Computing' if started else 'Waiting for a free worker'}: {seconds:.0f} s.", icon=":material/hourglass:")
