"""Figures: pure functions from tidy results and matrices to plotly figures, and the one table of looks.

No function here computes an experiment or knows of a page. Fonts and backgrounds are left to whoever shows the figure,
so that light and dark both work; the colours of the table keep a contrast of 3:1 against either background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

Array = NDArray[np.float64]
# A part of a figure as plotly takes it.
Plotly = dict[str, Any]


@dataclass(frozen=True)
class Style:
    """How one mechanism looks in every figure. Colour, dash and marker all differ: no meaning is in one alone."""

    colour: str
    dash: str
    marker: str

    def fill(self, opacity: float = 0.18) -> str:
        """The colour of the band around the line."""
        red, green, blue = (int(self.colour[i : i + 2], 16) for i in (1, 3, 5))
        return f"rgba({red}, {green}, {blue}, {opacity})"


STYLES: dict[str, Style] = {
    "Clear": Style("#7d7d7d", "solid", "x"),
    "InP": Style("#2a7fd4", "solid", "circle"),
    "ObjP": Style("#d1600a", "dash", "square"),
    "GraP": Style("#2b9348", "dot", "triangle-up"),
    "OutP": Style("#d6336c", "dashdot", "diamond"),
    "OutP projected": Style("#a8448f", "8px,3px,2px,3px", "diamond-open"),
    "InP+": Style("#8a5cf0", "longdash", "star"),
    "Effects alone": Style("#0f8f9c", "longdashdot", "cross"),
    "Clear with effects": Style("#6f7fa6", "longdash", "x-open"),
    "All zeros": Style("#8c6d1f", "dot", "circle"),
    "Majority class": Style("#8c6d1f", "dot", "circle"),
}
_FURTHER = (
    Style("#a07800", "5px,3px", "hexagon"),
    Style("#b04ac0", "8px,3px,2px,3px", "triangle-down"),
    Style("#4f7a28", "2px,4px", "bowtie"),
)

# Orange above, blue below, white at zero: told apart by people who do not see red and green.
DIVERGING = [
    [0.0, "#0b4a8f"],
    [0.25, "#6aaed6"],
    [0.5, "#fbfbf9"],
    [0.75, "#f0984c"],
    [1.0, "#a63603"],
]
# What is not observed: a colour that is not on the scale, and from which both its ends stand out.
UNOBSERVED = "#b8b8b8"
# Of text on an axis: 4.5:1 against white and black alike, where the theme's own grey falls short on white.
INK = "#767676"
# A figure of more cells than this across is drawn as means of blocks of cells.
MAX_CELLS = 240
# The interval of two draws is some eighteen times their distance: drawn, it would hide all else while a chart grows.
_BAND_DRAWS = 3
# Where a logarithmic axis has numbers; plotly's own are the last digits alone.
_DECADES = [float(f"{first}e{power}") for power in range(-4, 7) for first in (1, 2, 5)]


def style_of(label: str, order: int = 0) -> Style:
    """The look of a mechanism; of one that has none of its own, the ``order``-th of a few further ones."""
    return STYLES.get(label) or _FURTHER[order % len(_FURTHER)]


# Matrices -------------------------------------------------------------------------------------------------------------


def block_means(matrix: Array, max_cells: int = MAX_CELLS) -> Array:
    """``matrix`` where it has at most ``max_cells`` rows and columns, else the means of blocks of its entries.

    Missing entries (nan) are left out of a mean; a block with missing entries alone is missing.
    """
    size = _block_size(matrix.shape, max_cells)
    if size == (1, 1):
        return matrix
    rows, cols = (np.arange(0, n, step) for n, step in zip(matrix.shape, size, strict=True))
    present = ~np.isnan(matrix)

    def sums(values: NDArray) -> Array:
        return np.add.reduceat(np.add.reduceat(values.astype(np.float64), rows, axis=0), cols, axis=1)

    count = sums(present)
    total = sums(np.where(present, matrix, 0.0))
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def _block_size(shape: tuple[int, ...], max_cells: int = MAX_CELLS) -> tuple[int, int]:
    """Rows and columns of a block."""
    return -(-shape[0] // max_cells), -(-shape[1] // max_cells)


def picture(matrix: Array, bound: float, height: int = 220) -> go.Figure:
    """A matrix as a picture on the scale [-bound, bound]; entries beyond are drawn in the colour of the end.

    Parameters
    ----------
    matrix
        Shape (d1, d2); nan where there is no entry, drawn grey.
    bound
        End of the colour scale, above 0, in the unit of the matrix.
    height
        In pixels.
    """
    # Where blocks are drawn, the axes still count rows and columns of the matrix.
    tall, wide = _block_size(matrix.shape)
    bottom, right = (n - 0.5 for n in matrix.shape)
    heat = {
        "type": "heatmap",
        "z": block_means(matrix).astype(np.float32),
        "x0": (wide - 1) / 2,
        "dx": wide,
        "y0": (tall - 1) / 2,
        "dy": tall,
        **_scale(bound),
        "hoverongaps": False,
        "hovertemplate": "row %{y:.0f}, column %{x:.0f}<br>value %{z:.3f}<extra></extra>",
    }
    ground = {"type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": UNOBSERVED}
    axis = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "constrain": "domain"}
    # A figure made of one dictionary takes a fraction of the time of one made by updates, and a page has several.
    return go.Figure(
        {
            "data": [heat],
            "layout": {
                "height": height,
                "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
                "plot_bgcolor": "rgba(0, 0, 0, 0)",
                "shapes": [{**ground, "x0": -0.5, "x1": right, "y0": -0.5, "y1": bottom}],
                "xaxis": {**axis, "range": [-0.5, right]},
                "yaxis": {**axis, "range": [bottom, -0.5], "scaleanchor": "x", "constraintoward": "top"},
            },
        }
    )


def colour_key(bound: float, height: int = 64) -> go.Figure:
    """The colour scale of ``picture`` by itself, so that several pictures can share one."""
    values = np.linspace(-bound, bound, 201)
    heat = {"type": "heatmap", "z": values[np.newaxis].astype(np.float32), "x": values, "y": [0], **_scale(bound)}
    ticks = [-bound, -bound / 2, 0.0, bound / 2, bound]
    axis = {
        "tickvals": ticks,
        "ticktext": [f"{tick:g}".replace("-", "−") for tick in ticks],
        "tickfont": {"color": INK},
        "range": [-bound, bound],
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    return go.Figure(
        {
            "data": [{**heat, "hoverinfo": "skip"}],
            "layout": {
                "height": height,
                "margin": {"l": 24, "r": 24, "t": 4, "b": 36},
                "xaxis": axis,
                "yaxis": {"visible": False, "fixedrange": True},
            },
        }
    )


def _scale(bound: float) -> Plotly:
    return {"zmin": -bound, "zmax": bound, "colorscale": DIVERGING, "showscale": False}


def matrix_numbers(matrices: Mapping[str, Array], bound: float) -> pd.DataFrame:
    """What ``picture`` shows in numbers: one row per matrix, missing entries left out.

    Columns: ``picture``, ``entries``, ``smallest``, ``mean``, ``largest``, ``beyond`` (the share of entries outside
    [-bound, bound], which a picture cannot tell apart from its ends).
    """
    rows = []
    for name, matrix in matrices.items():
        values = matrix[~np.isnan(matrix)]
        rows.append(
            {
                "picture": name,
                "entries": len(values),
                "smallest": float(values.min()),
                "mean": float(values.mean()),
                "largest": float(values.max()),
                "beyond": float(np.mean(np.abs(values) > bound * (1 + 1e-6))),
            }
        )
    return pd.DataFrame(rows)


# Curves ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Level:
    """A horizontal line to compare with: all zeros, the majority class, no privacy.

    ``low`` and ``high`` are the ends of its interval, equal to ``value`` where it has none.
    """

    label: str
    value: float
    low: float
    high: float


def curves(
    summary: pd.DataFrame,
    *,
    x: str,
    titles: tuple[str, str],
    levels: Sequence[Level] = (),
    log: tuple[bool, bool] = (True, False),
    percent: bool = False,
    height: int = 460,
) -> go.Figure:
    """Means with 95 % intervals against ``x``, one line and band per series.

    Parameters
    ----------
    summary
        One row per point: ``series`` (the name of a line, which also decides its look), ``x``, ``mean``, ``low``,
        ``high``, ``count``; see ``obmc.summary.chart_of``. May be empty.
    x
        Column of the horizontal axis.
    titles
        Of the horizontal and the vertical axis.
    levels
        Horizontal lines.
    log
        Whether the horizontal and the vertical axis are logarithmic.
    percent
        Whether the vertical axis shows shares as per cent.
    height
        In pixels.
    """
    form = ".1%" if percent else ".3f"
    across = np.asarray(sorted(set(summary[x])), dtype=np.float64) if len(summary) else np.ones(1)
    traces: list[Plotly] = []
    for order, (series, points) in enumerate(summary.groupby("series", sort=False)):
        traces += _curve(str(series), points.sort_values(x), x, style_of(str(series), order), titles[0], form)
    for level in levels:
        traces += _level(level, across, form)
    ink = {"tickfont": {"color": INK}}
    horizontal: Plotly = {**ink, "title": _title(titles[0]), "type": "log" if log[0] else "linear"}
    if log[0]:
        horizontal |= {"tickvals": across, "ticktext": [f"{stop:g}" for stop in across]}
    vertical: Plotly = {**ink, "title": _title(titles[1]), "type": "log" if log[1] else "linear"}
    if log[1]:
        vertical |= {"tickvals": _DECADES, "ticktext": [f"{stop:g}" for stop in _DECADES]}
    if percent:
        vertical["tickformat"] = ".0%"
    return go.Figure(
        {
            "data": traces,
            "layout": {
                "height": height,
                "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
                "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
                "hovermode": "closest",
                "xaxis": horizontal,
                "yaxis": vertical,
                # The reader's zoom and hidden lines survive new points.
                "uirevision": f"{x} {titles} {log}",
            },
        }
    )


def _title(text: str) -> Plotly:
    return {"text": text, "font": {"color": INK}}


def _curve(name: str, rows: pd.DataFrame, x: str, style: Style, title: str, form: str) -> tuple[Plotly, Plotly]:
    """The band and the line of one series."""
    band = rows[rows["count"] >= _BAND_DRAWS]
    edge = _band(
        name,
        np.concatenate([band[x], band[x][::-1]]),
        np.concatenate([band["high"], band["low"][::-1]]),
        style.fill(),
    )
    line = {
        "type": "scatter",
        "x": rows[x].to_numpy(),
        "y": rows["mean"].to_numpy(),
        "customdata": rows[["low", "high", "count"]].to_numpy(dtype=np.float64),
        "mode": "lines+markers",
        "name": name,
        "legendgroup": name,
        "line": {"color": style.colour, "dash": style.dash, "width": 2.5},
        "marker": {"color": style.colour, "symbol": style.marker, "size": 9},
        "hovertemplate": (
            f"{name}<br>{title} %{{x:g}}<br>%{{y:{form}}}, 95 % interval %{{customdata[0]:{form}}} to "
            f"%{{customdata[1]:{form}}}<br>%{{customdata[2]:.0f}} draws<extra></extra>"
        ),
    }
    return edge, line


def _band(name: str, x: Array, y: Array, fill: str) -> Plotly:
    return {
        "type": "scatter",
        "x": x,
        "y": y,
        "mode": "lines",
        "fill": "toself",
        "fillcolor": fill,
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": name,
        "name": f"{name}, 95 % interval",
    }


def _level(level: Level, across: Array, form: str) -> list[Plotly]:
    """A horizontal line over the whole chart, and its band where it has an interval."""
    left, right = across[0], across[-1]
    if left == right:
        left, right = left / 1.5, right * 1.5
    style = style_of(level.label)
    line: Plotly = {
        "type": "scatter",
        "x": [left, right],
        "y": [level.value, level.value],
        "mode": "lines",
        "name": level.label,
        "legendgroup": level.label,
        "line": {"color": style.colour, "dash": style.dash, "width": 2},
        "hovertemplate": f"{level.label}<br>%{{y:{form}}}<extra></extra>",
    }
    if not level.low < level.high:
        return [line]
    corners = np.array([left, right, right, left]), np.array([level.high, level.high, level.low, level.low])
    return [_band(level.label, *corners, style.fill(0.14)), line]
