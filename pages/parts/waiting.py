"""Waiting for single runs without holding up the page: briefly in its own thread, then by looking again."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from obmc.experiments.jobs import Call, duration
from obmc.single import Run, Setting, run
from pages.parts.background import runner, visitor
from pages.parts.turns import is_ready

# How long a page waits in its own thread.
PATIENCE = 0.4
# A run that has begun is ended for a newer one only after this: ending it costs the worker a new start.
YOUNG = 2.0
POLL_SECONDS = 0.5

_ASKED = "_asked"


@dataclass(frozen=True)
class _Asked:
    """What this visitor waits for in one place of a page."""

    setting: Setting
    call: Call
    since: float


def ask(**settings: Setting) -> dict[str, Run] | None:
    """The runs of these settings by name, or None if they are not there within ``PATIENCE``.

    Raises what a run raised. What this visitor asked for before under the same name, and nobody else wants, is dropped.
    """
    asked = {name: _submit(name, setting) for name, setting in settings.items()}
    st.session_state[_ASKED] = asked
    end = time.monotonic() + PATIENCE
    # All are waited for before any is looked at, so that what one raises does not hide the state of another.
    ready = [is_ready(found.call, max(end - time.monotonic(), 0.0)) for found in asked.values()]
    if not all(ready):
        return None
    return {name: found.call.result() for name, found in asked.items()}


def _submit(name: str, setting: Setting) -> _Asked:
    before: _Asked | None = st.session_state.get(_ASKED, {}).get(name)
    if before is not None and before.setting == setting and not before.call.lost:
        return before
    key = f"single-{setting.point.key}"
    call = runner().call(visitor(), key, run, setting, replaces=_outdated(before))
    return _Asked(setting, call, time.monotonic())


def _outdated(before: _Asked | None) -> str | None:
    """The key of an earlier call that is not worth finishing."""
    if before is None or (before.call.future.running() and time.monotonic() - before.since < YOUNG):
        return None
    return before.call.key


@st.fragment(run_every=POLL_SECONDS)
def poll() -> None:
    """Say that a computation is under way, and run the page again when it has ended."""
    asked: list[_Asked] = list(st.session_state.get(_ASKED, {}).values())
    if all(found.call.ready() for found in asked):
        st.rerun()
    waited = time.monotonic() - min(found.since for found in asked)
    running = any(found.call.future.running() for found in asked)
    what = "Computing" if running else "Waiting for a free worker"
    st.info(f"{what}: {duration(waited)}.", icon=":material/hourglass:")
