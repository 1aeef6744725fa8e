"""Waiting for what workers compute without holding up the page: briefly in its own thread, then by looking again."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from obmc.experiments.jobs import Call, duration
from obmc.single import Run, Setting, run
from pages.parts.background import runner, visitor
from pages.parts.turns import is_ready

# How long a page waits in its own thread.
PATIENCE = 0.4
# A call that has begun is ended for a newer one only after this: ending it costs the worker a new start.
YOUNG = 2.0
POLL_SECONDS = 0.5

_ASKED = "_asked"


@dataclass(frozen=True)
class _Asked:
    """What this visitor waits for in one place of a page; ``wanted`` tells one question from another."""

    wanted: str
    call: Call
    since: float


def ask(name: str, wanted: Any, function: Callable[..., Any], *arguments: Any, shared: bool = True) -> Any:
    """What the function returns, or None if it is not there within ``PATIENCE``; raises what it raised.

    Parameters
    ----------
    name
        Of the place on the page: what was wanted there before, and nobody else wants, is dropped.
    wanted
        What tells one question from another, by its ``repr``.
    shared
        Whether equal questions of all visitors have one answer, which may be kept; else each is answered afresh.
    """
    call = _submit(name, digest((name, wanted)), function, *arguments, shared=shared)
    return call.result() if is_ready(call, PATIENCE) else None


def ask_runs(**settings: Setting) -> dict[str, Run] | None:
    """The runs of these settings by the names of their places, or None if they are not all there within ``PATIENCE``.

    Raises what a run raised.
    """
    calls = {name: _submit(name, f"single-{setting.point.key}", run, setting) for name, setting in settings.items()}
    end = time.monotonic() + PATIENCE
    # All are waited for before any is looked at, so that what one raises does not hide the state of another.
    ready = [is_ready(call, max(end - time.monotonic(), 0.0)) for call in calls.values()]
    return {name: call.result() for name, call in calls.items()} if all(ready) else None


def digest(value: Any) -> str:
    """A short name for whatever has a ``repr`` that tells it from all else."""
    return hashlib.sha256(repr(value).encode()).hexdigest()


def _submit(name: str, wanted: str, function: Callable[..., Any], *arguments: Any, shared: bool = True) -> Call:
    kept: dict[str, _Asked] = st.session_state.setdefault(_ASKED, {})
    before = kept.get(name)
    if before is not None and before.wanted == wanted and not before.call.lost:
        return before.call
    key = wanted if shared else None
    call = runner().call(visitor(), key, function, *arguments, replaces=_outdated(kept, name, wanted))
    kept[name] = _Asked(wanted, call, time.monotonic())
    return call


def _outdated(kept: dict[str, _Asked], name: str, wanted: str) -> str | None:
    """The key of this place's earlier call if it is not worth finishing, and no other place waits for it."""
    before = kept.get(name)
    if before is None or before.wanted == wanted:
        return None
    if any(asked.call.key == before.call.key for place, asked in kept.items() if place != name):
        return None
    if before.call.future.running() and time.monotonic() - before.since < YOUNG:
        return None
    return before.call.key


@st.fragment(run_every=POLL_SECONDS)
def poll(*names: str) -> None:
    """Say that a computation is under way in these places, and run the page again when all have ended."""
    kept: dict[str, _Asked] = st.session_state.get(_ASKED, {})
    asked = [kept[name] for name in names if name in kept]
    if all(found.call.ready() for found in asked):
        st.rerun()
    waited = time.monotonic() - min(found.since for found in asked)
    running = any(found.call.future.running() for found in asked)
    what = "Computing" if running else "Waiting for a free worker"
    st.info(f"{what}: {duration(waited)}.", icon=":material/hourglass:")
