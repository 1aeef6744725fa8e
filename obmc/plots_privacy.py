"""Figures about privacy: pure functions from audits, changes and curves to plotly figures, for either theme.

Two worlds have the same two looks in all of them: blue and plain for the data as given, orange and hatched for the
flipped sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from obmc.plots import DECADES, GRID, INK, Plotly, axis, ground, style_of
from obmc.privacy.audit import Audit, Event, privacy_region
from obmc.privacy.guarantee import level

Array = NDArray[np.float64]

GIVEN, FLIPPED = "#2a7fd4", "#d1600a"
_REGION = "#2b9348"
BINS = 40
# Where a logarithmic axis has numbers; plotly's own are the last digits alone.
_DECADES: Plotly = {"tickvals": DECADES, "ticktext": [f"{stop:g}" for stop in DECADES]}
# Beyond these quantiles a histogram has single runs, which would squeeze all others into a few bins.
_TAIL = 0.002


def _layout(height: int, x: Plotly, y: Plotly) -> Plotly:
    return {
        **ground(height),
        "legend": {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "font": {"color": INK}},
        "xaxis": x,
        "yaxis": y,
    }


# An attack ------------------------------------------------------------------------------------------------------------


def worlds(
    scores: tuple[Array, Array],
    names: tuple[str, str],
    title: str,
    event: Event | None = None,
    height: int = 330,
) -> go.Figure:
    """The attacker's statistic in the two worlds, as overlapping histograms of shares.

    Parameters
    ----------
    scores
        Of the runs so far, one array for each world.
    names
        Of the worlds.
    title
        What the statistic is.
    event
        The chosen event; its threshold is drawn as a vertical line.
    height
        In pixels.
    """
    both = np.concatenate(scores)
    values = np.unique(both)
    bars: list[Plotly] = []
    if 0 < len(values) <= 12:
        places, width = values, 0.8 * float(np.min(np.diff(values))) if len(values) > 1 else 0.5
        shares = [np.array([np.mean(own == value) for value in values]) for own in scores]
    elif len(values):
        low, high = np.quantile(both, [_TAIL, 1.0 - _TAIL])
        edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
        places, width = 0.5 * (edges[1:] + edges[:-1]), float(edges[1] - edges[0])
        shares = [np.histogram(np.clip(own, edges[0], edges[-1]), edges)[0] / max(len(own), 1) for own in scores]
    else:
        places, width, shares = np.zeros(0), 1.0, [np.zeros(0), np.zeros(0)]
    for share, name, colour, hatch in zip(shares, names, (GIVEN, FLIPPED), ("", "/"), strict=True):
        bars.append(
            {
                "type": "bar",
                "x": places,
                "y": share,
                "width": np.full(len(places), width),
                "name": name,
                "opacity": 0.6,
                "marker": {
                    "color": colour,
                    "line": {"color": colour, "width": 1},
                    "pattern": {"shape": hatch, "size": 6, "solidity": 0.35},
                },
                "hovertemplate": f"{name}<br>%{{x:.3g}}: %{{y:.1%}} of runs<extra></extra>",
            }
        )
    layout = _layout(height, axis(title), axis("Share of runs", tickformat=".0%", rangemode="tozero"))
    layout |= {"barmode": "overlay", "bargap": 0, "hovermode": "closest"}
    if event is not None and np.isfinite(event.threshold):
        stroke = {"color": INK, "width": 1.5, "dash": "dash"}
        line = {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "line": stroke}
        layout["shapes"] = [{**line, "x0": event.threshold, "x1": event.threshold}]
    return go.Figure({"data": bars, "layout": layout})


def roc(audit: Audit, height: int = 400) -> go.Figure:
    """The attacker's ROC on the judging runs with its band, and the region that the claimed (eps, delta) leaves.

    Also the chosen event, and the corner that its two confidence bounds allow: where the corner lies outside the
    region, the claim is refuted.
    """
    false, true = audit.roc()
    margin = audit.roc_margin
    traces: list[Plotly] = []
    if np.isfinite(audit.claimed):
        across, up = privacy_region(audit.claimed, audit.delta)
        traces.append(
            {
                "type": "scatter",
                "x": across,
                "y": up,
                "mode": "lines",
                "fill": "toself",
                "fillcolor": "rgba(43, 147, 72, 0.14)",
                "line": {"color": _REGION, "width": 1.5, "dash": "dot"},
                "name": f"Allowed at {level(audit.claimed, audit.delta)}",
                "hoverinfo": "skip",
            }
        )
    upper = np.clip(false - margin, 0, 1), np.clip(true + margin, 0, 1)
    lower = np.clip(false + margin, 0, 1), np.clip(true - margin, 0, 1)
    traces.append(
        {
            "type": "scatter",
            "x": np.concatenate([upper[0], lower[0][::-1]]),
            "y": np.concatenate([upper[1], lower[1][::-1]]),
            "mode": "lines",
            "fill": "toself",
            "fillcolor": "rgba(42, 127, 212, 0.22)",
            "line": {"width": 0},
            "name": f"{100 * audit.confidence:.3g} % band",
            "hoverinfo": "skip",
        }
    )
    traces.append(
        {
            "type": "scatter",
            "x": false,
            "y": true,
            "mode": "lines",
            "line": {"color": GIVEN, "width": 2.5},
            "name": "Attacker",
            "hovertemplate": "false alarms %{x:.1%}<br>hits %{y:.1%}<extra></extra>",
        }
    )
    counted, proven = audit.operating_point()
    traces.append(
        {
            "type": "scatter",
            "x": [counted[0], proven[0]],
            "y": [counted[1], proven[1]],
            "mode": "lines+markers",
            "line": {"color": FLIPPED, "width": 1.5},
            "marker": {"color": FLIPPED, "size": [8, 11], "symbol": ["circle", "x"]},
            "name": "Chosen event, and its bound",
            "customdata": ["as counted", "at worst, as bounded"],
            "hovertemplate": "%{customdata}<br>false alarms %{x:.2%}<br>hits %{y:.2%}<extra></extra>",
        }
    )
    ends: Plotly = {"tickformat": ".0%", "range": [-0.02, 1.02], "constrain": "domain"}
    layout = _layout(height, axis("False alarms", **ends), axis("Hits", **ends, scaleanchor="x"))
    chance = {"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1, "line": {"color": GRID, "width": 1}}
    return go.Figure({"data": traces, "layout": {**layout, "shapes": [chance], "hovermode": "closest"}})


def roc_numbers(audit: Audit) -> pd.DataFrame:
    """The attacker's ROC at round shares of false alarms: ``false_alarms``, ``hits``, ``low``, ``high`` of the band."""
    false, true = audit.roc()
    margin = audit.roc_margin
    shares = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])

    def most(limit: Array) -> Array:
        # The largest share of hits whose share of false alarms is at most this.
        return true[np.clip(np.searchsorted(false, limit, side="right") - 1, 0, len(true) - 1)]

    return pd.DataFrame(
        {
            "false_alarms": shares,
            "hits": most(shares),
            "low": np.clip(most(shares - margin) - margin, 0.0, 1.0),
            "high": np.clip(most(shares + margin) + margin, 0.0, 1.0),
        }
    )


