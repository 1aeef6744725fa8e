"""Single runs for the pages: computed by the worker processes, kept while they are wanted, waited for briefly.

The script thread of a page never solves. It asks here, gets the result at once if it is there or comes within
``PATIENCE``, and otherwise looks again a little later.
"""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Executor, Future
from threading import Lock

import streamlit as st

from obmc.experiments.executors import LocalExecutor, usable_cpus
from obmc.single import Run, Setting, run

PATIENCE = 0.4
# Estimates kept in the server's memory, in bytes; one of ML-100K has 6 MB.
KEPT_BYTES = 150_000_000


class Runs:
    """Results by setting, shared by all visitors: they come from made or public data and their seeds alone."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._lock = Lock()
        self._futures: OrderedDict[Setting, Future[Run]] = OrderedDict()

    def ask(self, setting: Setting) -> Future[Run]:
        """The run of this setting: finished, under way, or started now."""
        with self._lock:
            future = self._futures.get(setting)
            if future is None or future.cancelled() or (future.done() and future.exception() is not None):
                future = self._executor.submit(run, setting)
                self._futures[setting] = future
            self._futures.move_to_end(setting)
            self._forget_oldest()
            return future

    def find(self, setting: Setting) -> Run | None:
        """The run of this setting if it is finished and kept."""
        with self._lock:
            future = self._futures.get(setting)
        finished = future is not None and future.done() and not future.cancelled() and future.exception() is None
        return future.result() if finished else None

    def drop(self, setting: Setting) -> None:
        """Take back a run that nobody waits for any more, unless it has begun."""
        with self._lock:
            future = self._futures.get(setting)
            if future is not None and future.cancel():
                del self._futures[setting]

    def _forget_oldest(self) -> None:
        size = 0
        for setting in reversed(list(self._futures)):
            future = self._futures[setting]
            if future.done() and not future.cancelled() and future.exception() is None:
                size += future.result().estimate.nbytes
                if size > KEPT_BYTES:
                    del self._futures[setting]


@st.cache_resource(show_spinner=False)
def workers() -> LocalExecutor:
    """The worker processes of this server: one core is left to the pages."""
    executor = LocalExecutor(max(usable_cpus() - 1, 1))
    executor.warm_up()
    return executor


@st.cache_resource(show_spinner=False)
def runs() -> Runs:
    """The single runs of this server; they go before the sweeps."""
    return Runs(workers().lane("single", urgent=True))
