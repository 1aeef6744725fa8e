"""Local workers: what they compute, how they end, and that nothing of them outlives the parent."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest
from helpers import eventually
from worker_tasks import (
    Unpicklable,
    blas_threads,
    die,
    die_once,
    fail,
    fail_unpicklably,
    pause,
    process_id,
    say,
)

from obmc.experiments.executors import (
    LocalExecutor,
    NoWorkerError,
    StoppedError,
    UnreachableError,
    WorkerDiedError,
    open_executor,
    parallelism,
    stop_future,
)
from obmc.experiments.worker import NICE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pair() -> Iterator[LocalExecutor]:
    """Two workers that the tests of this module share."""
    executor = LocalExecutor(2)
    yield executor
    executor.kill()


def alive(pid: int) -> bool:
    """Whether a process runs (a zombie, which only waits to be collected, does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_results_come_back_in_their_futures(pair: LocalExecutor) -> None:
    futures = [pair.submit(pow, base, 2) for base in range(50)]
    assert [future.result(60) for future in futures] == [base**2 for base in range(50)]
    assert list(pair.map(abs, [-1, 2])) == [1, 2]


def test_work_is_done_in_other_processes_with_one_blas_thread(pair: LocalExecutor) -> None:
    wait([pair.submit(pause, 0.3) for _ in range(2)])
    pids = {future.result(60) for future in [pair.submit(process_id) for _ in range(20)]}
    assert os.getpid() not in pids
    assert len(pids) <= 2
    assert set(pair.submit(blas_threads).result(60)) == {1}


def test_workers_leave_the_processors_to_everybody_else_first(pair: LocalExecutor) -> None:
    assert pair.submit(os.nice, 0).result() == min(os.nice(0) + NICE, 19)


def test_both_workers_work(pair: LocalExecutor) -> None:
    wait(pair.warm_up())
    futures = [pair.submit(pause, 0.3) for _ in range(2)]
    assert eventually(lambda: all(future.running() for future in futures))
    wait(futures)


def test_errors_come_back_with_the_workers_traceback(pair: LocalExecutor) -> None:
    with pytest.raises(ValueError, match=r"^rank must be smaller\.\n") as caught:
        pair.submit(fail).result(60)
    assert "in fail" in caught.value.__notes__[0]


def test_what_cannot_be_pickled_is_an_error_and_not_the_end(pair: LocalExecutor) -> None:
    with pytest.raises(Exception, match="pickle"):
        pair.submit(lambda: 1)
    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2"):
        pair.submit(fail_unpicklably).result(60)
    with pytest.raises(Exception, match="pickle"):
        pair.submit(threading.Lock).result(60)
    assert Unpicklable(1, 2).args == ("1 and 2",)
    assert pair.submit(pow, 2, 3).result(60) == 8


def test_what_a_task_prints_stays_out_of_the_messages(pair: LocalExecutor, capfd: pytest.CaptureFixture[str]) -> None:
    assert pair.submit(say, "x" * 10_000).result(60) == "x" * 10_000
    assert capfd.readouterr().out == ""


def test_large_messages_arrive_whole(pair: LocalExecutor) -> None:
    block = os.urandom(20_000_000)
    assert pair.submit(bytes.__add__, block, b"end").result(60) == block + b"end"


def test_a_killed_worker_is_replaced_and_its_task_tried_once_more(pair: LocalExecutor, tmp_path: Path) -> None:
    first = {future.result(60) for future in [pair.submit(process_id) for _ in range(10)]}
    survivor = pair.submit(die_once, str(tmp_path / "died")).result(60)
    assert survivor not in first
    with pytest.raises(WorkerDiedError, match="by SIGKILL"):
        pair.submit(die).result(60)
    assert pair.submit(pow, 2, 3).result(60) == 8


def test_a_running_task_can_be_stopped(pair: LocalExecutor) -> None:
    future = pair.submit(pause, 300.0)
    assert eventually(future.running)
    waiting = [pair.submit(pause, 300.0) for _ in range(3)]
    stop_future(pair, future)
    with pytest.raises(StoppedError):
        future.result(30)
    for other in waiting:
        stop_future(pair, other)
    wait(waiting, timeout=30)
    assert all(other.done() for other in waiting)
    assert pair.submit(pow, 2, 3).result(60) == 8


def test_lanes_take_turns_and_urgent_ones_go_first() -> None:
    with LocalExecutor(1) as executor:
        started = executor.submit(pause, 0.5)
        assert eventually(started.running)
        order: list[str] = []
        futures = []
        for name, count in (("a", 4), ("b", 2)):
            for _ in range(count):
                futures.append(executor.lane(name).submit(pow, 1, 1))
                futures[-1].add_done_callback(lambda _, name=name: order.append(name))
        futures.append(executor.lane("c", urgent=True).submit(pow, 1, 1))
        futures[-1].add_done_callback(lambda _: order.append("c"))
        wait(futures)
    assert order == ["c", "a", "b", "a", "b", "a", "a"]


def test_urgent_lanes_leave_the_others_a_turn() -> None:
    with LocalExecutor(1) as executor:
        started = executor.submit(pause, 0.5)
        assert eventually(started.running)
        order: list[str] = []
        futures = []
        for name, count, urgent in (("sweep", 2, False), ("sliders", 20, True)):
            for _ in range(count):
                futures.append(executor.lane(name, urgent).submit(pow, 1, 1))
                futures[-1].add_done_callback(lambda _, name=name: order.append(name))
        wait(futures)
    assert order == [*["sliders"] * 8, "sweep", *["sliders"] * 8, "sweep", *["sliders"] * 4]


def test_a_worker_that_cannot_be_started_is_said_to_whoever_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    with LocalExecutor(1) as executor:
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", refuse)
            with pytest.raises(NoWorkerError, match=r"can be started \(Resource temporarily unavailable\)"):
                executor.submit(pow, 2, 3).result(60)
        assert executor.submit(pow, 2, 3).result(60) == 8


def test_shutdown_finishes_what_was_submitted_and_takes_no_more() -> None:
    with LocalExecutor(1) as executor:
        futures = [executor.submit(pause, 0.01, value) for value in range(5)]
    assert [future.result(0) for future in futures] == list(range(5))
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(pow, 1, 1)


def test_kill_ends_workers_in_the_middle_of_their_work() -> None:
    executor = LocalExecutor(1)
    pid = executor.submit(process_id).result(60)
    running, waiting = executor.submit(pause, 300.0), executor.submit(pause, 300.0)
    assert eventually(running.running)
    executor.kill()
    assert waiting.cancelled()
    assert isinstance(running.exception(0), StoppedError)
    assert eventually(lambda: not alive(pid))


def test_the_number_of_workers_is_checked() -> None:
    with pytest.raises(ValueError, match="max_workers must be a whole number from 1 to 256"):
        LocalExecutor(0)
    assert parallelism(LocalExecutor(3).lane("x")) == 3


# A parent that says which workers it has and then does not end by itself. No guard: nothing may import it again.
PARENT = """
import os, time
from obmc.experiments.executors import LocalExecutor
executor = LocalExecutor(2)
pids = set()
while len(pids) < 2:
    pids |= {future.result() for future in [executor.submit(os.getpid) for _ in range(8)]}
busy = [executor.submit(time.sleep, 300.0) for _ in range(6)]
print(*pids, flush=True)
"""


@contextlib.contextmanager
def parent(ending: str) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    # Where the tests themselves run in the background of a shell, an interrupt would be ignored in the child too.
    heeding = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT + ending], stdout=subprocess.PIPE, text=True, cwd=ROOT, preexec_fn=heeding
    )
    try:
        assert process.stdout is not None
        yield process, [int(pid) for pid in process.stdout.readline().split()]
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_worker_outlives_a_parent_that_is_killed_while_all_are_busy(how: signal.Signals) -> None:
    with parent("time.sleep(300)") as (process, pids):
        assert len(pids) == 2
        assert all(alive(pid) for pid in pids)
        process.send_signal(how)
        assert process.wait(timeout=30) != 0
        assert eventually(lambda: not any(alive(pid) for pid in pids))


def test_a_parent_that_ends_by_itself_does_not_wait_for_its_workers() -> None:
    with parent("pass") as (process, pids):
        assert process.wait(timeout=30) == 0
        assert eventually(lambda: not any(alive(pid) for pid in pids))


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setenv("OBMC_DASK", "tcp://127.0.0.1:9")
    monkeypatch.setattr("obmc.experiments.executors.CONNECT_SECONDS", 0.5)
    with pytest.raises(UnreachableError, match=r"scheduler at tcp://127\.0\.0\.1:9 does not answer"), open_executor():
        pass


def test_dask_that_is_not_installed_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match="Dask is not installed"), open_executor(dask="tcp://127.0.0.1:9"):
        pass
