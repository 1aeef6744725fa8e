"""Pages take turns: when many are asked for at once, each is finished before the next one begins.

Python runs one thread at a time in any case. Thirty pages that advance together are all finished late, and spend a good
part of the time on passing the interpreter round; one after the other the first are there at once, the last no later.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from obmc.experiments.jobs import Call

# Nobody waits longer than this for one slow page, such as one that reads a large file.
PATIENCE = 0.25


class Turns:
    """One place for a page at work. Thread-safe."""

    def __init__(self) -> None:
        self._free = threading.Semaphore()
        self._mine = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """The turn, for as long as this lasts; after ``PATIENCE`` without it."""
        self._take()
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Leave it to others while this page waits for something else."""
        had = self._give()
        try:
            yield
        finally:
            if had:
                self._take()

    def _take(self) -> None:
        self._mine.held = self._free.acquire(timeout=PATIENCE)

    def _give(self) -> bool:
        had = getattr(self._mine, "held", False)
        if had:
            self._mine.held = False
            self._free.release()
        return had


@st.cache_resource(show_spinner=False)
def turns() -> Turns:
    """Those of this server."""
    return Turns()


def is_ready(call: Call, seconds: float) -> bool:
    """Whether a call has ended, after waiting for that so many seconds at most, while other pages go on."""
    with turns().lent():
        return call.ready(seconds)
