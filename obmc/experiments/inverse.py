"""The inverse question: the epsilon that is needed to come near the accuracy of the estimator without privacy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from obmc.errors import check_integer, check_number
from obmc.experiments.measures import find_measure
from obmc.experiments.mechanisms import CLEAR
from obmc.experiments.sweep import FIELDS, Row
from obmc.observations import as_generator

Array = NDArray[np.float64]

CONFIDENCE = 0.95
# What all rows of one answer must share: a curve over epsilon is of one setting.
_SETTING = ("dataset", "link", "sigma", "alpha", "rank", "tau", "ratio", "seed", "metric")


@dataclass(frozen=True)
class SmallestEpsilon:
    """The smallest epsilon that comes within a wanted distance of the reference.

    Attributes
    ----------
    epsilon
        Infinite where the largest epsilon of the rows is not enough.
    low, high
        Of the 95 % interval; ``high`` is infinite where more than 2.5 % of the resamples do not get there. Both are nan
        for a single draw.
    at_most
        True where the smallest epsilon of the rows is enough already, so that ``epsilon`` is an upper bound only.
    within
        The wanted distance, in the metric's unit.
    draws
        The number of pairs of runs at each epsilon.
    curve
        Columns ``epsilon``, ``distance`` (mean; positive: worse than the reference), ``standard_error`` and ``fitted``
        (the mean made monotone).
    """

    epsilon: float
    low: float
    high: float
    at_most: bool
    within: float
    draws: int
    curve: pd.DataFrame


def smallest_epsilon(
    rows: pd.DataFrame | Iterable[Row],
    mechanism: str,
    within: float,
    *,
    options: str = "{}",
    calibration: str | None = None,
    reference: str = CLEAR,
    reference_options: str = "{}",
    resamples: int = 2000,
    rng: int | np.random.Generator = 0,
) -> SmallestEpsilon:
    """The smallest epsilon at which the mean distance to the reference is at most ``within``, from a sweep's rows.

    With D_k(eps) the measure of the reference minus that of the mechanism on draw k (the other way round where lower is
    better), the mean over the draws is made non-increasing in eps by least squares (pooling of adjacent violators) and
    interpolated linearly in log eps between the epsilons of the rows. The interval is the percentile bootstrap over
    draws: a resample takes whole draws, with all their epsilons, so that the pairing and what the epsilons of a draw
    share are kept. It says what other draws would give on these data, not what other test ratings would.

    Parameters
    ----------
    rows
        Of one setting and one metric, as from ``obmc.experiments.run`` or ``obmc.summary.as_frame``.
    mechanism, options, calibration
        Which rows: as in the columns; ``calibration`` may be left out where the rows have one only.
    within
        The wanted distance, at least 0, in the metric's unit (0.01 of sign accuracy is one per cent of the ratings).
    reference, reference_options
        What to come near to; its rows have epsilon = infinity.
    resamples
        Of the bootstrap, at least 100.
    rng
        Seed or generator of the bootstrap.

    Raises
    ------
    ValueError
        Where rows are of several settings, or the mechanism or the reference has none, or no draw has all epsilons.
    """
    distance = check_number("within", within, low=0.0)
    number = check_integer("resamples", resamples, low=100)
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows), columns=list(FIELDS))
    mine = table[(table["mechanism"] == mechanism) & (table["options"] == options)]
    if calibration is not None:
        mine = mine[mine["calibration"] == calibration]
    given = mine["calibration"].unique()
    if len(given) > 1:
        raise ValueError(f"calibration must be one of {', '.join(map(str, given))}: the rows have several.")
    mine = mine[np.isfinite(mine["epsilon"].astype(np.float64))]
    other = table[(table["mechanism"] == reference) & (table["options"] == reference_options)]
    for name, part in ((mechanism, mine), (reference, other)):
        if part.empty:
            raise ValueError(f"rows must hold runs of {name} with these options, but there are none.")
    both = pd.concat([mine, other])
    for column in _SETTING:
        if both[column].nunique() > 1:
            values = ", ".join(map(str, both[column].unique()[:3]))
            raise ValueError(f"rows must be of one {column}, but there are {values}: choose one of them first.")
    sign = 1.0 if find_measure(str(both["metric"].iloc[0])).lower_is_better else -1.0

    # A row per draw that has all epsilons and the reference; shape (draws, epsilons).
    values = mine.pivot_table(index="repetition", columns="epsilon", values="value", aggfunc="mean")
    base = other.groupby("repetition")["value"].mean()
    differences = (sign * values.sub(base, axis=0)).dropna()
    if differences.empty:
        raise ValueError("rows must hold a draw with all epsilons and the reference, but there is none yet.")
    epsilons = differences.columns.to_numpy(dtype=np.float64)
    matrix = differences.to_numpy(dtype=np.float64)
    count = len(matrix)

    mean = matrix.mean(axis=0)
    fitted = non_increasing(mean)
    answer = _crossing(epsilons, fitted, distance)
    low = high = error = math.nan
    spread = np.full(len(epsilons), error)
    if count > 1:
        spread = matrix.std(axis=0, ddof=1) / math.sqrt(count)
        picks = as_generator(rng).integers(0, count, (number, count))
        found = np.sort([_crossing(epsilons, non_increasing(matrix[pick].mean(axis=0)), distance) for pick in picks])
        # Order statistics, not interpolated quantiles: some may be infinite.
        tail = (1.0 - CONFIDENCE) / 2.0
        low, high = float(found[math.floor(tail * number)]), float(found[math.ceil((1.0 - tail) * number) - 1])
    return SmallestEpsilon(
        epsilon=answer,
        low=low,
        high=high,
        at_most=bool(fitted[0] <= distance),
        within=distance,
        draws=count,
        curve=pd.DataFrame({"epsilon": epsilons, "distance": mean, "standard_error": spread, "fitted": fitted}),
    )


def non_increasing(values: Array) -> Array:
    """The non-increasing sequence nearest to ``values`` in least squares, by pooling adjacent violators.

    Source: Barlow et al. 1972.
    """
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] < mean:
            before, width = blocks.pop()
            mean, size = (before * width + mean * size) / (width + size), width + size
        blocks.append((mean, size))
    return np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])


def _crossing(epsilons: Array, fitted: Array, within: float) -> float:
    """Where a non-increasing curve, linear in log epsilon, first comes down to ``within``; infinity if it does not."""
    enough = np.flatnonzero(fitted <= within)
    if len(enough) == 0:
        return math.inf
    place = int(enough[0])
    if place == 0:
        return float(epsilons[0])
    before, after = math.log(epsilons[place - 1]), math.log(epsilons[place])
    share = (fitted[place - 1] - within) / (fitted[place - 1] - fitted[place])
    return math.exp(before + share * (after - before))
