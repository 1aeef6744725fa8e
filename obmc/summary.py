"""What many draws say together: means with 95 % intervals of tidy rows, and what they say in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from obmc.experiments.sweep import FIELDS, Row

CONFIDENCE = 0.95
KEYS = ("mechanism", "calibration", "options")
COLUMNS = (*KEYS, "metric", "epsilon", "mean", "low", "high", "count", "spread")


def as_frame(rows: Iterable[Row]) -> pd.DataFrame:
    """Rows of ``obmc.experiments.run`` as a table with their columns, also when there are none."""
    return pd.DataFrame(list(rows), columns=list(FIELDS))


def summarise(rows: pd.DataFrame, by: str = "epsilon") -> pd.DataFrame:
    """The mean over the draws of each mechanism at each value of ``by``, with its 95 % interval.

    low, high = mean -+ t s / sqrt(n), s the standard deviation of the n draws and t the quantile of Student's law with
    n - 1 degrees of freedom; both are nan for a single draw. ``spread`` is s.

    Parameters
    ----------
    rows
        As from ``as_frame``. A value that is not finite is left out.
    by
        The column that varies: "epsilon" or "ratio".

    Returns
    -------
    One row for each mechanism, calibration, options, metric and value of ``by``, in the order of their first rows.
    """
    found = rows[np.isfinite(rows["value"].astype(np.float64))]
    grouped = found.groupby([*KEYS, "metric", by], sort=False)["value"]
    table = grouped.agg(mean="mean", count="count", spread="std").reset_index()
    table["count"] = table["count"].astype(int)
    table["spread"] = table["spread"].astype(np.float64)
    quantile = stats.t.ppf(0.5 + CONFIDENCE / 2, np.maximum(table["count"] - 1, 1))
    half = quantile * table["spread"] / np.sqrt(table["count"])
    table["low"], table["high"] = table["mean"] - half, table["mean"] + half
    return table[[*KEYS, "metric", by, "mean", "low", "high", "count", "spread"]]


Label = Callable[[str, str, str], str]


@dataclass(frozen=True, eq=False)
class Chart:
    """What a chart against ``by`` draws.

    ``curves``: as from ``summarise``, with the column ``series``. ``levels``: the same for what has no epsilon.
    ``metric``: what all values are.
    """

    curves: pd.DataFrame
    levels: pd.DataFrame
    metric: str
    by: str


def chart_of(rows: pd.DataFrame, label: Label, by: str = "epsilon") -> Chart:
    """Split the rows of one metric into curves and horizontal lines.

    ``label`` names the series of a mechanism, calibration and options. With the relative error, where zeros score 1, a
    line says so.
    """
    summary = summarise(rows, by)
    keys = zip(*(summary[name] for name in KEYS), strict=True)
    summary.insert(0, "series", [label(*key) for key in keys])
    metric = str(rows["metric"].iloc[0]) if len(rows) else ""
    flat = np.isinf(summary[by].astype(np.float64)) if by == "epsilon" else np.zeros(len(summary), dtype=bool)
    levels = summary[flat]
    if metric == "are":
        zeros = {"series": "All zeros", "metric": metric, "mean": 1.0, "low": 1.0, "high": 1.0}
        levels = pd.concat([levels, pd.DataFrame([zeros])], ignore_index=True)
    return Chart(summary[~flat].reset_index(drop=True), levels.reset_index(drop=True), metric, by)


def describe(chart: Chart, form: str) -> str:
    """What a chart shows, for people who do not see it: where each curve begins and ends, and its lines.

    ``form`` says how a value is written, such as ".3f" or ".1%".
    """
    if chart.curves.empty:
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
    return f"Means against {chart.by}. {'; '.join(parts)}." + (f" Lines: {', '.join(lines)}." if lines else "")
