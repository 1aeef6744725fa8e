"""Where runs are computed: worker processes on this machine, or an existing Dask cluster.

Both are ``concurrent.futures.Executor``; anything else that is one will do as well.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from importlib import import_module
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import obmc
from obmc.errors import check_integer
from obmc.experiments import worker

# Two threads of BLAS per process on a busy machine make singular value decompositions 10 to 20 times slower.
_ONE_THREAD = dict.fromkeys(
    (
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
_ATTEMPTS = 2
# Urgent tasks done one after the other while others wait; then one of these has its turn.
_URGENT_IN_A_ROW = 8
# How long a Dask scheduler may take to answer.
CONNECT_SECONDS = 10.0


class StoppedError(RuntimeError):
    """The task was stopped while it ran."""


class WorkerDiedError(ChildProcessError):
    """A worker process ended in the middle of a task, twice in a row; the message says how."""


class NoWorkerError(ChildProcessError):
    """No worker process can be started, so that the task was never begun; the message says why."""


class WorkersGoneError(ConnectionError):
    """The executor was shut down, or its scheduler was lost, before the work was done."""


class UnreachableError(OSError):
    """A Dask scheduler that does not answer; the message names its address."""


class _Task:
    """A call that waits for a worker."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload
        self.future: Future[Any] = Future()
        self.process: subprocess.Popen[bytes] | None = None
        self.stopped = False


