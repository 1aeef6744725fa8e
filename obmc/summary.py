"""What many draws say together: means with 95 % intervals of tidy rows, and what they say in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def describe_curves(summary: pd.DataFrame, levels: Mapping[str, float], form: str, by: str = "epsilon") -> str:
    """What a chart of ``summary`` shows, for people who do not see it: where each curve begins and ends.

    Parameters
    ----------
    summary
        With a column ``series``, as drawn.
    levels
        The horizontal lines.
    form
        How a value is written, such as ".3f" or ".1%".
    by
        The column that varies.
    """
    if summary.empty:
        return "No points yet."
    parts = []
    for series, points in summary.groupby("series", sort=False):
        ordered = points.sort_values(by)
        first, last = ordered.iloc[0], ordered.iloc[-1]
        part = f"{series}: {first['mean']:{form}} at {by} {first[by]:g}"
        if len(ordered) > 1:
            part += f", {last['mean']:{form}} at {by} {last[by]:g}"
        parts.append(part)
    lines = [f"{label} {value:{form}}" for label, value in levels.items()]
    return f"Means against {by}. {'; '.join(parts)}." + (f" Lines: {', '.join(lines)}." if lines else "")
