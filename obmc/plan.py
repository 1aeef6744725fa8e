"""What a chart of many draws shows, and which runs it needs: curves of mechanisms against epsilon or against the ratio.

A ``Plan`` is what a person chooses; its sweeps are what the runner computes; ``KnownRows`` finds what is there already.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import pandas as pd

from obmc import limits
from obmc.errors import check_choice
from obmc.experiments.known import Known, Means, finished
from obmc.experiments.mechanisms import CLEAR, MAJORITY, MechanismSpec
from obmc.experiments.outcomes import Outcome, OutcomeStore
from obmc.experiments.runner import make_rows
from obmc.experiments.sweep import Point, Sweep
from obmc.lazy import lazy_property
from obmc.offers import OFFERS, Offer
from obmc.privacy import Guarantee
from obmc.single import Setting
from obmc.summary import ZEROS, as_frame, with_zeros

CLEAR_LABEL = OFFERS["clear"].label
MAJORITY_LABEL = "Majority class"

# What can be measured on synthetic data; where the first two are all that is asked for, the others are not computed.
SYNTHETIC_METRICS = ("are", "sign_accuracy", "auc", "log_loss")
REAL_METRICS = ("sign_accuracy", "auc", "log_loss")
_USUAL = 2
# What is kept in memory: a table has some thousand rows, a figure some ten kilobytes.
PLANS, DERIVED = 32, 400
# Some 40 megabytes.
OPEN = 40_000
_EMPTY = as_frame(())

Made = TypeVar("Made")


def metrics_for(data: str) -> tuple[str, ...]:
    """The measures of a data set by name; the first is the paper's."""
    return SYNTHETIC_METRICS if data == "synthetic" else REAL_METRICS


@dataclass(frozen=True)
class Curve:
    """A mechanism of a chart, and what the chart calls it."""

    offer: Offer
    calibration: str
    label: str

    @property
    def spec(self) -> MechanismSpec:
        """The mechanism."""
        return self.offer.spec(self.calibration)


def curves_of(offers: Iterable[Offer], calibrations: Sequence[str]) -> tuple[Curve, ...]:
    """Every mechanism at every calibration, once where it has none; named by both only where there are several."""
    found = []
    for offer in offers:
        for calibration in calibrations if offer.calibrated else calibrations[:1]:
            several = offer.calibrated and len(calibrations) > 1
            found.append(Curve(offer, calibration, f"{offer.label}, {calibration}" if several else offer.label))
    return tuple(found)


@dataclass(frozen=True)
class Plan:
    """A chart that could be drawn. Raises ``ValueError`` saying what is wrong.

    Attributes
    ----------
    setting
        Data, noise model and constraints.
    curves
        What is compared; Clear and, where it applies, the majority class are always there as lines.
    epsilons
        Of every private mechanism.
    repetitions
        Draws behind every point.
    metric
        What is drawn, out of ``metrics_for(setting.data)``.
    ratios
        For a chart against the observation ratio (on real data the share of training ratings); None for one against
        epsilon, at the setting's ratio.
    """

    setting: Setting
    curves: tuple[Curve, ...]
    epsilons: tuple[float, ...]
    repetitions: int
    metric: str
    ratios: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not self.curves:
            raise ValueError("Choose at least one mechanism.")
        if not self.epsilons:
            raise ValueError("Choose at least one epsilon.")
        check_choice("metric", self.metric, metrics_for(self.setting.data))

    @property
    def by(self) -> str:
        """The rows' column on the horizontal axis."""
        return "epsilon" if self.ratios is None else "ratio"

    @property
    def private(self) -> tuple[Curve, ...]:
        """The curves that take an epsilon."""
        return tuple(curve for curve in self.curves if curve.offer.private)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What its sweeps measure: all that comes with the metric at no cost."""
        known = metrics_for(self.setting.data)
        return known[:_USUAL] if self.setting.is_synthetic and self.metric in known[:_USUAL] else known

    @property
    def one_reference(self) -> bool:
        """Whether Clear is the same for all draws, which then differ in the mechanisms' noise alone."""
        return self.setting.has_one_split and self.ratios is None

    def _sweep(self, specs: Sequence[MechanismSpec], epsilons: Sequence[float]) -> Sweep:
        lines = not any(spec.is_private for spec in specs)
        draws = 1 if lines and self.one_reference else self.repetitions
        return self.setting.sweep(specs, epsilons, draws, self.metrics, self.ratios)

    @lazy_property
    def _line_specs(self) -> tuple[MechanismSpec, ...]:
        usual = (MechanismSpec(CLEAR), MechanismSpec(MAJORITY))
        return usual + tuple(c.spec for c in self.curves if not c.offer.private and c.spec not in usual)

    @lazy_property
    def sweeps(self) -> tuple[Sweep, ...]:
        """What has to be computed: the runs of the lines, then those of the curves."""
        lines = self._sweep(self._line_specs, (limits.EPSILON.default,))
        specs = tuple(dict.fromkeys(curve.spec for curve in self.private))
        return (lines, self._sweep(specs, self.epsilons)) if specs else (lines,)

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return sum(len(sweep) for sweep in self.sweeps)

    def cells(self) -> list[tuple[MechanismSpec, float]]:
        """Its columns: a mechanism at one epsilon (infinity for the lines), with all draws and ratios."""
        lines = [(spec, math.inf) for spec in self._line_specs]
        specs = dict.fromkeys(curve.spec for curve in self.private)
        return lines + [(spec, epsilon) for spec in specs for epsilon in self.epsilons]

    def cell(self, spec: MechanismSpec, epsilon: float) -> Sweep:
        """The runs of one column."""
        return self._sweep((spec,), (limits.EPSILON.default if math.isinf(epsilon) else epsilon,))

    def label(self, mechanism: str, calibration: str, options: str) -> str:
        """What the chart calls a row's mechanism; "" for what it does not draw."""
        return self._labels.get((mechanism, calibration, options), "")

    def names_of(self, points: Iterable[Point]) -> list[str]:
        """What the chart calls the mechanisms of these runs, in its own order."""
        keys = {key_of(point.spec) for point in points}
        return [label for key, label in self._labels.items() if key in keys]

    @lazy_property
    def _labels(self) -> dict[tuple[str, str, str], str]:
        found = {key_of(MechanismSpec(CLEAR)): CLEAR_LABEL}
        if self.metric == "are":
            found[ZEROS_KEY] = ZEROS
        else:
            found[key_of(MechanismSpec(MAJORITY))] = MAJORITY_LABEL
        return found | {key_of(curve.spec): curve.label for curve in self.curves}

    def rows_of_metric(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows of its metric, and for the relative error those of a matrix of zeros."""
        found = rows[rows["metric"] == self.metric]
        return with_zeros(found) if self.metric == "are" else found

    def guarantee(self, curve: Curve, epsilon: float) -> Guarantee:
        """What a run of a curve guarantees at this epsilon; ``ValueError`` where the mechanism refuses it."""
        return replace(self.setting, mechanism=curve.spec, epsilon=epsilon).guarantee


ZEROS_KEY = (ZEROS, "", "{}")


def key_of(spec: MechanismSpec) -> tuple[str, str, str]:
    """A mechanism as the rows' columns mechanism, calibration and options have it."""
    return spec.name, spec.calibration, spec.options_text


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
