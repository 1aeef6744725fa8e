"""What of a plan is computed already, asked of a store and kept in memory, and how long the rest takes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import pandas as pd

from obmc.experiments.known import Known, Means, finished
from obmc.experiments.mechanisms import MechanismSpec
from obmc.experiments.outcomes import Outcome, OutcomeStore
from obmc.experiments.runner import make_rows
from obmc.experiments.sweep import Point
from obmc.lazy import lazy_property
from obmc.plan import Plan
from obmc.summary import as_frame

# What is kept in memory: a table has some thousand rows, a figure some ten kilobytes.
PLANS, DERIVED = 32, 400
# Some 40 megabytes.
OPEN = 40_000
_EMPTY = as_frame(())

Made = TypeVar("Made")


@dataclass(frozen=True, eq=False)
class _Column:
    """What is known of a column: a frame of the finished runs' rows and, unless that is all, what it was made of."""

    frame: pd.DataFrame
    points: tuple[Point, ...] = ()
    found: Mapping[Point, Outcome] = field(default_factory=dict)

    @lazy_property
    def missing(self) -> list[Point]:
        """The runs that are not there."""
        return [point for point in self.points if point not in self.found]

    def filled(self, more: Mapping[Point, Outcome], metrics: Sequence[str]) -> _Column:
        """With those of its missing runs that are in ``more``."""
        new = {point: more[point] for point in self.missing if point in more}
        if not new:
            return self
        found = {**self.found, **new}
        # From all of them, so that the rows have the order of the runs, whichever was finished first.
        frame = as_frame(row for p in self.points if p in found for row in make_rows(p, found[p], metrics))
        return _Column(frame) if len(found) == len(self.points) else _Column(frame, self.points, found)


class KnownRows:
    """What of a plan is in a store, with what was found complete kept in memory. Thread-safe, for public data only.

    ``size``: how many complete columns (a mechanism at one epsilon) are kept, each some hundred rows; of others the
    last ``OPEN`` runs that may still be missing, so that only these are asked for again. Of the last ``PLANS`` complete
    plans the rows are kept as one table, and ``DERIVED`` things that were made of any plan's rows.
    """

    def __init__(self, store: OutcomeStore | None, size: int = 2000) -> None:
        self.store = store
        self._size = size
        self._lock = threading.Lock()
        self._complete: OrderedDict[Hashable, _Column] = OrderedDict()
        self._open: OrderedDict[Hashable, _Column] = OrderedDict()
        self._points = 0
        self._plans: OrderedDict[Plan, pd.DataFrame] = OrderedDict()
        self._derived: OrderedDict[Hashable, Any] = OrderedDict()

    def find(self, plan: Plan) -> tuple[pd.DataFrame, list[Point]]:
        """The rows that are there, and the runs that are missing."""
        with self._lock:
            whole = self._plans.get(plan)
            if whole is not None:
                self._plans.move_to_end(plan)
                return whole, []
        shared = (plan.setting, plan.repetitions, plan.metrics, plan.ratios)
        columns = {(*shared, *cell): self._column(plan, (*shared, *cell), *cell) for cell in plan.cells()}
        lacking = [point for column in columns.values() for point in column.missing]
        found = finished(lacking, plan.metrics, self.store)
        for key, column in columns.items():
            if column.missing:
                columns[key] = column.filled(found, plan.metrics)
                self._keep(key, columns[key])
        missing = [point for column in columns.values() for point in column.missing]
        present = [column.frame for column in columns.values() if len(column.frame)]
        rows = pd.concat(present, ignore_index=True) if present else _EMPTY
        if not missing:
            with self._lock:
                self._plans[plan] = rows
                while len(self._plans) > PLANS:
                    self._plans.popitem(last=False)
        return rows, missing

    def _column(self, plan: Plan, key: Hashable, spec: MechanismSpec, epsilon: float) -> _Column:
        """A column as it was last seen."""
        with self._lock:
            for kept in (self._complete, self._open):
                if key in kept:
                    kept.move_to_end(key)
                    return kept[key]
        return _Column(_EMPTY, tuple(plan.cell(spec, epsilon).points()))

    def _keep(self, key: Hashable, column: _Column) -> None:
        with self._lock:
            replaced = self._open.pop(key, None)
            self._points -= len(replaced.points) if replaced else 0
            if column.missing:
                self._open[key] = column
                self._points += len(column.points)
                while self._points > OPEN:
                    self._points -= len(self._open.popitem(last=False)[1].points)
            else:
                self._complete[key] = column
                while len(self._complete) > self._size:
                    self._complete.popitem(last=False)

    def derived(self, plan: Plan, count: int, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` makes of the plan's first ``count`` rows: kept under ``key``, and not made again.

        Nobody may change what comes back: others get the same object.
        """
        name = (plan, count, key)
        with self._lock:
            if name in self._derived:
                self._derived.move_to_end(name)
                return cast(Made, self._derived[name])
        made = make()
        with self._lock:
            self._derived[name] = made
            while len(self._derived) > DERIVED:
                self._derived.popitem(last=False)
        return made


def expected_seconds(missing: list[Point], workers: int, means: Means | None = None) -> float:
    """About how long the missing runs take on so many workers."""
    return Known([], missing).expected_seconds(workers, means)
