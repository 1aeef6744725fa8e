"""How a sweep is computed: the one runner of every page and command."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np
from threadpoolctl import ThreadpoolController

from obmc.errors import ReleaseFailed
from obmc.experiments.draws import Draw, find_draw
from obmc.experiments.executors import StoppedError, WorkersGoneError, open_executor, parallelism, stop_future
from obmc.experiments.measures import MEASURES
from obmc.experiments.mechanisms import CLEAR_SOLUTION, MAJORITY, MechanismSpec
from obmc.experiments.outcomes import Outcome, OutcomeStore, Refusal, StoreError, StoreWarning
from obmc.experiments.sweep import FIELDS, InMemory, Point, Row, Sweep
from obmc.mechanisms.base import SolverOptions
from obmc.solvers import complete
from obmc.solvers.completion import Completion, DenseEstimate

# How long the caller of `run` hears nothing: each time a callback may stop the sweep.
HEARTBEAT_SECONDS = 0.25
# Up to this many entries of the matrix, the runs that share a solve without privacy are one task; above, a run takes
# so much longer than that solve that each is a task of its own and a worker keeps the solution for the next.
_GROUP_ENTRIES = 50_000
# Tasks handed out ahead of the workers: enough that none waits, few enough that another sweep gets its turn.
_AHEAD = 2
_GRACE_SECONDS = 0.5


@dataclass(frozen=True)
class Refused:
    """A mechanism that refuses to run at an epsilon, with its reason; as a text, one sentence."""

    spec: MechanismSpec
    epsilon: float
    reason: str

    def __str__(self) -> str:
        return f"{self.spec.label} at epsilon = {self.epsilon:g}: {self.reason}"


@dataclass(frozen=True)
class Progress:
    """How far a sweep is.

    Attributes
    ----------
    done, total
        Runs, those found in the store and the refused ones included.
    cached
        Runs found in the store.
    seconds, remaining
        Since the start, and expected until the end (nan before anything is known), wall-clock seconds.
    refused
        Each kind of run that its mechanism refuses, once.
    note
        What the user should know, such as a store that could not be used; "" for nothing.
    """

    done: int
    total: int
    cached: int = 0
    seconds: float = 0.0
    remaining: float = math.nan
    refused: tuple[Refused, ...] = ()
    note: str = ""

    @property
    def share(self) -> float:
        """From 0 to 1."""
        return self.done / self.total if self.total else 1.0

    def refuses(self, point: Point) -> bool:
        """Whether runs of this mechanism at this epsilon were refused."""
        return any((found.spec, found.epsilon) == (point.spec, point.epsilon) for found in self.refused)


Callback = Callable[[Progress], bool | None]


def run(
    sweep: Sweep,
    executor: Executor | None = None,
    store: OutcomeStore | None = None,
    callback: Callback | None = None,
) -> Iterator[Row]:
    """Compute a sweep and yield its rows as runs finish: one row for each run and metric, those in the store first.

    The rows do not depend on the executor, on the number of its workers or on the order in which runs finish, except
    for their order and their seconds.

    Parameters
    ----------
    sweep
        What to compute.
    executor
        Any ``concurrent.futures.Executor``. None: worker processes on this machine, ended afterwards; or the Dask
        cluster that ``OBMC_DASK`` names.
    store
        Where outcomes are looked up first and kept as each task finishes; None for nowhere. Nothing that comes from
        data in memory or from a mechanism of one's own is ever kept. A store that fails is left out from there on: a
        ``StoreWarning``, and a note in the progress.
    callback
        Called with a ``Progress`` after each finished task and several times a second in between; returning False
        stops the sweep, and what is not finished is dropped.

    Raises
    ------
    DataNotFoundError
        If the data set is not on this machine.
    ValueError, WorkerDiedError, NoWorkerError
        If a run fails; all rows before it have been yielded and kept.
    WorkersGoneError
        If the executor is shut down, or a cluster's scheduler is lost, before the sweep is done.

    A run that its mechanism refuses (such as an epsilon too small for a calibration) gives no row and no error; the
    progress lists the reasons.
    """
    return _Running(sweep, store, callback).rows(executor)


class _Running:
    """One sweep in the course of its computation."""

    def __init__(self, sweep: Sweep, store: OutcomeStore | None, callback: Callback | None) -> None:
        self.sweep = sweep
        self.store = store if sweep.is_stored else None
        self.callback = callback
        self.started = time.perf_counter()
        self.total = len(sweep)
        self.done = 0
        self.cached = 0
        self.refused: dict[Refused, None] = {}
        self.note = ""
        self.left: dict[str, int] = {}
        self.spent: dict[str, tuple[int, float]] = {}
        self.computing = math.nan
        self.parallel = 1

    def rows(self, executor: Executor | None) -> Iterator[Row]:
        points = list(self.sweep.points())
        found = self._look_up(points)
        missing = []
        for point in points:
            outcome = found.get(point)
            if outcome is None:
                missing.append(point)
                continue
            self.done += 1
            self.cached += 1
            yield from make_rows(point, outcome, self.sweep.metrics)
        tasks = deque(group(missing))
        if self._stopped() or not tasks:
            return
        for point in missing:
            self.left[point.spec.label] = self.left.get(point.spec.label, 0) + 1
        with contextlib.ExitStack() as stack:
            pool = stack.enter_context(open_executor()) if executor is None else executor
            self.parallel = parallelism(pool)
            yield from self._compute(tasks, pool)

    def _compute(self, tasks: deque[tuple[Point, ...]], pool: Executor) -> Iterator[Row]:
        flight: dict[Future[Any], tuple[Point, ...]] = {}
        self.computing = time.perf_counter()
        try:
            while tasks or flight:
                while tasks and len(flight) < _AHEAD * self.parallel:
                    task = tasks.popleft()
                    try:
                        future = pool.submit(run_points, task, self.sweep.metrics)
                    except RuntimeError as error:
                        raise self._workers_gone() from error
                    flight[future] = task
                finished, _ = wait(flight, timeout=HEARTBEAT_SECONDS, return_when=FIRST_COMPLETED)
                for future in [future for future in flight if future in finished]:
                    task = flight.pop(future)
                    try:
                        results = future.result()
                    except (CancelledError, StoppedError, BrokenExecutor) as error:
                        raise self._workers_gone() from error
                    yield from self._accept(task, results)
                if self._stopped():
                    return
        finally:
            _drop(flight, pool)

    def _workers_gone(self) -> WorkersGoneError:
        return WorkersGoneError(
            f"the workers were stopped or lost after {self.done:,} of {self.total:,} runs: "
            "start it again to go on from there."
        )

    def _accept(self, task: tuple[Point, ...], results: list[Outcome | Refusal]) -> Iterator[Row]:
        finished = []
        for point, result in zip(task, results, strict=True):
            self.done += 1
            label = point.spec.label
            self.left[label] -= 1
            if isinstance(result, Refusal):
                self.refused.setdefault(Refused(point.spec, point.epsilon, result.reason))
                continue
            count, seconds = self.spent.get(label, (0, 0.0))
            self.spent[label] = (count + 1, seconds + result.seconds)
            finished.append((point, result))
        self._keep([(point, result) for point, result in finished if point.spec.made is None])
        for point, result in finished:
            yield from make_rows(point, result, self.sweep.metrics)

    # The store ----------------------------------------------------------------------------------------------------

    def _look_up(self, points: list[Point]) -> dict[Point, Outcome]:
        if self.store is None:
            return {}
        try:
            found = self.store.find([point for point in points if point.spec.made is None])
        except StoreError as error:
            self._give_up_store(error)
            return {}
        wanted = set(self.sweep.metrics)
        return {point: outcome for point, outcome in found.items() if wanted <= outcome.values.keys()}

    def _keep(self, outcomes: list[tuple[Point, Outcome]]) -> None:
        if self.store is None or not outcomes:
            return
        try:
            self.store.keep(outcomes)
        except StoreError as error:
            self._give_up_store(error)

    def _give_up_store(self, error: StoreError) -> None:
        self.store = None
        self.note = str(error)
        warnings.warn(self.note, StoreWarning, stacklevel=2)

    # Progress -----------------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        return Progress(
            done=self.done,
            total=self.total,
            cached=self.cached,
            seconds=time.perf_counter() - self.started,
            remaining=self._remaining(),
            refused=tuple(self.refused),
            note=self.note,
        )

    def _remaining(self) -> float:
        """Runs left, each at the mean time of its mechanism's runs so far, at the parallelism seen so far."""
        if not any(self.left.values()):
            return 0.0 if self.done == self.total else math.nan
        runs = sum(count for count, _ in self.spent.values())
        busy = sum(seconds for _, seconds in self.spent.values())
        elapsed = time.perf_counter() - self.computing
        if runs == 0 or elapsed <= 0.0:
            return math.nan
        mean = busy / runs
        work = 0.0
        for label, left in self.left.items():
            count, seconds = self.spent.get(label, (0, 0.0))
            work += left * (seconds / count if count else mean)
        return work / max(busy / elapsed, 1e-3)

    def _stopped(self) -> bool:
        return self.callback is not None and self.callback(self.progress()) is False


