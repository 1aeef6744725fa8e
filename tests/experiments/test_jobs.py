"""The server's runner: one computation for all who want it, turns between visitors, nothing left of private data."""

from __future__ import annotations

import gc
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from experiment_doubles import Quick
from helpers import eventually
from worker_tasks import pause, process_id

from obmc.datasets import synthetic
from obmc.experiments import InMemory, LocalExecutor, MemoryStore, Progress, Store, Sweep, jobs
from obmc.experiments.jobs import MAX_JOB_RUNS, BusyError, JobRunner, JobStatus, describe, duration

SMALL = {"shape": (30, 20), "ratio": 0.4, "tol": 1e-3}


def clear(seed: int = 0, repetitions: int = 2) -> Sweep:
    return Sweep(mechanisms=["Clear"], seed=seed, repetitions=repetitions, **SMALL)


def slow(pause: float = 300.0, seed: int = 0, count: int = 1) -> Sweep:
    """A sweep that runs until it is stopped."""
    return Sweep(mechanisms=[Quick(epsilon=1.0, pause=pause)], epsilons=list(range(1, count + 1)), seed=seed, **SMALL)


class Gate:
    """Stands in for a worker: tasks wait until they are let through, so that a test decides what has ended."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.pool = ThreadPoolExecutor(8)
        self.submitted: list[object] = []

    def submit(self, fn, /, *args, **kwargs):  # type: ignore[no-untyped-def]
        self.submitted.append(args)
        return self.pool.submit(self._held, fn, args, kwargs)

    def _held(self, fn, args, kwargs):  # type: ignore[no-untyped-def]
        assert self.open.wait(60)
        return fn(*args, **kwargs)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()
    gate.pool.shutdown()


@pytest.fixture(scope="module")
def workers() -> Iterator[LocalExecutor]:
    executor = LocalExecutor(1)
    yield executor
    executor.kill()


def status(runner: JobRunner, key: str, session: str) -> JobStatus:
    found = runner.status(key, session)
    assert found is not None
    return found


def test_a_job_gives_the_rows_of_its_sweep(gate: Gate) -> None:
    runner = JobRunner(gate, MemoryStore())
    key = runner.submit(clear(repetitions=3), "ann")
    assert status(runner, key, "ann").is_live
    gate.open.set()
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and ended.state == "done"
    assert (ended.progress.done, ended.n_rows, ended.progress.remaining) == (3, 3, 0.0)
    rows = runner.rows(key, "ann")
    assert sorted(row["repetition"] for row in rows) == [0, 1, 2]
    assert runner.rows(key, "ann", start=2) == rows[2:]
    assert runner.status("unknown", "ann") is None
    assert runner.rows("unknown", "ann") == []


def test_two_visitors_with_one_configuration_cost_one_computation(gate: Gate) -> None:
    runner = JobRunner(gate)
    first, second = runner.submit(clear(), "ann"), runner.submit(clear(), "bob")
    assert first == second
    assert status(runner, first, "bob").watchers == 2
    gate.open.set()
    assert runner.wait(first, "bob", 60).state == "done"  # type: ignore[union-attr]
    assert len(gate.submitted) == 2
    assert runner.rows(first, "ann") == runner.rows(first, "bob")
    # One that comes later finds it done, as does a page that was reloaded and has a new name.
    assert runner.submit(clear(), "cat") == first
    assert status(runner, first, "cat").state == "done"
    assert len(gate.submitted) == 2


def test_a_job_that_is_done_is_computed_again_for_whoever_says_that_its_rows_are_gone(gate: Gate) -> None:
    runner = JobRunner(gate)
    gate.open.set()
    key = runner.submit(clear(), "ann")
    assert runner.wait(key, "ann", 60).state == "done"  # type: ignore[union-attr]
    gate.open.clear()
    assert runner.submit(clear(), "ann", anew=True) == key
    assert status(runner, key, "ann").is_live
    # One that runs is joined all the same.
    assert runner.submit(clear(), "bob", anew=True) == key
    assert status(runner, key, "bob").watchers == 2
    gate.open.set()
    assert runner.wait(key, "ann", 60).n_rows == 2  # type: ignore[union-attr]
    assert len(gate.submitted) == 4


def test_a_visitor_who_comes_back_finds_what_is_computed_for_them(gate: Gate) -> None:
    runner = JobRunner(gate)
    first, second = runner.submit(clear(), "ann"), runner.submit(clear(seed=1), "bob")
    runner.submit(clear(seed=1), "ann")
    assert [found.key for found in runner.watched("ann")] == [first, second]
    runner.leave(second, "ann")
    assert [found.key for found in runner.watched("ann")] == [first]
    assert [found.key for found in runner.watched("bob")] == [second]
    assert runner.watched("cat") == []


def test_one_visitors_cancel_leaves_the_others_job_running(gate: Gate) -> None:
    runner = JobRunner(gate)
    key = runner.submit(clear(), "ann")
    runner.submit(clear(), "bob")
    runner.leave(key, "ann")
    assert status(runner, key, "bob").state == "running"
    gate.open.set()
    assert runner.wait(key, "bob", 60).state == "done"  # type: ignore[union-attr]


def test_the_last_visitors_cancel_stops_it_and_it_can_be_started_again(workers: LocalExecutor) -> None:
    runner = JobRunner(workers)
    key = runner.submit(clear(repetitions=4000), "ann")
    assert eventually(lambda: status(runner, key, "ann").n_rows > 0)
    runner.leave(key, "ann")
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and ended.state == "cancelled"
    assert 0 < ended.progress.done < 4000
    assert "Cancelled after" in describe(ended)
    assert runner.submit(clear(repetitions=4000), "ann") == key
    assert status(runner, key, "ann").state in ("queued", "running")
    runner.leave(key, "ann")
    runner.wait(key, "ann", 60)


def test_visitors_take_turns_in_the_queue(gate: Gate) -> None:
    runner = JobRunner(gate, max_running=1, max_per_session=3)
    jobs = [("ann", runner.submit(clear(seed), "ann")) for seed in range(3)]
    jobs += [("bob", runner.submit(clear(seed), "bob")) for seed in (10, 11)]
    positions = [status(runner, key, name).position for name, key in jobs]
    # Ann's first runs; then it is Bob's turn, then Ann's, then Bob's, then Ann's.
    assert positions == [0, 2, 4, 1, 3]
    assert describe(status(runner, jobs[4][1], "bob")) == "Waiting: number 3 in the queue."
    gate.open.set()
    assert all(runner.wait(key, name, 60).state == "done" for name, key in jobs)  # type: ignore[union-attr]


def test_a_waiting_job_that_is_cancelled_never_starts(gate: Gate) -> None:
    runner = JobRunner(gate, max_running=1)
    first, second = runner.submit(clear(0), "ann"), runner.submit(clear(1), "bob")
    runner.leave(second, "bob")
    assert status(runner, second, "bob").state == "cancelled"
    gate.open.set()
    runner.wait(first, "ann", 60)
    assert len(gate.submitted) == 2


def test_the_queue_is_bounded(gate: Gate) -> None:
    runner = JobRunner(gate, max_running=1, max_queued=2, max_per_session=2)
    runner.submit(clear(0), "ann")
    runner.submit(clear(1), "ann")
    with pytest.raises(BusyError, match="you have 2 sweeps running or waiting already"):
        runner.submit(clear(2), "ann")
    runner.submit(clear(2), "bob")
    with pytest.raises(BusyError, match="2 sweeps are waiting already"):
        runner.submit(clear(3), "cat")
    # Joining needs no room.
    assert status(runner, runner.submit(clear(2), "cat"), "cat").watchers == 2
    with pytest.raises(ValueError, match=f"of at most {MAX_JOB_RUNS:,}"):
        runner.submit(Sweep(mechanisms=["Clear"], repetitions=10_000, alpha=[1.0, 2.0, 3.0]), "cat")


def test_data_in_memory_are_seen_by_their_session_alone_and_dropped(gate: Gate) -> None:
    runner = JobRunner(gate, MemoryStore())
    train, test = synthetic(shape=(30, 20), ratio=0.5).observations.split(0.8, rng=0)
    private = weakref.ref(train)
    sweep = Sweep(dataset=InMemory(train, test), mechanisms=["Clear"])
    key, other = runner.submit(sweep, "ann"), runner.submit(sweep, "ann")
    assert key != other
    assert runner.status(key, "bob") is None
    assert runner.rows(key, "bob") == []
    runner.leave(key, "bob")
    assert status(runner, key, "ann").is_live
    assert runner.statuses() == []
    gate.open.set()
    for name in (key, other):
        assert runner.wait(name, "ann", 60).state == "done"  # type: ignore[union-attr]
    assert len(runner.rows(key, "ann")) == 1
    gate.submitted.clear()
    del sweep, train, test
    assert eventually(lambda: gc.collect() >= 0 and private() is None)
    runner.leave_all("ann")
    assert runner.status(key, "ann") is None


def test_a_job_that_fails_says_why(gate: Gate) -> None:
    runner = JobRunner(gate)
    sweep = Sweep(mechanisms=[Quick(epsilon=1.0, fault="out of cheese")], epsilons=[1], **SMALL)
    key = runner.submit(sweep, "ann")
    gate.open.set()
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and ended.state == "failed"
    assert "out of cheese" in ended.message
    assert "out of cheese" in describe(ended)


def test_what_nobody_looks_at_is_stopped_and_forgotten(gate: Gate) -> None:
    runner = JobRunner(gate, keep_seconds=0.2)
    key = runner.submit(clear(), "ann")
    gate.open.set()
    assert runner.wait(key, "ann", 60).state == "done"  # type: ignore[union-attr]
    time.sleep(0.3)
    runner.submit(clear(1), "bob")
    assert runner.status(key, "ann") is None
    gate.open.clear()
    left = runner.submit(clear(2, repetitions=50), "ann")
    time.sleep(1.0)
    gate.open.set()
    assert eventually(lambda: (found := runner._jobs.get(left)) is None or found.state == "cancelled")


def test_sweeps_of_two_visitors_advance_together(workers: LocalExecutor) -> None:
    runner = JobRunner(workers)
    long = runner.submit(slow(0.03, count=60), "ann")
    assert eventually(lambda: status(runner, long, "ann").n_rows > 0)
    short = runner.submit(slow(0.03, seed=1, count=3), "bob")
    assert runner.wait(short, "bob", 60).state == "done"  # type: ignore[union-attr]
    assert status(runner, long, "ann").state == "running"
    assert runner.wait(long, "ann", 60).n_rows == 60  # type: ignore[union-attr]


def private() -> Sweep:
    train, test = synthetic(shape=(30, 20), ratio=0.5).observations.split(0.8, rng=0)
    return Sweep(dataset=InMemory(train, test), mechanisms=["Clear"])


def test_of_a_visitor_who_is_gone_for_good_only_what_is_public_is_kept(gate: Gate) -> None:
    runner = JobRunner(gate, away_seconds=0.2)
    gate.open.set()
    own, public = runner.submit(private(), "ann"), runner.submit(clear(), "ann")
    assert runner.wait(own, "ann", 60).state == "done"  # type: ignore[union-attr]
    assert runner.wait(public, "ann", 60).state == "done"  # type: ignore[union-attr]
    runner.depart("ann")
    runner.arrive("bob")
    assert status(runner, own, "ann").n_rows == 1
    runner.arrive("ann")
    time.sleep(0.3)
    runner.arrive("bob")
    assert status(runner, own, "ann").n_rows == 1
    runner.depart("ann")
    time.sleep(0.3)
    runner.arrive("bob")
    assert runner.status(own, "ann") is None
    assert status(runner, public, "ann").state == "done"


def test_what_is_computed_of_private_data_ends_with_its_visitor(gate: Gate) -> None:
    runner = JobRunner(gate, max_running=1, away_seconds=0.0)
    first = runner.submit(clear(), "bob")
    own = runner.submit(private(), "ann")
    call = runner.call("ann", None, pow, 2, 3)
    runner.depart("ann")
    time.sleep(0.01)
    runner.arrive("bob")
    assert runner.status(own, "ann") is None
    assert call.key not in runner._calls
    gate.open.set()
    assert runner.wait(first, "bob", 60).state == "done"  # type: ignore[union-attr]


def test_rows_of_ended_jobs_are_kept_within_bounds_the_private_longest(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_KEPT_ROWS", 5)
    runner = JobRunner(gate, MemoryStore())
    gate.open.set()
    own = runner.submit(private(), "ann")
    assert runner.wait(own, "ann", 60).state == "done"  # type: ignore[union-attr]
    keys = []
    for seed in range(4):
        keys.append(runner.submit(clear(seed), "ann"))
        assert runner.wait(keys[-1], "ann", 60).state == "done"  # type: ignore[union-attr]
    assert [runner.status(key, "ann") is None for key in keys] == [True, True, False, False]
    assert status(runner, own, "ann").n_rows == 1
    # What went is in the store and there again at once.
    again = runner.wait(runner.submit(clear(0), "ann"), "ann", 60)
    assert again is not None and again.progress.cached == 2


# Faults ---------------------------------------------------------------------------------------------------------------


def spoil(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be looked at " * 100)


def lock(path: Path) -> None:
    Store(path).find([])
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    _held.append(other)


def replace_by_folder(path: Path) -> None:
    path.mkdir()


_held: list[sqlite3.Connection] = []


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (spoil, "is damaged or is no results store: move it away and a new one is made."),
        (lock, "is locked by another program"),
        (replace_by_folder, "cannot be written: change its permissions"),
    ],
)
@pytest.mark.filterwarnings("ignore::obmc.experiments.StoreWarning")
def test_a_store_that_fails_costs_no_result(gate: Gate, tmp_path: Path, fault: object, sentence: str) -> None:
    path = tmp_path / "results.sqlite3"
    fault(path)  # type: ignore[operator]
    gate.open.set()
    runner = JobRunner(gate, Store(path, patience=0.05))
    key = runner.submit(clear(repetitions=3), "ann")
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and (ended.state, ended.n_rows) == ("done", 3)
    assert sentence in ended.message
    while _held:
        _held.pop().close()


def test_a_job_goes_on_when_its_worker_is_killed_and_fails_with_a_sentence_when_all_are(
    workers: LocalExecutor, tmp_path: Path
) -> None:
    runner = JobRunner(workers)
    hurt = Sweep(mechanisms=[Quick(epsilon=1.0, die_once=str(tmp_path / "died"))], epsilons=[1, 2, 3], **SMALL)
    key = runner.submit(hurt, "ann")
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and (ended.state, ended.n_rows) == ("done", 3)
    assert (tmp_path / "died").exists()
    key = runner.submit(Sweep(mechanisms=[Quick(epsilon=1.0, die=True)], epsilons=[1], **SMALL), "ann")
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and ended.state == "failed"
    assert describe(ended).startswith("Stopped after 0 of 1 runs: a worker process ended by SIGKILL in the middle")
    assert runner.call("ann", "next", pow, 2, 3).result() == 8


def test_a_clock_that_jumps_changes_nothing(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    days = iter(range(10**6))
    monkeypatch.setattr(time, "time", lambda: 1e9 + 86_400.0 * (-1) ** (day := next(days)) * day)
    runner = JobRunner(gate, MemoryStore(), keep_seconds=60.0)
    gate.open.set()
    key = runner.submit(clear(repetitions=5), "ann")
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and (ended.state, ended.n_rows) == ("done", 5)
    assert 0.0 <= ended.progress.seconds < 60.0
    runner.submit(clear(1), "bob")
    assert status(runner, key, "ann").state == "done"


def test_an_error_of_the_program_over_private_data_stays_out_of_the_log(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Iterator[object]:
        raise KeyError("the title of a film")
        yield

    logged: list[object] = []
    monkeypatch.setattr(threading, "excepthook", logged.append)
    monkeypatch.setattr(jobs, "run", broken)
    runner = JobRunner(gate)
    own = runner.submit(private(), "ann")
    ended = runner.wait(own, "ann", 60)
    assert ended is not None and ended.state == "failed" and "film" in ended.message
    public = runner.submit(clear(), "ann")
    runner.wait(public, "ann", 60)
    assert eventually(lambda: len(logged) == 1)


# Single calls ---------------------------------------------------------------------------------------------------------


def test_equal_calls_are_made_once_and_kept(workers: LocalExecutor) -> None:
    runner = JobRunner(workers)
    first = runner.call("ann", "key", process_id)
    second = runner.call("bob", "key", process_id)
    assert first is second
    assert first.ready(60)
    assert runner.call("cat", "key", process_id) is first
    assert first.result() != 0
    private = runner.call("ann", None, pow, 2, 3)
    assert private.key != runner.call("ann", None, pow, 2, 3).key
    assert private.ready(60) and private.result() == 8
    assert eventually(lambda: private.key not in runner._calls)


def test_calls_are_bounded_for_each_visitor_and_for_all(gate: Gate) -> None:
    runner = JobRunner(gate, max_calls=3, max_calls_per_session=2)
    runner.call("ann", "1", pow, 2, 1)
    runner.call("ann", None, pow, 2, 2)
    with pytest.raises(BusyError, match="you have too many computations waiting already"):
        runner.call("ann", "3", pow, 2, 3)
    runner.call("bob", "3", pow, 2, 3)
    with pytest.raises(BusyError, match="3 computations are waiting already"):
        runner.call("cat", "4", pow, 2, 4)
    assert runner.call("cat", "3", pow, 2, 3).key == "3"
    gate.open.set()
    assert eventually(lambda: runner.call("cat", "3", pow, 2, 3).ready() and len(runner._calls) == 2)
    assert runner.call("cat", "4", pow, 2, 4).result() == 16


def test_results_of_calls_are_kept_within_a_number_and_a_size(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_KEPT_BYTES", 3_000_000)
    runner = JobRunner(gate)
    gate.open.set()
    for count in range(5):
        assert runner.call("ann", f"{count}", np.zeros, 125_000).ready(60)
    assert eventually(lambda: list(runner._calls) == ["3", "4"])
    # What is asked for again is younger than what was not.
    runner.call("bob", "3", np.zeros, 125_000)
    assert runner.call("ann", "5", np.zeros, 125_000).ready(60)
    assert eventually(lambda: list(runner._calls) == ["3", "5"])
    monkeypatch.setattr(jobs, "MAX_KEPT_CALLS", 1)
    assert runner.call("ann", "6", pow, 2, 3).ready(60)
    assert eventually(lambda: list(runner._calls) == ["6"])


def test_a_call_that_is_replaced_is_stopped_unless_another_waits_for_it(workers: LocalExecutor) -> None:
    runner = JobRunner(workers)
    first = runner.call("ann", "first", pause, 300.0)
    assert eventually(first.future.running)
    assert not first.ready(0.05)
    second = runner.call("ann", "second", pow, 2, 3, replaces="first")
    assert second.ready(60) and second.result() == 8
    assert first.ready(60) and first.cancelled and not second.cancelled
    shared = runner.call("ann", "shared", pause, 0.3, 5)
    runner.call("bob", "shared", pause, 0.3, 5)
    runner.call("ann", "third", pow, 2, 3, replaces="shared")
    assert shared.ready(60) and shared.result() == 5


def test_calls_go_before_the_tasks_of_sweeps(workers: LocalExecutor) -> None:
    runner = JobRunner(workers)
    key = runner.submit(slow(0.05, seed=7, count=100), "ann")
    assert eventually(lambda: status(runner, key, "ann").n_rows > 0)
    call = runner.call("bob", "quick", pow, 2, 3)
    assert call.ready(60)
    assert status(runner, key, "ann").n_rows < 100
    runner.leave(key, "ann")


def test_a_call_that_fails_raises_and_is_not_kept(workers: LocalExecutor) -> None:
    runner = JobRunner(workers)
    call = runner.call("ann", "bad", int, "x")
    with pytest.raises(ValueError, match="invalid literal"):
        call.result()
    assert eventually(lambda: "bad" not in runner._calls)


def test_a_closed_runner_stops_its_jobs_and_takes_nothing_more() -> None:
    runner = JobRunner(LocalExecutor(1))
    key = runner.submit(slow(), "ann")
    runner.close()
    ended = runner.wait(key, "ann", 60)
    assert ended is not None and ended.state == "cancelled"
    with pytest.raises(BusyError, match="closed"):
        runner.submit(clear(), "bob")


def test_times_and_sentences() -> None:
    assert [duration(seconds) for seconds in (0.0, 0.34, 4.2, 12.3, 59.4, 61.0, 3599.0, 7500.0)] == [
        "0 s",
        "0.3 s",
        "4 s",
        "12 s",
        "59 s",
        "1 min",
        "1 h 0 min",
        "2 h 5 min",
    ]
    running = JobStatus("k", "running", Progress(5, 20, remaining=90.0), 5, 0, 1, "")
    assert describe(running) == "5 of 20 runs, about 2 min left."
    unknown = JobStatus("k", "running", Progress(0, 2000), 0, 0, 1, "")
    assert describe(unknown) == "0 of 2,000 runs."
    done = JobStatus("k", "done", Progress(20, 20, seconds=3.0), 20, 0, 1, "")
    assert describe(done) == "Done: 20 runs in 3 s."


def test_nothing_of_a_user_interface_is_loaded() -> None:
    import subprocess
    import sys

    code = "import sys, obmc.experiments.jobs; sys.exit('streamlit' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, timeout=120).returncode == 0
