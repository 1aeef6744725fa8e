"""Figures: pure functions from tidy results and matrices to plotly figures, and the one table of looks.

No function here computes an experiment or knows of a page. Fonts and backgrounds are left to whoever shows the figure,
so that light and dark both work; the colours of the table keep a contrast of 3:1 against either background.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.colors import sample_colorscale

from obmc.summary import MAJORITY_LABEL, ZEROS

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
    ZEROS: Style("#8c6d1f", "dot", "circle"),
    MAJORITY_LABEL: Style("#8c6d1f", "dot", "circle"),
}
_FURTHER = (
    Style("#a07800", "5px,3px", "hexagon"),
    Style("#b04ac0", "8px,3px,2px,3px", "triangle-down"),
    Style("#4f7a28", "2px,4px", "bowtie"),
    Style("#c2452d", "10px,4px", "pentagon"),
    Style("#2f7f86", "3px,3px", "hourglass"),
    Style("#7468c9", "6px,2px,2px,2px", "triangle-left"),
)
# A mechanism at the calibration of the paper, where both are in one chart: the same colour, an open marker, short dots.
_PAPER = ", paper"
_RIGOROUS = ", rigorous"

# Orange above, blue below, white at zero: told apart by people who do not see red and green.
DIVERGING = [
    [0.0, "#0b4a8f"],
    [0.25, "#6aaed6"],
    [0.5, "#fbfbf9"],
    [0.75, "#f0984c"],
    [1.0, "#a63603"],
]
# From blue over violet to orange, none so dark or so light that a background hides it.
_SEQUENTIAL = ["#2f6fd0", "#8a5cf0", "#c2459b", "#d1600a", "#a07800"]
# What is not observed: a colour that is not on the scale, and from which both its ends stand out.
UNOBSERVED = "#b8b8b8"
# Of text on an axis: 4.5:1 against white and black alike, where the theme's own grey falls short on white.
INK = "#767676"
GRID = "rgba(128, 128, 128, 0.22)"
CLEAR_GROUND = "rgba(0, 0, 0, 0)"
# A figure of more cells than this across is drawn as means of blocks of cells.
MAX_CELLS = 240
# The interval of two draws is some eighteen times their distance: drawn, it would hide all else while a chart grows.
_BAND_DRAWS = 3
# Where a logarithmic axis has numbers; plotly's own are the last digits alone.
DECADES = [float(f"{first}e{power}") for power in range(-6, 7) for first in (1, 2, 5)]


def style_of(label: str, order: int = 0) -> Style:
    """The look of a mechanism; of one that has none of its own, the ``order``-th of a few further ones."""
    own = STYLES.get(label.removesuffix(_PAPER).removesuffix(_RIGOROUS))
    if own is None:
        return _FURTHER[order % len(_FURTHER)]
    if label.endswith(_PAPER):
        return Style(own.colour, "2px,3px", f"{own.marker.removesuffix('-open')}-open")
    return own


def sequential_styles(labels: Sequence[str]) -> dict[str, Style]:
    """Looks of curves that are one mechanism at growing values: from dark to light in one order, markers in turn."""
    markers = ("circle", "square", "triangle-up", "diamond", "cross")
    places = np.linspace(0.0, 1.0, max(len(labels), 2))[: len(labels)]
    colours = [sample_colorscale(_SEQUENTIAL, [place])[0] for place in places.tolist()]
    return {
        label: Style(_as_hex(colour), "solid", markers[order % len(markers)])
        for order, (label, colour) in enumerate(zip(labels, colours, strict=True))
    }


def pin_styles(names: Sequence[str]) -> dict[str, Style]:
    """Looks of curves that a person named: all different, in one order."""
    known = [STYLES[label] for label in ("InP", "ObjP", "GraP", "OutP", "InP+", "Effects alone")]
    known += _FURTHER
    return {name: known[order % len(known)] for order, name in enumerate(names)}


def _as_hex(colour: str) -> str:
    return "#" + "".join(f"{round(float(part)):02x}" for part in colour[4:-1].split(","))


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
                "paper_bgcolor": CLEAR_GROUND,
                "plot_bgcolor": CLEAR_GROUND,
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
                "paper_bgcolor": CLEAR_GROUND,
                "plot_bgcolor": CLEAR_GROUND,
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


def describe_key(bound: float) -> str:
    """What ``colour_key`` shows, in words."""
    return f"The colour scale of all pictures, from {-bound:g} (blue) over 0 (white) to {bound:g} (orange)."


def describe_matrix(title: str, shape: tuple[int, ...], numbers: pd.Series) -> str:
    """What a picture shows, for people who do not see it; ``numbers``: its row of ``matrix_numbers``."""
    return (
        f"{title} as a picture of {shape[0]:,} rows and {shape[1]:,} columns: {numbers['entries']:,} entries from "
        f"{numbers['smallest']:.2f} to {numbers['largest']:.2f}, mean {numbers['mean']:.2f}."
    )


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

    @classmethod
    def all_of(cls, lines: pd.DataFrame) -> list[Level]:
        """A level for each row of a table with the columns series, mean, low and high."""
        return [cls(row.series, row.mean, row.low, row.high) for row in lines.itertuples()]


def curves(
    summary: pd.DataFrame,
    *,
    x: str,
    titles: tuple[str, str],
    levels: Sequence[Level] = (),
    log: tuple[bool, bool] = (True, False),
    percent: bool = False,
    height: int = 460,
    draws: pd.DataFrame | None = None,
    marker: float | None = None,
    stops: Sequence[float] = (),
    scale: float = 1.0,
    styles: Mapping[str, Style] | None = None,
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
        Whether the vertical axis shows shares as per cent. A ``x`` of "ratio" is always one.
    height
        In pixels.
    draws
        Single runs to draw as small points: ``series``, ``x``, ``value``, ``repetition``.
    marker
        Where on the horizontal axis to draw a vertical line; None for none.
    stops
        Where on the horizontal axis points will be, whether or not they are there yet.
    scale
        Of text, lines and markers; 1.5 for a projector.
    styles
        Looks of series in place of the table's.
    """
    form = ".1%" if percent else ".3f"
    across = np.asarray(sorted({*summary[x], *stops}), dtype=np.float64) if len(summary) or stops else np.ones(1)
    names = list(dict.fromkeys(summary["series"])) if len(summary) else []
    looks = {name: (styles or {}).get(name) or style_of(name, order) for order, name in enumerate(names)}
    traces: list[Plotly] = []
    for level in levels:
        traces += _level(level, across, form, scale)
    for name in names:
        points = summary[summary["series"] == name].sort_values(x)
        if draws is not None:
            traces.append(_draws(name, draws[draws["series"] == name], x, looks[name], form, scale))
        traces += _curve(name, points, x, looks[name], titles[0], form, scale)
    size = 12.0 * scale
    horizontal: Plotly = {**axis(titles[0], size), "type": "log" if log[0] else "linear"}
    if log[0]:
        horizontal |= {"tickvals": across, "ticktext": [f"{stop:g}" for stop in across]}
    if x == "ratio":
        horizontal |= {"tickformat": ".0%"}
        if log[0]:
            horizontal |= {"ticktext": [f"{stop:.0%}" for stop in across]}
    vertical: Plotly = {**axis(titles[1], size), "type": "log" if log[1] else "linear"}
    if log[1]:
        values = [level.value for level in levels]
        values += [*summary["low"], *summary["high"]] if len(summary) else []
        ticks = _log_ticks(values)
        vertical |= {"tickvals": ticks, "ticktext": [f"{stop:g}" for stop in ticks]}
    if percent:
        vertical["tickformat"] = ".3~p"
    line: list[Plotly] = []
    if marker is not None:
        stroke = {"color": INK, "width": 1.5 * scale, "dash": "dot"}
        line = [{"type": "line", "x0": marker, "x1": marker, "yref": "paper", "y0": 0, "y1": 1, "line": stroke}]
    return go.Figure(
        {
            "data": traces,
            "layout": {
                **ground(height, size),
                "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"color": INK}},
                "hovermode": "closest",
                "xaxis": horizontal,
                "yaxis": vertical,
                "shapes": line,
                # The reader's zoom and hidden lines survive new points.
                "uirevision": f"{x} {titles} {log}",
            },
        }
    )