@dataclass(frozen=True)
class Rung:
    """A row of ``ladder``: epsilons of one mechanism; nan where there is none, ``audited`` also before it is known.

    ``at_least``: that ``exact`` is a lower bound known from theory, not the value. ``delta``: beside ``nominal``.
    """

    label: str
    nominal: float
    exact: float
    audited: float
    at_least: bool = False
    delta: float = 0.0

    @property
    def asked(self) -> str:
        """What was asked for: epsilon, and delta where there is one."""
        return level(self.nominal, self.delta).removeprefix("epsilon = ")


def ladder(rungs: Sequence[Rung], height: int | None = None) -> go.Figure:
    """Nominal, exact and audited epsilon of several mechanisms, side by side on one logarithmic axis.

    An audited epsilon is a lower bound: its marker points to the right. Infinite values are drawn at the right edge.
    """
    labels = [rung.label for rung in rungs]
    known = [v for rung in rungs for v in (rung.nominal, rung.exact, rung.audited) if np.isfinite(v) and v > 0]
    low, high = min([0.1, *known]) / 1.6, max([10.0, *known]) * 2.5

    def places(values: Sequence[float]) -> list[float | None]:
        return [None if np.isnan(v) else float(np.clip(v, low, high / 1.15)) for v in values]

    columns = {
        "Asked for": ([rung.nominal for rung in rungs], INK, "line-ns-open", 16),
        "Exact": ([rung.exact for rung in rungs], GIVEN, "diamond-open", 11),
        "Audited: at least": ([rung.audited for rung in rungs], FLIPPED, "triangle-right", 12),
    }
    traces: list[Plotly] = [
        {
            "type": "scatter",
            "x": places(values),
            "y": labels,
            "mode": "markers",
            "name": name,
            "marker": {"color": colour, "symbol": symbol, "size": size, "line": {"width": 2, "color": colour}},
            "customdata": [
                f"at least {value:.4g}" if name == "Exact" and rung.at_least else f"{value:.4g}"
                for value, rung in zip(values, rungs, strict=True)
            ],
            "hovertemplate": f"%{{y}}<br>{name} %{{customdata}}<extra></extra>",
        }
        for name, (values, colour, symbol, size) in columns.items()
    ]
    ticks = [stop for stop in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0) if low <= stop <= high]
    across = axis(
        "Epsilon",
        type="log",
        range=[float(np.log10(low)), float(np.log10(high))],
        tickvals=ticks,
        ticktext=[f"{stop:g}" for stop in ticks],
    )
    up = axis("", type="category", autorange="reversed", categoryorder="array", categoryarray=labels)
    layout = _layout(90 + 30 * len(rungs) if height is None else height, across, up)
    return go.Figure({"data": traces, "layout": {**layout, "hovermode": "closest"}})


