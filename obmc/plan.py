"""What a chart of many draws shows, and which runs it needs: curves of mechanisms against epsilon or against the ratio.

A ``Plan`` is what a person chooses; its sweeps are what the runner computes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from obmc import limits
from obmc.errors import check_choice
from obmc.experiments.mechanisms import CLEAR, MAJORITY, MechanismSpec
from obmc.experiments.sweep import Point, Sweep
from obmc.lazy import lazy_property
from obmc.offers import OFFERS, Offer
from obmc.privacy import Guarantee
from obmc.single import Setting
from obmc.summary import MAJORITY_LABEL, ZEROS, with_zeros

CLEAR_LABEL = OFFERS["clear"].label

# What can be measured on synthetic data; where the first two are all that is asked for, the others are not computed.
SYNTHETIC_METRICS = ("are", "sign_accuracy", "auc", "log_loss")
REAL_METRICS = ("sign_accuracy", "auc", "log_loss")
_USUAL = 2


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