def _log_ticks(values: Sequence[float]) -> list[float]:
    """Where a logarithmic axis has numbers: at 1, 2 and 5 of every decade; closer where values lie near together."""
    there = [value for value in values if 0.0 < value < math.inf]
    low, high = min(there, default=1.0), max(there, default=1.0)
    if not low < high < 5.0 * low:
        return DECADES
    unit = 10.0 ** math.floor(math.log10((high - low) / 4.0))
    step = next(unit * first for first in (1, 2, 5, 10) if high - low <= 8.0 * unit * first)
    near = [float(f"{step * place:.6g}") for place in range(math.floor(low / step), math.ceil(high / step) + 1)]
    return sorted({*near, *(stop for stop in DECADES if not near[0] <= stop <= near[-1])})


def ground(height: int, size: float = 12) -> Plotly:
    """What all figures with axes share; nothing in it depends on the theme."""
    return {
        "height": height,
        "margin": {"l": 8, "r": 12, "t": 8, "b": 8},
        "font": {"size": size, "color": INK},
        "paper_bgcolor": CLEAR_GROUND,
        "plot_bgcolor": CLEAR_GROUND,
    }


def axis(title: str, size: float = 12, **more: object) -> Plotly:
    """An axis with its title, in the colours of all; ``more``: whatever else plotly knows about an axis."""
    lines = {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": GRID}
    return {"tickfont": {"color": INK, "size": size}, "title": _title(title), "automargin": True, **lines, **more}


def _title(text: str) -> Plotly:
    return {"text": text, "font": {"color": INK}}


def _draws(name: str, rows: pd.DataFrame, x: str, style: Style, form: str, scale: float) -> Plotly:
    """Single runs as small points."""
    return {
        "type": "scatter",
        "x": rows[x].to_numpy(),
        "y": rows["value"].to_numpy(),
        "customdata": rows[["repetition"]].to_numpy(),
        "mode": "markers",
        "marker": {"color": style.colour, "size": 4 * scale, "opacity": 0.35},
        "showlegend": False,
        "legendgroup": name,
        "name": f"{name}, single draws",
        "hovertemplate": f"{name}, draw %{{customdata[0]}}<br>%{{x:g}}: %{{y:{form}}}<extra></extra>",
    }


def _curve(
    name: str, rows: pd.DataFrame, x: str, style: Style, title: str, form: str, scale: float
) -> tuple[Plotly, Plotly]:
    """The band and the line of one series."""
    band = rows[rows["count"] >= _BAND_DRAWS]
    edge = _band(
        name,
        np.concatenate([band[x], band[x][::-1]]),
        np.concatenate([band["high"], band["low"][::-1]]),
        style.fill(),
    )
    place = "%{x:.0%}" if x == "ratio" else "%{x:g}"
    line = {
        "type": "scatter",
        "x": rows[x].to_numpy(),
        "y": rows["mean"].to_numpy(),
        "customdata": rows[["low", "high", "count"]].to_numpy(dtype=np.float64),
        "mode": "lines+markers",
        "name": name,
        "legendgroup": name,
        "line": {"color": style.colour, "dash": style.dash, "width": 2.5 * scale},
        "marker": {"color": style.colour, "symbol": style.marker, "size": 9 * scale},
        "hovertemplate": (
            f"{name}<br>{title} {place}<br>%{{y:{form}}}, 95 % interval %{{customdata[0]:{form}}} to "
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


def _level(level: Level, across: Array, form: str, scale: float) -> list[Plotly]:
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
        "line": {"color": style.colour, "dash": style.dash, "width": 2 * scale},
        "hovertemplate": f"{level.label}<br>%{{y:{form}}}<extra></extra>",
    }
    if not level.low < level.high:
        return [line]
    corners = np.array([left, right, right, left]), np.array([level.high, level.high, level.low, level.low])
    return [_band(level.label, *corners, style.fill(0.14)), line]


# Heat maps ------------------------------------------------------------------------------------------------------------


def heat_map(
    summary: pd.DataFrame, *, title: str, percent: bool = False, height: int = 460, scale: float = 1.0
) -> go.Figure:
    """The mean at every epsilon (across) and observation ratio (upwards) as a colour and a number.

    ``summary``: columns ``epsilon``, ``ratio``, ``mean``, ``low``, ``high``, ``count``, one row a cell; cells without
    a row are left empty. ``title`` says what the values are.
    """
    form = ".1%" if percent else ".3f"
    epsilons, ratios = (sorted(set(summary[name])) for name in ("epsilon", "ratio"))

    def grid(name: str) -> Array:
        wide = summary.pivot_table(index="ratio", columns="epsilon", values=name, dropna=False)
        return wide.reindex(index=ratios, columns=epsilons).to_numpy(dtype=np.float64)

    size = 12.0 * scale
    heat = {
        "type": "heatmap",
        "z": grid("mean"),
        "x": [f"{epsilon:g}" for epsilon in epsilons],
        "y": [f"{ratio:.0%}" for ratio in ratios],
        "customdata": np.dstack([grid(name) for name in ("low", "high", "count")]),
        "colorscale": "Cividis",
        # Above the cells, so that on a phone they are wide enough for their numbers.
        "colorbar": {
            "orientation": "h",
            "thickness": size,
            "tickfont": {"color": INK},
            "title": {**_title(title), "side": "top"},
            "tickformat": ".3~p" if percent else "",
        },
        "xgap": 1,
        "ygap": 1,
        "hoverongaps": False,
        "hovertemplate": (
            f"epsilon %{{x}}, ratio %{{y}}<br>{title} %{{z:{form}}}, 95 % interval %{{customdata[0]:{form}}} to "
            f"%{{customdata[1]:{form}}}<br>%{{customdata[2]:.0f}} draws<extra></extra>"
        ),
    }
    cells = summary[np.isfinite(summary["mean"])]
    numbers = {
        "type": "scatter",
        "mode": "text",
        "x": [f"{epsilon:g}" for epsilon in cells["epsilon"]],
        "y": [f"{ratio:.0%}" for ratio in cells["ratio"]],
        "text": [f"{mean:{'.0%' if percent else '.2f'}}" for mean in cells["mean"]],
        "textfont": {"color": _readable(cells["mean"].to_numpy(dtype=np.float64)), "size": size},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    axes = {
        "xaxis": {**axis("Epsilon", size), "type": "category", "showgrid": False},
        "yaxis": {**axis("Share observed", size), "type": "category", "showgrid": False},
    }
    return go.Figure({"data": [heat, numbers], "layout": {**ground(height, size), **axes, "uirevision": title}})


def _readable(values: Array) -> list[str]:
    """Black or white for each value on the colours from the smallest to the largest, whichever stands out more."""
    width = float(np.ptp(values)) if len(values) else 0.0
    places = (values - values.min()) / width if width > 0.0 else np.zeros(len(values))
    found = []
    for colour in sample_colorscale("Cividis", places.tolist()):
        channels = np.array([float(part) for part in colour[4:-1].split(",")]) / 255.0
        linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
        # At this luminance black and white have the same contrast.
        found.append("#000000" if linear @ [0.2126, 0.7152, 0.0722] > 0.179 else "#ffffff")
    return found


# Numbers --------------------------------------------------------------------------------------------------------------


def numbers_of(figure: go.Figure, across: str) -> pd.DataFrame:
    """What a figure of lines or bars draws, as a table: a column called ``across``, and one for each line or group.

    Left out is what has no values to be read off, such as bands and the mark of where a slider stands.
    """
    drawn = [trace for trace in figure.data if trace.hoverinfo != "skip"]
    table = pd.DataFrame({trace.name: pd.Series(list(trace.y), index=list(trace.x)) for trace in drawn})
    if table.index.inferred_type == "string":
        # Groups in the order of the figure.
        table = table.loc[list(dict.fromkeys(place for trace in drawn for place in trace.x))]
    return table.rename_axis(across).reset_index()


def numbers_of_matrix(matrix: Array) -> pd.DataFrame:
    """The entries of a matrix as a table, its columns by their number."""
    table = pd.DataFrame(matrix, columns=[str(place) for place in range(matrix.shape[1])])
    return table.rename_axis("Row").reset_index()
