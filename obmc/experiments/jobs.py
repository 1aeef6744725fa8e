"""Computation in the background of a server: one runner for all its visitors.

A job is a sweep or a single call. Equal configurations are computed once, however many visitors ask (single flight);
each visitor who asks is a watcher, and a job is stopped when its last watcher leaves. Visitors take turns: the number
of sweeps that run at a time is bounded, the others wait in a queue in which nobody is served twice before another is
served once, and the workers go round the visitors task by task. Nothing here knows of a user interface.
"""

from __future__ import annotations

import math
import pickle
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from obmc.errors import check_integer, check_number
from obmc.experiments.executors import (
    LocalExecutor,
    StoppedError,
    close_cluster,
    open_cluster,
    stop_future,
    usable_cpus,
)
from obmc.experiments.outcomes import OutcomeStore
from obmc.experiments.runner import Progress, run
from obmc.experiments.sweep import FIELDS, Row, Sweep

State = Literal["queued", "running", "done", "cancelled", "failed"]

MAX_JOB_RUNS = 20_000
# Rows of ended jobs that are kept, a third of a kilobyte each; what goes is in the store, if there is one.
MAX_KEPT_ROWS = 200_000
# Results of ended calls that are kept.
MAX_KEPT_CALLS, MAX_KEPT_BYTES = 512, 96_000_000


class BusyError(RuntimeError):
    """The queue is full, or a visitor has enough in it already; the message says which and what to do."""


@dataclass(frozen=True)
class JobStatus:
    """A job as it stands at one moment.

    Attributes
    ----------
    key
        The job's name: the hash of its configuration, or a random one for data in memory.
    state
        "queued", "running", "done", "cancelled" or "failed".
    progress
        Runs done and left, and the expected time.
    n_rows
        How many rows there are.
    position
        1 for the next one of the queue to start; 0 for one that is not queued.
    watchers
        How many visitors want it.
    message
        Why it failed, or what the user should know; "" for nothing.
    """

    key: str
    state: State
    progress: Progress
    n_rows: int
    position: int
    watchers: int
    message: str

    @property
    def is_live(self) -> bool:
        """Whether more is to come."""
        return self.state in ("queued", "running")


@dataclass(eq=False)
class _Job:
    key: str
    session: str
    sweep: Sweep | None
    private: bool
    order: int
    watchers: set[str]
    progress: Progress
    state: State = "queued"
    message: str = ""
    stopped: bool = False
    # Without the names of the columns, which are most of a row.
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    seen: float = 0.0
    ended: threading.Event = field(default_factory=threading.Event)


class Call:
    """A single call in the background."""

    def __init__(self, key: str, future: Future[Any], private: bool) -> None:
        self.key = key
        self.future = future
        self.private = private
        # Of the result, once it is there.
        self.size = 0

    def ready(self, seconds: float = 0.0) -> bool:
        """Whether it has ended, waiting up to this long for it."""
        return bool(wait([self.future], timeout=seconds).done)

    @property
    def cancelled(self) -> bool:
        """Whether it was stopped before it ended."""
        return self.future.cancelled() or (
            self.future.done() and isinstance(self.future.exception(), StoppedError | CancelledError)
        )

    @property
    def lost(self) -> bool:
        """Whether it was stopped, or ended by the machine and not by its settings: an equal one may do better."""
        return self.cancelled or (self.future.done() and isinstance(self.future.exception(), OSError | MemoryError))

    def result(self) -> Any:
        """What the function returned; raises what it raised."""
        return self.future.result()