def _drop(flight: Collection[Future[Any]], pool: Executor) -> None:
    """Cancel what waits, and stop what runs unless it ends by itself: starting a new worker takes a second or two."""
    for future in flight:
        future.cancel()
    for future in wait(flight, timeout=_GRACE_SECONDS).not_done:
        stop_future(pool, future)


def group(points: Sequence[Point]) -> list[tuple[Point, ...]]:
    """The tasks of a list of runs: those that share a solve together, where that is worth it, the others alone.

    Runs on data in memory are always together with those that share the solve: no worker keeps a solution of them.
    """
    tasks: dict[Any, list[Point]] = {}
    for point in points:
        draw, key = point.draw, point.spec.solution_key
        small = draw.shape[0] * draw.shape[1] <= _GROUP_ENTRIES or isinstance(draw.dataset, InMemory)
        tasks.setdefault(point if key is None or not small else (draw, point.settings, key), []).append(point)
    return [tuple(task) for task in tasks.values()]


def run_points(points: Sequence[Point], metrics: Sequence[str]) -> list[Outcome | Refusal]:
    """Compute runs one after the other, in the process that this is called in. What executors are given to do."""
    with one_blas_thread():
        draws = {point.draw: find_draw(point.draw) for point in points}
        return [run_point(point, draws[point.draw], metrics) for point in points]


