"""Reading a chart: what its curves say at one epsilon, in sentences, and the epsilon that a wanted accuracy needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from obmc.experiments.inverse import SmallestEpsilon, smallest_epsilon
from obmc.experiments.measures import MEASURES, find_measure
from obmc.experiments.mechanisms import CLEAR, MechanismSpec
from obmc.plan import Curve, Plan, key_of
from obmc.privacy import Guarantee
from obmc.privacy.guarantee import limit
from obmc.summary import KEYS, Mean, losses

_NAMES = {"are": "average relative error", "auc": "area under the ROC curve", "log_loss": "log-loss"}


@dataclass(frozen=True)
class Reading:
    """What one curve says at one epsilon.

    Attributes
    ----------
    curve, metric, epsilon
        Of what, and where.
    value
        The mean of the measure over the draws.
    loss
        The mean of the paired differences to Clear, positive where the curve is worse; nan without Clear.
    between
        The two neighbouring epsilons between which each draw was interpolated, linearly in log epsilon; None where the
        epsilon is a point of the curve.
    guarantee
        What a run at this epsilon guarantees.
    """

    curve: Curve
    metric: str
    epsilon: float
    value: Mean
    loss: Mean
    between: tuple[float, float] | None
    guarantee: Guarantee

    @property
    def sentence(self) -> str:
        """The reading in words: accuracy, what it costs against no privacy, and the odds of an adversary."""
        form = MEASURES[self.metric].form
        if self.metric == "sign_accuracy":
            said = f"is right {_percent(self.value)} of the time"
        else:
            said = f"has a mean {_NAMES[self.metric]} of {self.value.value:{form}}{_half(self.value, 3)}"
            if self.metric == "are" and round(self.value.value, 3) >= 1.0:
                said += ", no better than a matrix of zeros"
        where = f", read off the line between {self.between[0]:g} and {self.between[1]:g}" if self.between else ""
        return (
            f"At epsilon = {self.epsilon:g}{where}, {self.curve.label} {said}{self._against_clear()}; {self._odds()}."
        )

    def _against_clear(self) -> str:
        if self.loss.draws == 0:
            return ""
        size = abs(self.loss.value)
        if self.metric == "sign_accuracy":
            if round(100.0 * size, 1) == 0.0:
                return ", the same as without privacy"
            half = "" if math.isnan(self.loss.half) else f" ± {100.0 * self.loss.half:.1f}"
            return f", {100.0 * size:.1f}{half} points {'below' if self.loss.value > 0 else 'above'} no privacy"
        if round(size, 3) == 0.0:
            return ", the same as without privacy"
        above = (self.loss.value > 0) == find_measure(self.metric).lower_is_better
        return f", {size:.3f}{_half(self.loss, 3)} {'above' if above else 'below'} no privacy"

    def _odds(self) -> str:
        total = self.guarantee.total_epsilon
        where = " over the whole output" if math.isinf(total) else ""
        return f"{limit(total, self.guarantee.delta)}{where} ({self.guarantee.headline})"


def _half(mean: Mean, digits: int) -> str:
    return "" if math.isnan(mean.half) else f" ± {mean.half:.{digits}f}"


def _percent(mean: Mean) -> str:
    return f"{100.0 * mean.value:.1f} %{_half(Mean(0.0, 100.0 * mean.half, mean.draws), 1)}"


def read(rows: pd.DataFrame, plan: Plan, epsilon: float) -> list[Reading]:
    """What the curves of a plan against epsilon say at one epsilon, the best first.

    ``rows`` are of the plan's metric. A curve without rows on both sides of the epsilon is left out, and so is one
    whose mechanism refuses it.
    """
    lost = losses(rows, common=plan.one_reference)
    found = []
    for curve in plan.private:
        values, between = _at(rows, curve, epsilon)
        if values is None:
            continue
        apart, _ = _at(lost, curve, epsilon)
        try:
            guarantee = plan.guarantee(curve, epsilon)
        except ValueError:
            continue
        loss = Mean.of([] if apart is None else apart)
        found.append(Reading(curve, plan.metric, epsilon, Mean.of(values), loss, between, guarantee))
    lower = find_measure(plan.metric).lower_is_better
    return sorted(found, key=lambda reading: reading.value.value if lower else -reading.value.value)


def calibration_changes(plan: Plan, epsilon: float) -> dict[str, str]:
    """What the rigorous calibration changes against the paper's at one epsilon, by the label of the mechanism."""
    found = {}
    for curve in plan.private:
        if curve.offer.calibrated:
            try:
                found[curve.offer.label] = plan.guarantee(curve, epsilon).rigorous_change
            except ValueError:
                continue
    return found


def _at(rows: pd.DataFrame, curve: Curve, epsilon: float) -> tuple[pd.Series | None, tuple[float, float] | None]:
    """The curve's draws at an epsilon by repetition, and between which points they were interpolated."""
    mine = rows_of(rows, curve.spec)
    stops = np.array(sorted(set(mine["epsilon"])))
    if len(stops) == 0 or not stops[0] <= epsilon <= stops[-1]:
        return None, None

    def draws(stop: float) -> pd.Series:
        return mine[mine["epsilon"] == stop].groupby("repetition")["value"].mean()

    if epsilon in stops:
        return draws(epsilon), None
    after = int(np.searchsorted(stops, epsilon))
    low, high = float(stops[after - 1]), float(stops[after])
    share = math.log(epsilon / low) / math.log(high / low)
    values = ((1.0 - share) * draws(low) + share * draws(high)).dropna()
    return (values, (low, high)) if len(values) else (None, None)


def rows_of(rows: pd.DataFrame, spec: MechanismSpec) -> pd.DataFrame:
    """The rows of one mechanism."""
    mask = np.ones(len(rows), dtype=bool)
    for name, wanted in zip(KEYS, key_of(spec), strict=True):
        mask &= (rows[name] == wanted).to_numpy(dtype=bool)
    return rows[mask]


def epsilon_for(rows: pd.DataFrame, plan: Plan, curve: Curve, wanted: float) -> SmallestEpsilon:
    """The smallest epsilon at which a curve's mean is at least as good as ``wanted``, in the metric's own unit.

    ``smallest_epsilon`` with a constant in place of Clear. ``ValueError`` where the curve has no draw at all its
    epsilons yet.
    """
    mine = rows_of(rows, curve.spec)
    constant = mine.drop_duplicates("repetition").assign(
        mechanism=CLEAR, calibration="", options="{}", epsilon=math.inf, value=wanted
    )
    name, calibration, options = key_of(curve.spec)
    return smallest_epsilon(
        pd.concat([mine, constant]), name, 0.0, options=options, calibration=calibration, reference=CLEAR
    )


def needed(found: SmallestEpsilon, curve: Curve, wanted: float, metric: str) -> str:
    """The answer of ``epsilon_for`` in a sentence."""
    level = f"{100.0 * wanted:g} %" if metric == "sign_accuracy" else f"{wanted:g}"
    first, last = found.curve["epsilon"].iloc[0], found.curve["epsilon"].iloc[-1]
    if math.isinf(found.epsilon):
        return f"{curve.label} does not reach {level} up to epsilon = {last:g}."
    if found.at_most:
        return f"{curve.label} reaches {level} at the smallest epsilon of the chart already, {first:g}."
    interval = ""
    if not math.isnan(found.low):
        high = f"{found.high:.2g}" if math.isfinite(found.high) else f"beyond {last:g}"
        interval = f" (95 % interval over draws: {found.low:.2g} to {high})"
    return f"{curve.label} reaches {level} from epsilon = {found.epsilon:.2g} on{interval}."
