"""Figures: pure functions from tidy results and matrices to plotly figures, and the one table of looks.

No function here computes an experiment or knows of a page. Fonts and backgrounds are left to whoever shows the figure,
so that light and dark both work; the colours of the table keep a contrast of 3:1 against either background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
    "effects": Style("#0f8f9c", "longdashdot", "cross"),
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


def style_of(label: str, order: int = 0) -> Style:
    """The look of a mechanism; of one that has none of its own, the ``order``-th of a few further ones."""
    return STYLES.get(label) or _FURTHER[order % len(_FURTHER)]


# Matrices -------------------------------------------------------------------------------------------------------------


def block_means(matrix: Array, max_cells: int = MAX_CELLS) -> Array:
    """``matrix`` where it has at most ``max_cells`` rows and columns, else the means of blocks of its entries.

    Missing entries (nan) are left out of a mean; a block with missing entries alone is missing.
    """
    size = tuple(-(-n // max_cells) for n in matrix.shape)
    if size == (1, 1):
        return matrix
    rows, cols = (np.arange(0, n, step) for n, step in zip(matrix.shape, size, strict=True))
    present = ~np.isnan(matrix)

    def sums(values: NDArray) -> Array:
        return np.add.reduceat(np.add.reduceat(values.astype(np.float64), rows, axis=0), cols, axis=1)

    count = sums(present)
    total = sums(np.where(present, matrix, 0.0))
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def picture(
    matrix: Array, bound: float, *, what: str = "value", row: str = "row", col: str = "column", height: int = 220
) -> go.Figure:
    """A matrix as a picture on the scale [-bound, bound]; entries beyond are drawn in the colour of the end.

    Parameters
    ----------
    matrix
        Shape (d1, d2); nan where there is no entry, drawn grey.
    bound
        End of the colour scale, above 0, in the unit of the matrix.
    what, row, col
        What the hover text calls an entry, its row and its column.
    height
        In pixels.
    """
    cells = block_means(matrix)
    # Where blocks are drawn, the axes still count rows and columns of the matrix.
    step = tuple(-(-n // m) for n, m in zip(matrix.shape, cells.shape, strict=True))
    figure = go.Figure(
        go.Heatmap(
            z=cells.astype(np.float32),
            x0=(step[1] - 1) / 2,
            dx=step[1],
            y0=(step[0] - 1) / 2,
            dy=step[0],
            zmin=-bound,
            zmax=bound,
            colorscale=DIVERGING,
            showscale=False,
            hoverongaps=False,
            hovertemplate=f"{row} %{{y:.0f}}, {col} %{{x:.0f}}<br>{what} %{{z:.3f}}<extra></extra>",
        )
    )
    axis = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "title": None}
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        plot_bgcolor="rgba(0, 0, 0, 0)",
        shapes=[
            {
                "type": "rect",
                "layer": "below",
                "line": {"width": 0},
                "fillcolor": UNOBSERVED,
                "x0": -0.5,
                "x1": matrix.shape[1] - 0.5,
                "y0": -0.5,
                "y1": matrix.shape[0] - 0.5,
            }
        ],
        xaxis={**axis, "range": [-0.5, matrix.shape[1] - 0.5], "constrain": "domain"},
        yaxis={
            **axis,
            "range": [matrix.shape[0] - 0.5, -0.5],
            "scaleanchor": "x",
            "constrain": "domain",
            "constraintoward": "top",
        },
    )
    return figure


def colour_key(bound: float, height: int = 64) -> go.Figure:
    """The colour scale of ``picture`` by itself, so that several pictures can share one."""
    values = np.linspace(-bound, bound, 201)
    figure = go.Figure(
        go.Heatmap(
            z=values[np.newaxis].astype(np.float32),
            x=values,
            y=[0],
            zmin=-bound,
            zmax=bound,
            colorscale=DIVERGING,
            showscale=False,
            hoverinfo="skip",
        )
    )
    ticks = [-bound, -bound / 2, 0.0, bound / 2, bound]
    figure.update_layout(
        height=height,
        margin={"l": 24, "r": 24, "t": 4, "b": 36},
        xaxis={"tickvals": ticks, "ticktext": [f"{tick:g}".replace("-", "−") for tick in ticks], "showgrid": False},
        yaxis={"visible": False, "fixedrange": True},
    )
    figure.update_xaxes(fixedrange=True, zeroline=False, range=[-bound, bound])
    _ink(figure)
    return figure


def _ink(figure: go.Figure) -> None:
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(tickfont_color=INK, title_font_color=INK)


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
    metric: str,
    levels: Sequence[Level] = (),
    names: Mapping[str, str] | None = None,
    axis: Mapping[str, str] | None = None,
    logarithmic: bool = True,
    percent: bool = False,
    height: int = 460,
) -> go.Figure:
    """Means with 95 % intervals against ``x``, one line and band per series.

    Parameters
    ----------
    summary
        One row per point: ``series`` (what a line is), ``mechanism`` (its look), ``x``, ``mean``, ``low``, ``high``,
        ``count``; see ``obmc.summary.summarise``. May be empty.
    x, metric
        Column of the horizontal axis; what the vertical one shows.
    levels
        Horizontal lines.
    names
        Titles of series, where they differ from the series itself.
    axis
        Titles of the axes, by "x" and "y".
    logarithmic
        Whether the horizontal axis is logarithmic.
    percent
        Whether the vertical axis shows shares as per cent.
    height
        In pixels.
    """
    titles = {"x": x, "y": metric, **(axis or {})}
    form = ".1%" if percent else ".3f"
    figure = go.Figure()
    for order, (series, points) in enumerate(summary.groupby("series", sort=False)):
        rows = points.sort_values(x)
        style = style_of(str(rows["mechanism"].iloc[0]), order)
        name = (names or {}).get(str(series), str(series))
        band = rows[rows["count"] >= _BAND_DRAWS]
        figure.add_trace(
            go.Scatter(
                x=np.concatenate([band[x], band[x][::-1]]),
                y=np.concatenate([band["high"], band["low"][::-1]]),
                mode="lines",
                fill="toself",
                fillcolor=style.fill(),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
                legendgroup=str(series),
                name=f"{name}, 95 % interval",
            )
        )
        figure.add_trace(
            go.Scatter(
                x=rows[x],
                y=rows["mean"],
                customdata=rows[["low", "high", "count"]].to_numpy(),
                mode="lines+markers",
                name=name,
                legendgroup=str(series),
                line={"color": style.colour, "dash": style.dash, "width": 2.5},
                marker={"color": style.colour, "symbol": style.marker, "size": 9},
                hovertemplate=(
                    f"{name}<br>{titles['x']} %{{x:g}}<br>%{{y:{form}}}, 95 % interval %{{customdata[0]:{form}}} to "
                    f"%{{customdata[1]:{form}}}<br>%{{customdata[2]:.0f}} draws<extra></extra>"
                ),
            )
        )
    for level in levels:
        _add_level(figure, level, summary[x] if len(summary) else pd.Series([1.0]), form)
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
        hovermode="closest",
        xaxis={"title": titles["x"], "type": "log" if logarithmic else "linear"},
        yaxis={"title": titles["y"], "tickformat": ".0%" if percent else None},
        # The reader's zoom and hidden lines survive new points.
        uirevision=f"{x}-{metric}-{logarithmic}",
    )
    _ink(figure)
    if logarithmic and len(summary):
        stops = sorted(set(summary[x]))
        figure.update_xaxes(tickvals=stops, ticktext=[f"{stop:g}" for stop in stops])
    return figure


def _add_level(figure: go.Figure, level: Level, across: pd.Series, form: str) -> None:
    ends = [float(across.min()), float(across.max())]
    if ends[0] == ends[1]:
        ends = [ends[0] / 1.5, ends[1] * 1.5]
    style = style_of(level.label)
    if level.low < level.high:
        figure.add_trace(
            go.Scatter(
                x=[*ends, *ends[::-1]],
                y=[level.high, level.high, level.low, level.low],
                mode="lines",
                fill="toself",
                fillcolor=style.fill(0.14),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
                legendgroup=level.label,
                name=f"{level.label}, 95 % interval",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=ends,
            y=[level.value, level.value],
            mode="lines",
            name=level.label,
            legendgroup=level.label,
            line={"color": style.colour, "dash": style.dash, "width": 2},
            hovertemplate=f"{level.label}<br>%{{y:{form}}}<extra></extra>",
        )
    )


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