def run_point(point: Point, draw: Draw, metrics: Sequence[str]) -> Outcome | Refusal:
    """Compute one run on its draw."""
    started = time.perf_counter()
    try:
        done, delta = _release(point, draw)
        seconds = time.perf_counter() - started
        values = {}
        for name in metrics:
            measure = MEASURES[name]
            against = draw.truth if measure.needs == "truth" else draw.test
            # Raises for a release of single entries, which is no matrix to measure.
            values[name] = math.nan if against is None else float(measure.function(done, against))
    except (ValueError, ReleaseFailed) as error:
        return Refusal(str(error))
    if isinstance(point.draw.dataset, InMemory):
        # What a release must not tell about private data, a sweep over them does not either.
        seconds = float(done.seconds)
    return Outcome(values, delta, float(done.gap), float(done.converged), float(done.iterations), seconds)


def complete_point(point: Point, draw: Draw) -> Completion:
    """The completion of one run on its draw, for pages that show the matrix; ``ValueError`` where it is refused."""
    return _release(point, draw)[0]


def _release(point: Point, draw: Draw) -> tuple[Completion, float]:
    """The completion of a run, and the delta of its guarantee."""
    spec, settings, link, cset = point.spec, point.settings, point.draw.link, point.cset
    if spec.name == MAJORITY and spec.made is None:
        return _majority(point, draw), 0.0
    options = SolverOptions(settings.solver, settings.tol, settings.max_iter)
    mechanism: Any = spec.build(point.epsilon)

    def solve() -> Completion:
        if spec.solution_key == CLEAR_SOLUTION:
            return complete(draw.train, link, cset, options.solver, options.tol, options.max_iter)
        return mechanism.solution(draw.train, link, cset, options)

    if spec.solution_key is not None:
        solution = draw.solution((settings, spec.solution_key), solve)
        if spec.is_plain_clear:
            return solution, 0.0
        release = mechanism.simulate(solution, link, cset, len(draw.train), rng=point.noise_seed)
    else:
        release = mechanism.release(
            draw.train,
            link,
            cset,
            rng=point.noise_seed,
            solver=options.solver,
            tol=options.tol,
            max_iter=options.max_iter,
        )
    return release.completion, release.guarantee.delta


def _majority(point: Point, draw: Draw) -> Completion:
    """The constant matrix h^-1(share of +1 in training), the best that a constant can predict."""
    share = (draw.train.bits.sum() + 0.5) / (len(draw.train) + 1.0)
    link = point.draw.link
    level = float(link.quantile(share))
    return Completion(
        estimate=DenseEstimate(np.broadcast_to(np.float64(level), draw.train.shape)),
        link=link,
        tau=point.settings.tau,
        alpha=point.draw.alpha,
        objective=math.nan,
        gap=0.0,
        converged=True,
        iterations=0,
        seconds=0.0,
        solver="",
        message="the majority class everywhere",
    )


def make_rows(point: Point, outcome: Outcome, metrics: Sequence[str]) -> Iterator[Row]:
    """The rows of a run, one for each metric."""
    settings = point.settings_row()
    for metric in metrics:
        found = {"metric": metric, "value": outcome.values[metric], **outcome.facts()}
        yield cast(Row, {name: settings[name] if name in settings else found[name] for name in FIELDS})


def one_blas_thread() -> AbstractContextManager[Any]:
    """BLAS at one thread: with more, on a busy machine, a decomposition takes 10 to 20 times longer."""
    return _blas().limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    # Looking the loaded libraries up takes longer than many a run, and they stay the same.
    return ThreadpoolController()