class JobRunner:
    """The one runner of a server. Thread-safe.

    Parameters
    ----------
    executor
        Where to compute; by default local worker processes, one less than the CPUs that this process may use, and for
        sweeps the Dask cluster that ``OBMC_DASK`` names. What has to do with data in memory never leaves this machine.
    store
        The results store that all jobs share; None for none.
    max_running
        How many sweeps run at a time; they share the workers.
    max_queued
        How many more may wait.
    max_per_session
        How many sweeps one visitor may have running and waiting.
    max_calls, max_calls_per_session
        How many single calls may be running and waiting, of all visitors and of one.
    keep_seconds
        How long a job is kept after anyone last looked at it; one that still runs is then stopped.
    away_seconds
        How long what came of a visitor's data in memory is kept after ``depart``.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        store: OutcomeStore | None = None,
        *,
        max_running: int = 4,
        max_queued: int = 40,
        max_per_session: int = 3,
        max_calls: int = 200,
        max_calls_per_session: int = 16,
        keep_seconds: float = 3600.0,
        away_seconds: float = 900.0,
    ) -> None:
        self.cluster = open_cluster() if executor is None else None
        self.executor = LocalExecutor(max(usable_cpus() - 1, 1)) if executor is None else executor
        self.store = store
        self._max_running = check_integer("max_running", max_running, low=1)
        self._max_queued = check_integer("max_queued", max_queued, low=1)
        self._max_per_session = check_integer("max_per_session", max_per_session, low=1)
        self._max_calls = check_integer("max_calls", max_calls, low=1)
        self._max_calls_per_session = check_integer("max_calls_per_session", max_calls_per_session, low=1)
        self._keep_seconds = check_number("keep_seconds", keep_seconds, low=0.0)
        self._away_seconds = check_number("away_seconds", away_seconds, low=0.0)
        self._lock = threading.RLock()
        self._jobs: dict[str, _Job] = {}
        self._calls: OrderedDict[str, tuple[Call, set[str]]] = OrderedDict()
        self._away: dict[str, float] = {}
        self._submitted = 0
        self._closed = False

    # Sweeps -------------------------------------------------------------------------------------------------------

    def submit(self, sweep: Sweep, session: str, *, anew: bool = False) -> str:
        """Have a sweep computed for a visitor, and return the job's key.

        A sweep that another visitor has running, or that is done and still kept, is joined; with ``anew`` only one that
        runs or waits, for whoever finds that rows of one that is done are no longer in the store. A sweep over data in
        memory is never joined: its key is random, only ``session`` can look at it, and its data are dropped when it
        ends.

        Raises ``BusyError`` if the queue is full, ``ValueError`` if the sweep is too large for a server.
        """
        if len(sweep) > MAX_JOB_RUNS:
            raise ValueError(
                f"the sweep has {len(sweep):,} runs of at most {MAX_JOB_RUNS:,}: narrow it, or use the command line."
            )
        private = not sweep.is_stored or any(spec.made is not None for spec in sweep.mechanisms)
        key = f"private-{secrets.token_hex(16)}" if private else sweep.key
        with self._lock:
            self._tidy()
            job = self._jobs.get(key)
            joined = ("queued", "running") if anew else ("queued", "running", "done")
            if job is not None and job.state in joined and not job.stopped:
                job.watchers.add(session)
                job.seen = time.monotonic()
                return key
            self._check_room(session)
            self._submitted += 1
            self._jobs[key] = _Job(
                key=key,
                session=session,
                sweep=sweep,
                private=private,
                order=self._submitted,
                watchers={session},
                progress=Progress(0, len(sweep)),
                seen=time.monotonic(),
            )
            self._start_waiting()
        return key

    def status(self, key: str, session: str) -> JobStatus | None:
        """The job as it stands; None if there is none of that key (or none for this visitor)."""
        with self._lock:
            job = self._find(key, session)
            return None if job is None else self._status(job)

    def rows(self, key: str, session: str, start: int = 0) -> list[Row]:
        """The job's rows so far from the ``start``-th on; empty if there is no such job."""
        with self._lock:
            job = self._find(key, session)
            found = [] if job is None else job.rows[start:]
        return [cast(Row, dict(zip(FIELDS, values, strict=True))) for values in found]

    def wait(self, key: str, session: str, seconds: float | None = None) -> JobStatus | None:
        """The job as it stands when it has ended, or after this long."""
        with self._lock:
            job = self._find(key, session)
        if job is not None:
            job.ended.wait(seconds)
        return self.status(key, session)

    def leave(self, key: str, session: str) -> None:
        """The visitor no longer wants the job or call. It is stopped if nobody else does."""
        with self._lock:
            job = self._find(key, session)
            if job is not None:
                job.watchers.discard(session)
                if not job.watchers:
                    self._stop(job)
                    if job.private:
                        self._jobs.pop(key, None)
            self._leave_call(key, session)

    def leave_all(self, session: str) -> None:
        """The visitor is gone: leave whatever they watch, and forget what came of their data in memory."""
        with self._lock:
            self._away.pop(session, None)
            for key in [job.key for job in self._jobs.values() if session in job.watchers]:
                self.leave(key, session)
            for key in [key for key, (_, watchers) in self._calls.items() if session in watchers]:
                self.leave(key, session)

    def depart(self, session: str) -> None:
        """The visitor's connection is lost. Unless they ``arrive`` in time, what came of their data in memory goes.

        Their other jobs go on, for somebody who closes a laptop and comes back, until nobody has looked at them for
        long.
        """
        with self._lock:
            self._away[session] = time.monotonic()

    def arrive(self, session: str) -> None:
        """The visitor is there, again or for the first time."""
        with self._lock:
            self._away.pop(session, None)
            self._tidy()

    def watched(self, session: str) -> list[JobStatus]:
        """The jobs that are computed for this visitor, in the order of submission; a page that was opened again."""
        with self._lock:
            return [self._status(job) for job in self._jobs.values() if session in job.watchers]

    def statuses(self) -> list[JobStatus]:
        """All jobs that are not private, in the order of submission."""
        with self._lock:
            return [self._status(job) for job in self._jobs.values() if not job.private]

    # Single calls -------------------------------------------------------------------------------------------------

    def call(
        self,
        session: str,
        key: str | None,
        function: Callable[..., Any],
        *arguments: Any,
        replaces: str | None = None,
    ) -> Call:
        """Have one function called in a worker, before the sweeps' tasks.

        Parameters
        ----------
        session
            Who wants it.
        key
            The hash of the configuration: an equal call that runs or is kept is joined. None for private data: the key
            is random and the result is not kept.
        function, arguments
            Picklable; arguments by position.
        replaces
            The key of an earlier call of this visitor that is no longer wanted, as when a slider has moved on.

        Raises ``BusyError`` if too many calls wait already.
        """
        with self._lock:
            self._tidy()
            if replaces is not None and replaces != key:
                self._leave_call(replaces, session)
            found = None if key is None else self._calls.get(key)
            if found is not None and not found[0].lost:
                found[1].add(session)
                self._calls.move_to_end(found[0].key)
                return found[0]
            self._check_room_for_call(session)
            name = f"private-{secrets.token_hex(16)}" if key is None else key
            call = Call(name, self._lane(session, True).submit(function, *arguments), private=key is None)
            self._calls[name] = (call, {session})
        call.future.add_done_callback(lambda _: self._call_ended(call))
        return call

    def close(self) -> None:
        """Stop everything and end the workers."""
        with self._lock:
            self._closed = True
            for job in list(self._jobs.values()):
                self._stop(job)
        if isinstance(self.executor, LocalExecutor):
            self.executor.kill()
        if self.cluster is not None:
            close_cluster(self.cluster)

    # Inside, with the lock held -----------------------------------------------------------------------------------

    def _find(self, key: str, session: str) -> _Job | None:
        job = self._jobs.get(key)
        if job is None or (job.private and job.session != session):
            return None
        job.seen = time.monotonic()
        return job

    def _status(self, job: _Job) -> JobStatus:
        queue = self._queue()
        return JobStatus(
            key=job.key,
            state=job.state,
            progress=job.progress,
            n_rows=len(job.rows),
            position=queue.index(job) + 1 if job in queue else 0,
            watchers=len(job.watchers),
            message=job.message or job.progress.note,
        )

    def _check_room(self, session: str) -> None:
        if self._closed:
            raise BusyError("the runner has been closed: nothing more is computed.")
        live = [job for job in self._jobs.values() if job.state in ("queued", "running") and not job.stopped]
        if sum(job.session == session for job in live) >= self._max_per_session:
            raise BusyError(
                f"you have {self._max_per_session} sweeps running or waiting already: "
                "wait for one to end, or cancel one."
            )
        if sum(job.state == "queued" for job in live) >= self._max_queued:
            raise BusyError(f"{self._max_queued} sweeps are waiting already: try again in a few minutes.")

    def _check_room_for_call(self, session: str) -> None:
        if self._closed:
            raise BusyError("the runner has been closed: nothing more is computed.")
        waiting = [watchers for call, watchers in self._calls.values() if not call.future.done()]
        if sum(session in watchers for watchers in waiting) >= self._max_calls_per_session:
            raise BusyError("you have too many computations waiting already: wait for one to end.")
        if len(waiting) >= self._max_calls:
            raise BusyError(f"{len(waiting)} computations are waiting already: try again in a minute.")

    def _queue(self) -> list[_Job]:
        """The waiting jobs in the order in which they will start: visitors in turn, then by time of submission."""
        turns = Counter(job.session for job in self._jobs.values() if job.state == "running")
        ranked = []
        for job in sorted((job for job in self._jobs.values() if job.state == "queued"), key=lambda job: job.order):
            ranked.append((turns[job.session], job.order, job))
            turns[job.session] += 1
        return [job for _, _, job in sorted(ranked, key=lambda entry: entry[:2])]

    def _start_waiting(self) -> None:
        while not self._closed and sum(job.state == "running" for job in self._jobs.values()) < self._max_running:
            queue = self._queue()
            if not queue:
                return
            queue[0].state = "running"
            threading.Thread(target=self._work, args=(queue[0],), name="obmc-job", daemon=True).start()

    def _stop(self, job: _Job) -> None:
        job.stopped = True
        if job.state == "queued":
            self._end(job, "cancelled")

    def _end(self, job: _Job, state: State, message: str = "") -> None:
        job.state = state
        job.message = message
        # With it go the data of a sweep over data in memory.
        job.sweep = None
        job.ended.set()

    def _tidy(self) -> None:
        """Forget what nobody has looked at for long, and stop it if it runs; forget the private of who is gone."""
        gone = time.monotonic() - self._away_seconds
        for session in [session for session, since in self._away.items() if since < gone]:
            del self._away[session]
            private = [job.key for job in self._jobs.values() if job.private and job.session == session]
            private += [key for key, (call, watchers) in self._calls.items() if call.private and session in watchers]
            for key in private:
                self.leave(key, session)
        horizon = time.monotonic() - self._keep_seconds
        for job in [job for job in self._jobs.values() if job.seen < horizon]:
            if job.state == "running":
                self._stop(job)
            else:
                self._end(job, "cancelled")
                del self._jobs[job.key]

    def _leave_call(self, key: str, session: str) -> None:
        found = self._calls.get(key)
        if found is None:
            return
        call, watchers = found
        watchers.discard(session)
        if not watchers and not call.future.done():
            del self._calls[key]
            stop_future(self.executor, call.future)

    def _call_ended(self, call: Call) -> None:
        dropped = call.private or call.cancelled or call.future.exception() is not None
        size = 0 if dropped else _size_of(call.result())
        with self._lock:
            found = self._calls.get(call.key)
            if found is None or found[0] is not call:
                return
            call.size = size
            if dropped:
                del self._calls[call.key]
            self._drop_old_calls()

    def _drop_old_calls(self) -> None:
        """Drop results until what is kept is within its bounds, those first that were not asked for the longest."""
        ended = [(key, call) for key, (call, _) in self._calls.items() if call.future.done()]
        count, size = len(ended), sum(call.size for _, call in ended)
        for key, call in ended:
            if count <= MAX_KEPT_CALLS and size <= MAX_KEPT_BYTES:
                return
            del self._calls[key]
            count, size = count - 1, size - call.size

    def _drop_old_rows(self) -> None:
        """The same for ended jobs, by when they were last looked at; first those that a store may still have."""
        ended = [job for job in self._jobs.values() if job.ended.is_set()]
        ended.sort(key=lambda job: (job.private, job.seen))
        rows = sum(len(job.rows) for job in ended)
        for job in ended[:-1]:
            if rows <= MAX_KEPT_ROWS:
                return
            del self._jobs[job.key]
            rows -= len(job.rows)

    def _lane(self, session: str, urgent: bool) -> Executor:
        return self.executor.lane(session, urgent) if isinstance(self.executor, LocalExecutor) else self.executor

    # The thread of a job ------------------------------------------------------------------------------------------

    def _work(self, job: _Job) -> None:
        def report(progress: Progress) -> bool:
            with self._lock:
                job.progress = progress
                self._tidy()
                return not job.stopped

        sweep = job.sweep
        try:
            assert sweep is not None
            executor = self.cluster if self.cluster and not job.private else self._lane(job.session, False)
            for row in run(sweep, executor, self.store, report):
                with self._lock:
                    job.rows.append(tuple(row[name] for name in FIELDS))  # type: ignore[literal-required]
            state: State = "cancelled" if job.stopped else "done"
            message = ""
        except (ValueError, OSError, RuntimeError) as error:
            state, message = ("cancelled", "") if job.stopped else ("failed", str(error))
        except BaseException as error:
            state, message = "failed", f"{type(error).__name__}: {error}"
            # An error of the program, for the log; one about private data might quote them.
            if not job.private:
                raise
        finally:
            sweep = None
            with self._lock:
                if state == "done":
                    job.progress = _finished(job.progress)
                self._end(job, state, message)
                self._drop_old_rows()
                self._start_waiting()


