"""What many draws say together: means with 95 % intervals of tidy rows, and what they say in a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from obmc.experiments.measures import find_measure
from obmc.experiments.sweep import FIELDS, Row

CONFIDENCE = 0.95
KEYS = ("mechanism", "calibration", "options")
# What those score who know nothing.
ZEROS, MAJORITY_LABEL = "All zeros", "Majority class"


def as_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows of ``obmc.experiments.run`` as a table with their columns, also when there are none."""
    return pd.DataFrame(list(rows), columns=list(FIELDS))


def half_width(spread: ArrayLike, count: ArrayLike) -> np.ndarray:
    """t s / sqrt(n), half of the 95 % interval of a mean: s the standard deviation of the n draws, t the quantile of
    Student's law with n - 1 degrees of freedom; nan for a single draw."""
    sizes = np.asarray(count, dtype=np.float64)
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, np.maximum(sizes - 1, 1))
    return np.asarray(quantile * np.asarray(spread, dtype=np.float64) / np.sqrt(sizes))


@dataclass(frozen=True)
class Mean:
    """A mean over draws: ``half`` is half of its 95 % interval, nan for a single draw."""

    value: float
    half: float
    draws: int

    @classmethod
    def of(cls, values: ArrayLike) -> Mean:
        """The mean of these draws; nan of none."""
        finite = np.asarray(values, dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        if len(finite) == 0:
            return cls(math.nan, math.nan, 0)
        spread = float(finite.std(ddof=1)) if len(finite) > 1 else math.nan
        return cls(float(finite.mean()), float(half_width(spread, len(finite))), len(finite))


def summarise(rows: pd.DataFrame, by: str = "epsilon", keys: Sequence[str] = KEYS) -> pd.DataFrame:
    """The mean over the draws of each mechanism at each value of ``by``, with its 95 % interval.

    low, high = mean -+ t s / sqrt(n), s the standard deviation of the n draws and t the quantile of Student's law with
    n - 1 degrees of freedom; both are nan for a single draw. ``spread`` is s.

    Parameters
    ----------
    rows
        As from ``as_frame``. A value that is not finite is left out.
    by
        The column that varies: "epsilon" or "ratio".
    keys
        The columns that tell curves apart; by default those of the mechanism.

    Returns
    -------
    One row for each combination of ``keys``, metric and value of ``by``, in the order of their first rows.
    """
    found = rows[np.isfinite(rows["value"].astype(np.float64))]
    grouped = found.groupby([*keys, "metric", by], sort=False)["value"]
    table = grouped.agg(mean="mean", count="count", spread="std").reset_index()
    table["count"] = table["count"].astype(int)
    table["spread"] = table["spread"].astype(np.float64)
    half = half_width(table["spread"], table["count"])
    table["low"], table["high"] = table["mean"] - half, table["mean"] + half
    return table[[*keys, "metric", by, "mean", "low", "high", "count", "spread"]]


def with_zeros(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the relative error, and with every run of Clear the 1 that a matrix of zeros scores on its draw."""
    zeros = rows[(rows["mechanism"] == "Clear") & (rows["options"] == "{}")].assign(
        mechanism=ZEROS, value=1.0, gap=0.0, converged=1.0, iterations=0.0, seconds=0.0
    )
    return pd.concat([rows, zeros], ignore_index=True) if len(zeros) else rows


def losses(rows: pd.DataFrame, *, common: bool = False) -> pd.DataFrame:
    """The rows with, in place of each value, how much worse it is than Clear's on the same draw.

    Draws are the same where repetition and ratio agree: all mechanisms of a sweep see the same data. The mean of these
    paired differences has the interval that belongs to it. Rows whose draw has no run of Clear are left out.

    Parameters
    ----------
    rows
        Of one metric and one setting.
    common
        Whether Clear is the same for all draws, so that one run of it serves them all.
    """
    if rows.empty:
        return rows
    sign = 1.0 if find_measure(rows["metric"].iloc[0]).lower_is_better else -1.0
    clear = rows[(rows["mechanism"] == "Clear") & (rows["options"] == "{}")]
    if common:
        base = np.full(len(rows), clear["value"].mean() if len(clear) else np.nan)
    else:
        values = dict(zip(zip(clear["ratio"], clear["repetition"], strict=True), clear["value"], strict=True))
        draws = zip(rows["ratio"], rows["repetition"], strict=True)
        base = np.array([values.get(draw, np.nan) for draw in draws], dtype=np.float64)
    lost = rows.assign(value=sign * (rows["value"].to_numpy(dtype=np.float64) - base))
    return lost[np.isfinite(lost["value"])]


Label = Callable[..., str]


@dataclass(frozen=True, eq=False)
class Chart:
    """What a chart against ``by`` draws.

    ``curves``: as from ``summarise``, with the column ``series``. ``levels``: the same for what has no epsilon.
    ``draws``: the single runs of the curves, with ``series``. ``metric``: what all values are. ``loss``: whether they
    are losses against Clear.
    """

    curves: pd.DataFrame
    levels: pd.DataFrame
    draws: pd.DataFrame
    metric: str
    by: str
    loss: bool = False


def chart_of(
    rows: pd.DataFrame, label: Label, by: str = "epsilon", keys: Sequence[str] = KEYS, *, loss: bool = False
) -> Chart:
    """Split the rows of one metric into curves and horizontal lines.

    ``label`` names the series of the values of ``keys``; "" leaves rows out. ``loss`` says that the values are losses.
    """
    found = dict.fromkeys(zip(*(rows[name] for name in keys), strict=True))
    names = {key: label(*key) for key in found}
    series = [names[key] for key in zip(*(rows[name] for name in keys), strict=True)]
    named = rows.assign(series=pd.Series(series, index=rows.index, dtype=object))
    named = named[named["series"] != ""]
    summary = summarise(named, by, ("series", *keys))
    metric = str(rows["metric"].iloc[0]) if len(rows) else ""
    flat = np.isinf(summary[by].astype(np.float64)) if by == "epsilon" else np.zeros(len(summary), dtype=bool)
    order = {name: place for place, name in enumerate(dict.fromkeys(names.values()))}
    levels = summary[flat].sort_values("series", key=lambda column: column.map(order), kind="stable")
    draws = named[np.isfinite(named[by].astype(np.float64))]
    return Chart(summary[~flat].reset_index(drop=True), levels.reset_index(drop=True), draws, metric, by, loss)


def describe(chart: Chart, form: str) -> str:
    """What a chart shows, for people who do not see it: where each curve begins and ends, and its lines.

    ``form`` says how a value is written, such as ".3f" or ".1%".
    """
    if chart.curves.empty and chart.levels.empty:
        return "No points yet."
    parts = []
    for series, points in chart.curves.groupby("series", sort=False):
        ordered = points.sort_values(chart.by)
        first, last = ordered.iloc[0], ordered.iloc[-1]
        part = f"{series}: {first['mean']:{form}} at {chart.by} {first[chart.by]:g}"
        if len(ordered) > 1:
            part += f", {last['mean']:{form}} at {chart.by} {last[chart.by]:g}"
        parts.append(part)
    lines = [f"{level.series} {level.mean:{form}}" for level in chart.levels.itertuples()]
    what = "Mean losses against Clear" if chart.loss else "Means"
    said = f" {'; '.join(parts)}." if parts else ""
    return f"{what} against {chart.by}.{said}" + (f" Lines: {', '.join(lines)}." if lines else "")


def differences(rows: pd.DataFrame, reference: pd.DataFrame, by: str = "epsilon") -> pd.DataFrame:
    """The mean difference of two curves, the first minus the second, at each value of ``by`` that both have.

    Where both are of the same data (settings and seed agree) the draws are paired by their repetition, and the interval
    is Student's for the differences; else it is Welch's for two independent means.

    Parameters
    ----------
    rows, reference
        Of one curve each, of one and the same metric. A reference without epsilon (infinity) is one line for all.

    Returns
    -------
    Columns ``by``, ``difference``, ``low``, ``high``, ``draws`` (pairs, or the smaller number), ``paired``.
    """
    paired = _same_data(rows, reference)
    lines = []
    for value in sorted(set(rows[by])):
        mine = rows[rows[by] == value].set_index("repetition")["value"]
        flat = by == "epsilon" and bool(np.isinf(reference[by]).all())
        other = (reference if flat else reference[reference[by] == value]).set_index("repetition")["value"]
        if len(mine) == 0 or len(other) == 0:
            continue
        both = pd.concat([mine, other], axis=1, join="inner", keys=["mine", "other"])
        if paired and len(both) > 0:
            mean = Mean.of(both["mine"] - both["other"])
        else:
            mean = _welch(mine.to_numpy(dtype=np.float64), other.to_numpy(dtype=np.float64))
        lines.append(
            {
                by: value,
                "difference": mean.value,
                "low": mean.value - mean.half,
                "high": mean.value + mean.half,
                "draws": mean.draws,
                "paired": paired and len(both) > 0,
            }
        )
    return pd.DataFrame(lines, columns=[by, "difference", "low", "high", "draws", "paired"])


def _same_data(rows: pd.DataFrame, reference: pd.DataFrame) -> bool:
    """Whether equal repetitions of the two saw the same data, signs included."""
    names = ["dataset", "link", "sigma", "seed", "ratio"]
    if str(rows["dataset"].iloc[0]).startswith("synthetic"):
        names += ["alpha", "rank"]
    else:
        names = [name for name in names if name not in ("link", "sigma")]
    return all(set(rows[name]) == set(reference[name]) for name in names)


def _welch(mine: np.ndarray, other: np.ndarray) -> Mean:
    count = min(len(mine), len(other))
    value = float(mine.mean() - other.mean())
    if count < 2:
        return Mean(value, math.nan, count)
    parts = np.array([mine.var(ddof=1) / len(mine), other.var(ddof=1) / len(other)])
    total = float(parts.sum())
    if total == 0.0:
        return Mean(value, 0.0, count)
    freedom = total**2 / float((parts**2 / (np.array([len(mine), len(other)]) - 1)).sum())
    return Mean(value, float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * math.sqrt(total), count)
