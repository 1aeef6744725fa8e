"""Figures of one's own ratings: for the owner's eyes."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from obmc.plots import CLEAR_GROUND, GRID, INK

ABOVE, BELOW = "#d1600a", "#2a7fd4"
_NAMED = 12


def rating_bars(counts: pd.DataFrame, threshold: float | None = None, height: int = 240) -> go.Figure:
    """How often each rating occurs.

    Parameters
    ----------
    counts
        ``low``, ``high``, ``count``, as from ``RatingsTable.histogram``.
    threshold
        Where a line is drawn: what lies above it, in another colour, becomes +1. None for none.
    height
        In pixels.
    """
    middle = (counts["low"] + counts["high"]) / 2.0
    above = middle > (float("inf") if threshold is None else threshold)
    exact = bool((counts["low"] == counts["high"]).all())
    gaps = middle.sort_values().diff().dropna()
    width = 0.8 * float(gaps.min()) if len(gaps) else 0.8
    names = [
        f"{low:g}" if exact else f"{low:g} to {high:g}" for low, high in zip(counts["low"], counts["high"], strict=True)
    ]
    bars = {
        "type": "bar",
        "x": middle.to_numpy(),
        "y": counts["count"].to_numpy(),
        "width": width,
        # Told apart by more than colour.
        "marker": {
            "color": [ABOVE if positive else BELOW for positive in above],
            "pattern": {"shape": ["/" if positive else "" for positive in above], "size": 6, "solidity": 0.35},
        },
        "customdata": names,
        "hovertemplate": "rating %{customdata}: %{y:,}<extra></extra>",
    }
    axis = {"gridcolor": GRID, "tickfont": {"color": INK}, "zeroline": False}
    # A few exact ratings are all named.
    ticks = {"tickvals": middle.to_numpy(), "ticktext": names} if exact and len(names) <= _NAMED else {}
    line = []
    if threshold is not None:
        stroke = {"color": INK, "width": 1.5, "dash": "dot"}
        line = [{"type": "line", "x0": threshold, "x1": threshold, "yref": "paper", "y0": 0, "y1": 1, "line": stroke}]
    return go.Figure(
        {
            "data": [bars],
            "layout": {
                "height": height,
                "margin": {"l": 60, "r": 10, "t": 10, "b": 44},
                "paper_bgcolor": CLEAR_GROUND,
                "plot_bgcolor": CLEAR_GROUND,
                "xaxis": {**axis, **ticks, "title": {"text": "Rating", "font": {"color": INK}}},
                "yaxis": {**axis, "title": {"text": "Ratings", "font": {"color": INK}}},
                "shapes": line,
            },
        }
    )
