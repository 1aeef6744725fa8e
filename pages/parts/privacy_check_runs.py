"""Audits in the background: each is computed piece by piece, and what there is of it can be looked at any time."""

from __future__ import annotations

import time
from dataclasses import dataclass

import streamlit as st

from obmc.checks import Check, Found, advance
from obmc.experiments.jobs import BusyError, Call
from pages.parts.background import runner, visitor
from pages.parts.turns import is_ready
from pages.parts.waiting import PATIENCE, digest

POLL_SECONDS = 0.7
# A piece is short at first, so that there is something to see, and never so long that others wait for it.
_FIRST_SECONDS, _PIECE_SECONDS = 0.2, 1.0
_KEPT = 40
_WATCHED = "_checks"


@dataclass(eq=False)
class Watched:
    """An audit that this visitor looks at."""

    found: Found | None = None
    call: Call | None = None
    pieces: int = 0
    stopped: bool = False
    error: str = ""

    @property
    def is_live(self) -> bool:
        """Whether more is to come."""
        return not (self.stopped or self.error or (self.found is not None and self.found.is_done))

    @property
    def share(self) -> float:
        """How much of it is done."""
        return 0.0 if self.found is None else self.found.run.done / self.found.run.runs


def look(check: Check) -> Watched:
    """The audit as far as it is, after giving the next piece to a worker. Equal audits are computed once for all."""
    kept: dict[Check, Watched] = st.session_state.setdefault(_WATCHED, {})
    watched = kept.setdefault(check, Watched())
    for old in list(kept)[: max(len(kept) - _KEPT, 0)]:
        if old != check:
            del kept[old]
    if watched.is_live and watched.call is not None and watched.call.ready():
        _take(watched, watched.call)
    if watched.is_live and watched.call is None:
        _submit(check, watched)
    return watched


def look_briefly(check: Check) -> Watched:
    """The same, waiting a moment for the piece that is under way: many audits are one piece long."""
    watched = look(check)
    end = time.monotonic() + PATIENCE
    while watched.is_live and watched.call is not None and is_ready(watched.call, max(end - time.monotonic(), 0.0)):
        watched = look(check)
    return watched


def _take(watched: Watched, call: Call) -> None:
    watched.call = None
    if call.cancelled:
        # By the server, to make room: the piece is asked for again.
        return
    try:
        watched.found = call.result()
    except (ValueError, OSError, RuntimeError) as error:
        watched.error = str(error)
        return
    watched.pieces += 1


def _submit(check: Check, watched: Watched) -> None:
    seconds = _PIECE_SECONDS if watched.pieces else _FIRST_SECONDS
    try:
        watched.call = runner().call(
            visitor(), f"check-{digest(check)}-{watched.pieces}", advance, check, watched.found, seconds
        )
    except BusyError:
        # There is room again when something ends, and this is asked again at the next look.
        watched.call = None


def stop(*checks: Check) -> None:
    """This visitor no longer wants these audits; what others want goes on."""
    for check in checks:
        watched = st.session_state.get(_WATCHED, {}).get(check)
        if watched is not None and watched.is_live:
            watched.stopped = True
            if watched.call is not None:
                runner().leave(watched.call.key, visitor())
                watched.call = None


def restart(*checks: Check) -> None:
    """Go on with what was stopped, and try again what failed."""
    for check in checks:
        watched = st.session_state.get(_WATCHED, {}).get(check)
        if watched is not None and (watched.stopped or watched.error):
            watched.stopped, watched.error = False, ""