def _size_of(result: Any) -> int:
    """About how many bytes it takes; arrays are measured without being copied."""
    blocks: list[pickle.PickleBuffer] = []
    rest = pickle.dumps(result, protocol=5, buffer_callback=blocks.append)
    return len(rest) + sum(block.raw().nbytes for block in blocks)


def _finished(progress: Progress) -> Progress:
    return Progress(
        progress.total, progress.total, progress.cached, progress.seconds, 0.0, progress.refused, progress.note
    )


def describe(status: JobStatus) -> str:
    """The job in a sentence."""
    progress = status.progress
    if status.state == "queued":
        return f"Waiting: number {status.position} in the queue."
    if status.state == "running":
        left = "" if math.isnan(progress.remaining) else f", about {duration(progress.remaining)} left"
        return f"{progress.done:,} of {progress.total:,} runs{left}."
    if status.state == "done":
        return f"Done: {progress.total:,} runs in {duration(progress.seconds)}."
    if status.state == "cancelled":
        return f"Cancelled after {progress.done:,} of {progress.total:,} runs."
    return f"Stopped after {progress.done:,} of {progress.total:,} runs: {status.message}"


def duration(seconds: float) -> str:
    """A time for a reader: "3 s", "4 min", "2 h 5 min"."""
    if seconds < 59.5:
        return f"{max(seconds, 0.0):.0f} s" if seconds >= 9.5 else f"{max(seconds, 0.0):.1g} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