def change(matrix: Array, alpha: float, entry: tuple[int, int], height: int = 380) -> go.Figure:
    """|Mhat - Mhat'| as a picture from 0 to its largest possible value, 2 alpha; the flipped entry has a frame."""
    size = matrix.shape
    heat = {
        "type": "heatmap",
        "z": matrix.astype(np.float32),
        "zmin": 0.0,
        "zmax": 2.0 * alpha,
        "colorscale": "Cividis",
        "colorbar": {
            "tickfont": {"color": INK},
            "title": {"text": "moved by", "font": {"color": INK}},
            "thickness": 14,
        },
        "hovertemplate": "row %{y}, column %{x}<br>moves by %{z:.3f}<extra></extra>",
    }
    row, col = entry
    frame = {
        "type": "rect",
        "x0": col - 0.5,
        "x1": col + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": FLIPPED, "width": 3},
    }
    plain: Plotly = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "constrain": "domain"}
    layout = _layout(
        height,
        axis("Items", **plain, range=[-0.5, size[1] - 0.5]),
        axis("Users", **plain, range=[size[0] - 0.5, -0.5], scaleanchor="x"),
    )
    return go.Figure({"data": [heat], "layout": {**layout, "shapes": [frame]}})


# Ideas ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A named curve; ``style`` is the name whose look in ``obmc.plots.STYLES`` it has, or "" for the next free one."""

    label: str
    x: Array
    y: Array
    style: str = ""


def lines(
    found: Sequence[Curve],
    titles: tuple[str, str],
    *,
    log: tuple[bool, bool] = (False, False),
    percent: bool = False,
    marker: tuple[float, float] | None = None,
    height: int = 360,
) -> go.Figure:
    """Smooth curves of a formula. ``marker``: a point on one of them, such as where a slider stands."""
    traces: list[Plotly] = []
    for order, curve in enumerate(found):
        style = style_of(curve.style or curve.label, order)
        traces.append(
            {
                "type": "scatter",
                "x": curve.x,
                "y": curve.y,
                "mode": "lines" if len(curve.x) > 12 else "lines+markers",
                "name": curve.label,
                "line": {"color": style.colour, "dash": style.dash, "width": 2.5},
                "marker": {"color": style.colour, "symbol": style.marker, "size": 9},
                "hovertemplate": f"{curve.label}<br>%{{x:.3g}}: %{{y:{'.1%' if percent else '.3g'}}}<extra></extra>",
            }
        )
    if marker is not None:
        traces.append(
            {
                "type": "scatter",
                "x": [marker[0]],
                "y": [marker[1]],
                "mode": "markers",
                "marker": {"color": INK, "size": 12, "symbol": "circle-open", "line": {"width": 3}},
                "showlegend": False,
                "hoverinfo": "skip",
                "name": "here",
            }
        )
    across, up = (axis(title, type="log" if flag else "linear") for title, flag in zip(titles, log, strict=True))
    for drawn, flag in ((across, log[0]), (up, log[1])):
        if flag:
            drawn |= _DECADES
    if percent:
        up |= {"tickformat": ".0%"}
    return go.Figure({"data": traces, "layout": {**_layout(height, across, up), "hovermode": "closest"}})


def bars(
    groups: Sequence[str], series: Sequence[tuple[str, Sequence[float]]], title: str, height: int = 340
) -> go.Figure:
    """Grouped bars on a logarithmic axis with their values written out; ``series``: a name and one value a group."""
    looks = ((GIVEN, ""), (FLIPPED, "/"), (_REGION, "."), ("#8a5cf0", "x"))
    traces: list[Plotly] = [
        {
            "type": "bar",
            "x": list(groups),
            "y": list(values),
            "name": name,
            "text": [f"{value:.3g}" for value in values],
            "textposition": "outside",
            "textfont": {"color": INK},
            "cliponaxis": False,
            "marker": {"color": colour, "pattern": {"shape": hatch, "size": 6, "solidity": 0.35}},
            "hovertemplate": f"{name}<br>%{{x}}: %{{y:.3g}}<extra></extra>",
        }
        for (name, values), (colour, hatch) in zip(series, looks, strict=False)
    ]
    layout = _layout(height, axis("", type="category"), axis(title, type="log", **_DECADES))
    return go.Figure({"data": traces, "layout": {**layout, "barmode": "group"}})