class LocalExecutor(Executor):
    """Worker processes on this machine, each with BLAS at one thread.

    Workers are started when there is work for them, import neither the parent's entry point nor ask for a
    ``__main__`` guard, and end with the parent however it ends: at once when it exits or is killed. A worker that dies
    is replaced and its task is tried once more; then its future raises ``WorkerDiedError``, or
    ``NoWorkerError`` where no worker could even be started.

    Tasks of one lane run in the order of submission; the lanes take turns, so a lane with much to do does not keep
    another waiting. Urgent lanes go first, but however much they have to do, of nine tasks one is another's. Everything
    is thread-safe.

    Parameters
    ----------
    max_workers
        Number of processes, from 1 to 256; by default that of the CPUs this process may use.
    """

    def __init__(self, max_workers: int | None = None) -> None:
        count = usable_cpus() if max_workers is None else max_workers
        self._max_workers = check_integer("max_workers", count, low=1, high=256)
        self._lock = threading.Condition()
        self._lanes: tuple[OrderedDict[str, deque[_Task]], ...] = (OrderedDict(), OrderedDict())
        self._running: dict[Future[Any], _Task] = {}
        self._threads: list[threading.Thread] = []
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._idle = 0
        self._urgent_in_a_row = 0
        self._closed = False
        self._killed = threading.Event()
        # At the interpreter's exit, when the daemon threads can no longer tidy up.
        weakref.finalize(self, _kill_all, self._processes, self._killed)

    @property
    def max_workers(self) -> int:
        """The number of processes."""
        return self._max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call ``fn(*args, **kwargs)`` in a worker; function, arguments and result must be picklable."""
        return self.submit_to("", False, fn, args, kwargs)

    def submit_to(
        self, lane: str, urgent: bool, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Future[Any]:
        """As ``submit``, in a lane of that name.

        Raises ``ValueError`` naming the argument that is out of its range.
        """
        task = _Task(pickle.dumps((fn, args, kwargs), protocol=pickle.HIGHEST_PROTOCOL))
        with self._lock:
            if self._closed:
                raise RuntimeError("the executor has been shut down: it takes no more work.")
            self._lanes[0 if urgent else 1].setdefault(lane, deque()).append(task)
            waiting = sum(len(tasks) for lanes in self._lanes for tasks in lanes.values())
            if waiting > self._idle and len(self._threads) < self._max_workers:
                self._start_thread()
            self._lock.notify()
        return task.future

    def lane(self, name: str, urgent: bool = False) -> Lane:
        """An executor that shares these workers fairly with the other lanes."""
        return Lane(self, name, urgent)

    def warm_up(self) -> list[Future[Any]]:
        """Start all workers now and let them import the package; the futures are done when they are ready."""
        with self._lock:
            while len(self._threads) < self._max_workers and not self._closed:
                self._start_thread()
        return [self.submit_to(f"warm up {k}", False, import_package, (), {}) for k in range(self._max_workers)]

    def stop(self, future: Future[Any]) -> None:
        """Cancel a future even if it is running: its worker is killed and replaced, and the future is cancelled."""
        if future.cancel():
            return
        with self._lock:
            task = self._running.get(future)
            if task is not None:
                task.stopped = True
                if task.process is not None:
                    task.process.kill()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; with ``cancel_futures`` drop what has not started, without ``wait`` do not wait."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                for lanes in self._lanes:
                    for tasks in lanes.values():
                        for task in tasks:
                            task.future.cancel()
                    lanes.clear()
            self._lock.notify_all()
            threads = list(self._threads)
        if wait:
            for thread in threads:
                thread.join()

    def kill(self) -> None:
        """End all workers at once; what was waiting or running is cancelled."""
        self.shutdown(wait=False, cancel_futures=True)
        _kill_all(self._processes, self._killed)
        for thread in list(self._threads):
            thread.join()

    # The threads, one for each worker -----------------------------------------------------------------------------

    def _start_thread(self) -> None:
        # Daemon threads: a task that runs must not keep the parent from exiting.
        thread = threading.Thread(target=self._serve, name="obmc-worker", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        try:
            while (task := self._next()) is not None:
                if task.future.set_running_or_notify_cancel():
                    process = self._work(task, process)
                with self._lock:
                    del self._running[task.future]
        finally:
            self._end(process)

    def _next(self) -> _Task | None:
        """The next task by turns, waiting for one; None when the executor is shut down and nothing is left."""
        with self._lock:
            while True:
                lanes = self._next_lanes()
                if lanes:
                    name, tasks = next(iter(lanes.items()))
                    task = tasks.popleft()
                    # Before the future says that it runs, so that there is no moment when it cannot be stopped.
                    self._running[task.future] = task
                    if tasks:
                        lanes.move_to_end(name)
                    else:
                        del lanes[name]
                    return task
                if self._closed:
                    return None
                self._idle += 1
                self._lock.wait()
                self._idle -= 1

    def _next_lanes(self) -> OrderedDict[str, deque[_Task]]:
        urgent, others = self._lanes
        if urgent and not (others and self._urgent_in_a_row >= _URGENT_IN_A_ROW):
            self._urgent_in_a_row += 1
            return urgent
        self._urgent_in_a_row = 0
        return others

    def _work(self, task: _Task, process: subprocess.Popen[bytes] | None) -> subprocess.Popen[bytes] | None:
        """Have the task done; returns the worker for the next one."""
        ended = ""
        for _ in range(_ATTEMPTS):
            if process is None or process.poll() is not None:
                self._end(process)
                try:
                    process = self._start()
                except OSError as error:
                    message = f"no worker process can be started ({error.strerror}): try again later."
                    # Where one has died of the task before, it was begun all the same.
                    kind = WorkerDiedError if ended else NoWorkerError
                    task.future.set_exception(kind(message))
                    return None
            with self._lock:
                task.process = process
                stopped = task.stopped
            found = None if stopped else _exchange(process, task.payload)
            with self._lock:
                task.process = None
                stopped = task.stopped or self._killed.is_set()
            if found is not None:
                self._deliver(task, found)
                return process
            if stopped:
                # A future that runs cannot be cancelled; who waits for it learns of it as an exception.
                task.future.set_exception(StoppedError("the task was stopped while it ran."))
                self._end(process)
                return None
            ended = worker.describe(_reap(process))
        message = f"a worker process ended {ended} in the middle of a task, and so did its replacement."
        task.future.set_exception(WorkerDiedError(message))
        return process

    @staticmethod
    def _deliver(task: _Task, found: bytes) -> None:
        try:
            worked, value, text = pickle.loads(found)
        except Exception as error:
            task.future.set_exception(error)
            return
        if worked:
            task.future.set_result(value)
        else:
            value.add_note(f"In the worker process:\n{text}")
            task.future.set_exception(value)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            # By its file, since by its module name Python would import the package, and numpy with it, first.
            [sys.executable, "-P", worker.__file__],
            # Unbuffered: a buffer's lock, held by a daemon thread that waits, stops the interpreter from exiting.
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | _ONE_THREAD,
            # An interrupt at the terminal goes to the parent's group.
            process_group=0 if os.name == "posix" else None,
        )
        with self._lock:
            self._processes.add(process)
            if self._killed.is_set():
                process.kill()
        root = str(Path(obmc.__file__).resolve().parent.parent)
        folders = [os.path.abspath(folder) for folder in sys.path]
        with contextlib.suppress(OSError):
            worker.send(_pipe(process.stdin), pickle.dumps([*folders, root] if root not in folders else folders))
        return process

    def _end(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is None:
            return
        with self._lock:
            self._processes.discard(process)
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()


class Lane(Executor):
    """A share of a ``LocalExecutor``: its tasks take turns with those of the other lanes."""

    def __init__(self, workers: LocalExecutor, name: str, urgent: bool) -> None:
        self._workers = workers
        self._name = name
        self._urgent = urgent

    @property
    def max_workers(self) -> int:
        """The number of processes that the lanes share."""
        return self._workers.max_workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """As ``LocalExecutor.submit``."""
        return self._workers.submit_to(self._name, self._urgent, fn, args, kwargs)

    def stop(self, future: Future[Any]) -> None:
        """As ``LocalExecutor.stop``."""
        self._workers.stop(future)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Nothing: the workers belong to the executor that the lane is a part of."""


def usable_cpus() -> int:
    """The number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def parallelism(executor: Executor) -> int:
    """How many tasks the executor works on at a time, as far as it says."""
    if isinstance(executor, LocalExecutor | Lane):
        return executor.max_workers
    client = getattr(executor, "_client", None)
    if client is not None:
        return max(sum(client.nthreads().values()), 1)
    return int(getattr(executor, "_max_workers", None) or usable_cpus())


def stop_future(executor: Executor, future: Future[Any]) -> None:
    """Cancel a future, a running one too where the executor can."""
    if isinstance(executor, LocalExecutor | Lane):
        executor.stop(future)
    else:
        future.cancel()


@contextlib.contextmanager
def open_executor(workers: int | None = None, dask: str | None = None) -> Iterator[Executor]:
    """The executor of a command: local processes, or the Dask cluster at ``dask`` (default: ``OBMC_DASK``).

    ``ValueError`` where Dask is asked for and not installed, ``UnreachableError`` where its scheduler does not answer.
    """
    cluster = open_cluster(dask)
    if cluster is not None:
        try:
            yield cluster
        finally:
            close_cluster(cluster)
        return
    executor = LocalExecutor(workers)
    try:
        yield executor
    finally:
        executor.kill()


def open_cluster(address: str | None = None) -> Executor | None:
    """The Dask cluster of the scheduler at this address (default: ``OBMC_DASK``); None where none is named.

    Raises as ``open_executor``.
    """
    address = address or os.environ.get("OBMC_DASK")
    return _dask_client(address).get_executor(retries=_ATTEMPTS) if address else None


def close_cluster(cluster: Executor) -> None:
    """Leave the cluster; it goes on without this process."""
    client = getattr(cluster, "_client", None)
    if client is not None:
        client.close()


def import_package() -> None:
    """What a worker does to be ready: import all that a run needs."""
    import obmc.experiments.runner  # noqa: F401


def _dask_client(address: str) -> Any:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise ValueError(
            f"OBMC_DASK or --dask names the scheduler {address}, but Dask is not installed: pip install distributed."
        ) from None
    try:
        return distributed.Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise UnreachableError(
            f"the Dask scheduler at {address} does not answer ({error}): start it, or correct OBMC_DASK or --dask."
        ) from None


def _exchange(process: subprocess.Popen[bytes], payload: bytes) -> bytes | None:
    """Send a call and wait for its answer; None if the worker died."""
    try:
        worker.send(_pipe(process.stdin), payload)
        return worker.receive(_pipe(process.stdout))
    except (OSError, MemoryError):
        return None


def _pipe(stream: IO[bytes] | None) -> BinaryIO:
    return cast(BinaryIO, stream)


def _reap(process: subprocess.Popen[bytes]) -> int:
    """The exit code of a worker that has closed its pipe."""
    try:
        return process.wait(timeout=1.0)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _kill_all(processes: set[subprocess.Popen[bytes]], killed: threading.Event) -> None:
    killed.set()
    for process in list(processes):
        process.kill()
